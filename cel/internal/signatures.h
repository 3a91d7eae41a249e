// cel/internal/signatures.h — the types that functions take and give.
//
// Operators and macros are not here: their types are in the checker (typing.h). Functions of the
// authorizer, type(), math.greatest() and math.least() are not here either: they take and give any.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cel/check.h"
#include "cel/internal/functions.h"

namespace berth::cel {

// null: every call of the function fits, and gives dyn.
struct Signatures;
const Signatures* SignaturesOf(std::string_view function, Style style);

// The result of a call; null: no signature fits. A method's target is the first operand. dyn where
// several signatures with different results fit.
TypePtr ResultOf(const Signatures& signatures, const std::vector<TypePtr>& operands);

}  // namespace berth::cel
