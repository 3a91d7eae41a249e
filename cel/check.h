// cel/check.h — finds what an expression's declared types rule out, before it is evaluated.
//
//     CheckTypes("self.replicas > '1'", {{"self", spec}}, …)
//       ERROR: <input>:1:15: found no matching overload for '_>_' applied to '(int, string)'
//
// Complete for operators, selections, indexes, macros, tests with has() and the functions of
// libraries, but those of the authorizer, type(), math.greatest() and math.least(), which give
// `dyn`; `dyn` fits everywhere. So an error is one of Kubernetes too, and an expression without an
// error may still fail when it is evaluated.
//
// Pure; threads: any. Errors: kInvalid with the words of Kubernetes, up to 20 of them.
// Source: CEL language definition; cel-go checker.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cel/program.h"

namespace berth::cel {

struct Type;
using TypePtr = std::shared_ptr<const Type>;

struct Type {
  enum class Kind {
    kDyn,
    kBool,
    kInt,
    kUint,
    kDouble,
    kString,
    kBytes,
    kNull,
    kTimestamp,
    kDuration,
    kList,
    kMap,  // the keys are texts, unless a macro of the expression made it
    kObject,
    kOptional,
    kOpaque,  // a type of a library: kubernetes.Quantity, net.IP, …
  };
  Kind kind = Kind::kDyn;
  TypePtr element;   // the element type of kList, kMap (its values) and kOptional; null: dyn
  std::string name;  // the name of kObject and kOpaque
  // For estimates (cost_estimate.h): the most bytes, items or entries that a value can have.
  std::uint64_t max_elements = 0;
  // The type of a property, by its name in the object (not escaped); null: there is no such
  // property.
  std::function<TypePtr(std::string_view)> field;
};

TypePtr TypeOf(Type::Kind kind, TypePtr element = nullptr);

struct TypedVariables {
  // Variables that are not here are dyn. A name may have a dot, as in Environment.
  std::map<std::string, TypePtr, std::less<>> types;
  bool must_be_bool = false;  // the expression has to give a bool
};

// Precondition: the expression compiles.
Status CheckTypes(std::string_view text, const TypedVariables& variables,
                  const Limits& limits = {});

}  // namespace berth::cel
