// cel/internal/typing.h — infers the types of an expression's parts.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <unordered_map>  // lookup only

#include "cel/check.h"
#include "cel/internal/syntax.h"

namespace berth::cel {

struct Typing {
  TypePtr type;                                      // the type of the whole expression
  std::multimap<std::size_t, std::string> errors;    // by their places in the text
  std::unordered_map<const Syntax*, TypePtr> types;  // the type of each part that has a value
  // Calls that parse as a method but name a namespaced function: for `math.ceil(x)` the entry is
  // `math.ceil`.
  std::unordered_map<const Syntax*, std::string> functions;
};
Typing InferTypes(const Syntax& root, const TypedVariables& variables);

const TypePtr& DynType();
inline bool IsType(const TypePtr& type, Type::Kind kind) { return type->kind == kind; }
inline const TypePtr& ElementOf(const TypePtr& type) {
  return type->element == nullptr ? DynType() : type->element;
}
// The type of the property that an expression writes as `written`, escaped or not; null: none.
TypePtr FieldOf(const Type& object, std::string_view written);

// Whether values of both types can be compared, or stand in one place. dyn fits everywhere.
bool Fits(const TypePtr& a, const TypePtr& b);

// "math.ceil" of a method that is written math.ceil(x); empty: no such function.
std::string GlobalFunctionOf(const Syntax& method);

// The type as errors name it.
std::string NameOfType(const TypePtr& type);

}  // namespace berth::cel
