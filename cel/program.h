// cel/program.h — Kubernetes' expression language (CEL): compile once, evaluate often.
//
//     Environment environment{.variables = {"self", "oldSelf"}};
//     auto program = Compile("self.replicas <= 10 && has(self.queue)", environment);
//     auto answer = program->Evaluate(Activation().Set("self", Value::View(json)));
//     if (answer && IsTrue(*answer)) …
//
// Variables have no declared types: an operation on values that do not fit is an error of the
// evaluation ("no such overload"), and so is a missing field ("no such key: x"). `||`, `&&`, all()
// and exists() absorb the errors of one side where the other side decides.
//
// A name in a selection is a field's name or its escaped form (property_names.h).
//
// Limits: every expression ends. The text, its nesting, the work of an evaluation, the memory of
// the values it makes, and regular expressions have limits; an expression that exceeds one gets an
// error.
//
// Threads: a Program is immutable and may be used by several threads at a time.
// Errors: kInvalid. Compile prints its errors as Kubernetes does, with the line and a mark below
// the place:
//     ERROR: <input>:1:5: undeclared reference to 'zz' (in container '')
// Evaluate's errors have the words of Kubernetes: "no such key: x", "division by zero".
// Source: CEL language definition; k8s.io/apiserver pkg/cel (libraries).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cel/value.h"

namespace berth::cel {

struct Limits {
  std::size_t text_bytes = 100'000;
  int nesting = 250;                     // the depth of the expression's tree
  std::uint64_t cost = 1'000'000;        // steps of an evaluation; ten bytes of text are one
  std::size_t memory_bytes = 8U << 20U;  // the size of the values that an evaluation makes
  std::size_t regex_bytes = 10'000;      // the size of a regular expression
};

struct Environment {
  // A name may have a dot ("variables.limit"): the selection is then a variable of its own, and
  // other selections from the part before the dot are errors.
  std::vector<std::string> variables;
  // Types that may be constructed, as in JSONPatch{op: "add"}: maps. "A.*" stands for all below A.
  std::vector<std::string> objects;
  Limits limits;
};

// The values of variables.
class Activation {
 public:
  Activation& Set(std::string name, Value value);
  const Value* Find(std::string_view name) const;

 private:
  std::vector<std::pair<std::string, Value>> values_;
};

struct Plan;

class Program {
 public:
  // The variables that the expression reads. Only these need a value in the activation; a variable
  // without a value gives "no such attribute(s): NAME" where the evaluation reads it.
  const std::vector<std::string>& variables() const;
  bool Reads(std::string_view variable) const;
  const std::string& text() const;

  // The answer may view the activation's JSON and is valid as long as that JSON is.
  Result<Value> Evaluate(const Activation& activation) const;
  // Evaluates with `budget` as a second limit of the cost, and takes the cost from `budget`.
  Result<Value> Evaluate(const Activation& activation, std::uint64_t& budget) const;

 private:
  friend Result<Program> Compile(std::string_view text, const Environment& environment);
  explicit Program(std::shared_ptr<const Plan> plan) : plan_(std::move(plan)) {}
  std::shared_ptr<const Plan> plan_;
};

Result<Program> Compile(std::string_view text, const Environment& environment);

}  // namespace berth::cel
