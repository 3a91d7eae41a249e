// Optional values; or() and orValue() are steps of their own, because they evaluate lazily.
#include "cel/internal/containers.h"
#include "cel/internal/functions.h"
#include "cel/internal/machine.h"

namespace berth::cel {
namespace {

bool IsZero(const Value& value) {
  switch (value.kind()) {
    case Kind::kNull: return true;
    case Kind::kBool: return !value.AsBool();
    case Kind::kInt: return value.AsInt() == 0;
    case Kind::kUint: return value.AsUint() == 0;
    case Kind::kDouble: return value.AsDouble() == 0;
    case Kind::kString:
    case Kind::kBytes: return value.AsText().empty();
    case Kind::kList:
    case Kind::kMap: return value.size() == 0;
    case Kind::kDuration: return value.AsNanoseconds() == 0;
    case Kind::kTimestamp: return value.AsInstant() == Instant{-62135596800, 0};
    case Kind::kOptional: return value.AsOptional() == nullptr;
    default: return false;
  }
}

Value OptionalOf(const Call& call) { return Value::Optional(call[0]); }
Value OptionalNone(const Call&) { return Value::None(); }
Value OptionalOfNonZero(const Call& call) {
  return IsZero(call[0]) ? Value::None() : Value::Optional(call[0]);
}

Value HasValue(const Call& call) {
  if (!call.Is(0, Kind::kOptional)) return call.NoOverload();
  return Value::Bool(call[0].AsOptional() != nullptr);
}

Value ValueOf(const Call& call) {
  if (!call.Is(0, Kind::kOptional)) return call.NoOverload();
  if (call[0].AsOptional() == nullptr) return Value::Failure("optional.none() dereference");
  return *call[0].AsOptional();
}

Value UnwrapAll(const Call& call) {
  if (!call.Is(0, Kind::kList)) return call.NoOverload();
  Values elements;
  Value failure;
  ForEachElement(call[0], [&](const Value& element) {
    if (!element.is(Kind::kOptional)) {
      failure = Value::Failure("value " + element.ToText() + " is not optional");
    } else if (element.AsOptional() != nullptr && call.machine.Allocate(sizeof(Value))) {
      elements.push_back(*element.AsOptional());
    }
    return !failure.is_error();
  });
  return failure.is_error() ? failure : Value::List(std::move(elements));
}

Value First(const Call& call) {
  if (!call.Is(0, Kind::kList)) return call.NoOverload();
  return call[0].size() == 0 ? Value::None() : Value::Optional(call[0].At(0));
}
Value Last(const Call& call) {
  if (!call.Is(0, Kind::kList)) return call.NoOverload();
  return call[0].size() == 0 ? Value::None() : Value::Optional(call[0].At(call[0].size() - 1));
}

constexpr FunctionEntry kOptional[] = {
    {"optional.of", Style::kGlobal, 1, 1, OptionalOf},
    {"optional.none", Style::kGlobal, 0, 0, OptionalNone},
    {"optional.ofNonZeroValue", Style::kGlobal, 1, 1, OptionalOfNonZero},
    {"optional.unwrap", Style::kGlobal, 1, 1, UnwrapAll},
    {"unwrapOpt", Style::kMethod, 1, 1, UnwrapAll},
    {"hasValue", Style::kMethod, 1, 1, HasValue},
    {"value", Style::kMethod, 1, 1, ValueOf},
    {"first", Style::kMethod, 1, 1, First},
    {"last", Style::kMethod, 1, 1, Last},
};

}  // namespace

std::span<const FunctionEntry> OptionalFunctions() { return kOptional; }

}  // namespace berth::cel
