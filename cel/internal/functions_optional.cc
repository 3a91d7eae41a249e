// Optional values; or() and orValue() are steps of their own, because they evaluate lazily.
#include "cel/containers.h"
#include "cel/internal/functions.h"
#include "cel/internal/machine.h"
#include "cel/value_text.h"

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
    case Kind::kList: return value.AsList().size() == 0;
    case Kind::kMap: return value.AsMap().size() == 0;
    case Kind::kDuration: return value.AsNanoseconds() == 0;
    case Kind::kTimestamp: return value.AsInstant() == Instant{-62135596800, 0};
    case Kind::kOptional: return value.AsOptional() == nullptr;
    default: return false;
  }
}

Value OptionalOf(const Call& call) { return Value::Optional(call[0]); }
Value OptionalNone(const Call&) { return Value::Optional(std::nullopt); }
Value OptionalOfNonZero(const Call& call) {
  return IsZero(call[0]) ? Value::Optional(std::nullopt) : Value::Optional(call[0]);
}

Value HasValue(const Call& call) {
  if (!call.Is(0, Kind::kOptional)) return call.NoOverload();
  return Value(call[0].AsOptional() != nullptr);
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
  call[0].AsList().ForEach([&](const Value& element) {
    if (!element.is(Kind::kOptional)) {
      failure = Value::Failure("value " + ToText(element) + " is not optional");
    } else if (element.AsOptional() != nullptr && call.machine.Allocate(sizeof(Value))) {
      elements.push_back(*element.AsOptional());
    }
    return !failure.is(Kind::kError);
  });
  return failure.is(Kind::kError) ? failure : Value::List(std::move(elements));
}

Value First(const Call& call) {
  if (!call.Is(0, Kind::kList)) return call.NoOverload();
  const ListView list = call[0].AsList();
  return Value::Optional(list.size() == 0 ? std::nullopt : std::optional(list.At(0)));
}
Value Last(const Call& call) {
  if (!call.Is(0, Kind::kList)) return call.NoOverload();
  const ListView list = call[0].AsList();
  return Value::Optional(list.size() == 0 ? std::nullopt : std::optional(list.At(list.size() - 1)));
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
