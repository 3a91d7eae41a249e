// cel/internal/compare.h — equality and order of values, across the numeric kinds.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

#include "cel/value.h"

namespace berth::cel {

// Whether `a` and `b` are equal: numbers by value, lists and maps deeply, other kinds never across
// kinds. Each comparison of two values takes one from `work`; false when nothing is left.
bool Equal(const Value& a, const Value& b, std::uint64_t& work);

bool IsNumber(const Value& value);
// Compares two numbers; unordered with NaN.
std::partial_ordering CompareNumbers(const Value& a, const Value& b);

// Kinds that have an order: numbers, bools, strings, bytes, durations, timestamps.
bool IsOrdered(const Value& value);
// Whether `a` and `b` can be compared with each other; both are ordered.
bool SameOrder(const Value& a, const Value& b);
// Compares two values of the same order; unordered with NaN.
std::partial_ordering CompareOrdered(const Value& a, const Value& b);

// A total order of possible keys of maps: bools, numbers, strings. Keys that CEL calls equal
// (1, 1u, 1.0) are equivalent.
std::weak_ordering CompareKeys(const Value& a, const Value& b);
bool IsKey(const Value& value);

}  // namespace berth::cel
