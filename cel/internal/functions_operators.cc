// Arithmetic and order.
#include <cmath>
#include <string>

#include "cel/containers.h"
#include "cel/internal/compare.h"
#include "cel/internal/functions.h"
#include "cel/internal/machine.h"
#include "cel/internal/numbers.h"

namespace berth::cel {
namespace {

Value IntOverflow() { return Value::Failure("integer overflow"); }
Value UintOverflow() { return Value::Failure("unsigned integer overflow"); }
Value DurationOverflow() { return Value::Failure("duration overflow"); }
Value TimestampOverflow() { return Value::Failure("timestamp overflow"); }

// cel-go's words for an operator without a meaning for its left operand differ from those for its
// right one.
Value OperatorMisfit(const Call& call) {
  switch (call[0].kind()) {
    case Kind::kDouble:
      if (call.name != "_%_") return FailNoOverload();
      break;
    case Kind::kInt:
    case Kind::kUint:
    case Kind::kString:
    case Kind::kDuration:
    case Kind::kTimestamp: return FailNoOverload();
    case Kind::kBytes:
    case Kind::kList:
      if (call.name == "_+_") return FailNoOverload();
      break;
    default: break;
  }
  return Value::Failure("no such overload: " + std::string(call.name));
}

Value OrderMisfit(const Call& call) {
  if (IsOrdered(call[0])) return FailNoOverload();
  return Value::Failure("no such overload: " + std::string(call.name));
}

// `instant` moved by `nanoseconds`.
Value MoveInstant(Instant instant, std::int64_t nanoseconds) {
  std::int64_t seconds = nanoseconds / kNanosPerSecond;
  std::int64_t nanos = instant.nanos + nanoseconds % kNanosPerSecond;
  if (nanos < 0) {
    nanos += kNanosPerSecond;
    --seconds;
  } else if (nanos >= kNanosPerSecond) {
    nanos -= kNanosPerSecond;
    ++seconds;
  }
  const Instant moved{instant.seconds + seconds, static_cast<std::int32_t>(nanos)};
  return IsInstantInRange(moved) ? Value(moved) : TimestampOverflow();
}

Value AddDurations(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? DurationOverflow()
                                            : Value(std::chrono::nanoseconds(sum));
}

Value Concatenate(const Call& call) {
  const std::string_view a = call[0].AsText();
  const std::string_view b = call[1].AsText();
  if (!call.machine.Allocate(a.size() + b.size())) return call.machine.Exhausted();
  std::string text;
  text.reserve(a.size() + b.size());
  text.append(a).append(b);
  return call.Is(0, Kind::kString) ? Value::String(std::move(text)) : Value::Bytes(std::move(text));
}

Value ConcatenateLists(const Call& call) {
  const std::size_t size = call[0].AsList().size() + call[1].AsList().size();
  if (!call.machine.Allocate(size * sizeof(Value))) return call.machine.Exhausted();
  Values elements;
  elements.reserve(size);
  for (std::size_t i = 0; i < 2; ++i) {
    call[i].AsList().ForEach([&](const Value& element) {
      elements.push_back(element);
      return true;
    });
  }
  return Value::List(std::move(elements));
}

Value Add(const Call& call) {
  const Kind kind = call[0].kind();
  if (kind == Kind::kDuration && call.Is(1, Kind::kTimestamp)) {
    return MoveInstant(call[1].AsInstant(), call[0].AsNanoseconds());
  }
  if (kind == Kind::kTimestamp && call.Is(1, Kind::kDuration)) {
    return MoveInstant(call[0].AsInstant(), call[1].AsNanoseconds());
  }
  if (kind != call[1].kind()) return OperatorMisfit(call);
  switch (kind) {
    case Kind::kInt: {
      std::int64_t sum = 0;
      if (__builtin_add_overflow(call[0].AsInt(), call[1].AsInt(), &sum)) return IntOverflow();
      return Value::Int(sum);
    }
    case Kind::kUint: {
      std::uint64_t sum = 0;
      if (__builtin_add_overflow(call[0].AsUint(), call[1].AsUint(), &sum)) return UintOverflow();
      return Value::Uint(sum);
    }
    case Kind::kDouble: return Value(call[0].AsDouble() + call[1].AsDouble());
    case Kind::kDuration: return AddDurations(call[0].AsNanoseconds(), call[1].AsNanoseconds());
    case Kind::kString:
    case Kind::kBytes: return Concatenate(call);
    case Kind::kList: return ConcatenateLists(call);
    default: return OperatorMisfit(call);
  }
}

Value SubtractInstants(Instant a, Instant b) {
  std::int64_t seconds = 0;
  std::int64_t nanos = 0;
  if (__builtin_sub_overflow(a.seconds, b.seconds, &seconds) ||
      __builtin_mul_overflow(seconds, kNanosPerSecond, &nanos) ||
      __builtin_add_overflow(nanos, std::int64_t{a.nanos} - b.nanos, &nanos)) {
    return IntOverflow();
  }
  return Value(std::chrono::nanoseconds(nanos));
}

Value Subtract(const Call& call) {
  const Kind kind = call[0].kind();
  if (kind == Kind::kTimestamp && call.Is(1, Kind::kDuration)) {
    const std::int64_t span = call[1].AsNanoseconds();
    if (span == INT64_MIN) return TimestampOverflow();
    return MoveInstant(call[0].AsInstant(), -span);
  }
  if (kind != call[1].kind()) return OperatorMisfit(call);
  switch (kind) {
    case Kind::kInt: {
      std::int64_t rest = 0;
      if (__builtin_sub_overflow(call[0].AsInt(), call[1].AsInt(), &rest)) return IntOverflow();
      return Value::Int(rest);
    }
    case Kind::kUint: {
      std::uint64_t rest = 0;
      if (__builtin_sub_overflow(call[0].AsUint(), call[1].AsUint(), &rest)) return UintOverflow();
      return Value::Uint(rest);
    }
    case Kind::kDouble: return Value(call[0].AsDouble() - call[1].AsDouble());
    case Kind::kTimestamp: return SubtractInstants(call[0].AsInstant(), call[1].AsInstant());
    case Kind::kDuration: {
      std::int64_t rest = 0;
      if (__builtin_sub_overflow(call[0].AsNanoseconds(), call[1].AsNanoseconds(), &rest)) {
        return DurationOverflow();
      }
      return Value(std::chrono::nanoseconds(rest));
    }
    default: return OperatorMisfit(call);
  }
}

Value Multiply(const Call& call) {
  if (call[0].kind() != call[1].kind()) return OperatorMisfit(call);
  switch (call[0].kind()) {
    case Kind::kInt: {
      std::int64_t product = 0;
      if (__builtin_mul_overflow(call[0].AsInt(), call[1].AsInt(), &product)) return IntOverflow();
      return Value::Int(product);
    }
    case Kind::kUint: {
      std::uint64_t product = 0;
      if (__builtin_mul_overflow(call[0].AsUint(), call[1].AsUint(), &product)) {
        return UintOverflow();
      }
      return Value::Uint(product);
    }
    case Kind::kDouble: return Value(call[0].AsDouble() * call[1].AsDouble());
    default: return OperatorMisfit(call);
  }
}

Value Divide(const Call& call) {
  if (call[0].kind() != call[1].kind()) return OperatorMisfit(call);
  switch (call[0].kind()) {
    case Kind::kInt:
      if (call[1].AsInt() == 0) return Value::Failure("division by zero");
      if (call[0].AsInt() == INT64_MIN && call[1].AsInt() == -1) return IntOverflow();
      return Value::Int(call[0].AsInt() / call[1].AsInt());
    case Kind::kUint:
      if (call[1].AsUint() == 0) return Value::Failure("division by zero");
      return Value::Uint(call[0].AsUint() / call[1].AsUint());
    case Kind::kDouble: return Value(call[0].AsDouble() / call[1].AsDouble());
    default: return OperatorMisfit(call);
  }
}

Value Modulo(const Call& call) {
  if (call[0].kind() != call[1].kind()) return OperatorMisfit(call);
  if (call.Is(0, Kind::kInt)) {
    if (call[1].AsInt() == 0) return Value::Failure("modulus by zero");
    if (call[0].AsInt() == INT64_MIN && call[1].AsInt() == -1) return IntOverflow();
    return Value::Int(call[0].AsInt() % call[1].AsInt());
  }
  if (call.Is(0, Kind::kUint)) {
    if (call[1].AsUint() == 0) return Value::Failure("modulus by zero");
    return Value::Uint(call[0].AsUint() % call[1].AsUint());
  }
  return OperatorMisfit(call);
}

Value Negate(const Call& call) {
  if (call.Is(0, Kind::kDouble)) return Value(-call[0].AsDouble());
  if (call.Is(0, Kind::kDuration)) {
    const std::int64_t span = call[0].AsNanoseconds();
    return span == INT64_MIN ? DurationOverflow() : Value(std::chrono::nanoseconds(-span));
  }
  if (!call.Is(0, Kind::kInt)) {
    return call.Is(0, Kind::kUint)   ? Value::Failure("no such overload: -_")
           : call.Is(0, Kind::kBool) ? FailNoOverload()
                                     : OperatorMisfit(call);
  }
  return call[0].AsInt() == INT64_MIN ? IntOverflow() : Value::Int(-call[0].AsInt());
}

Value NoOrderOfNan() { return Value::Failure("NaN values cannot be ordered"); }

bool IsNan(const Value& value) { return value.is(Kind::kDouble) && std::isnan(value.AsDouble()); }

template <typename Holds>
Value Order(const Call& call, Holds holds) {
  if (!IsOrdered(call[0]) || !SameOrder(call[0], call[1])) return OrderMisfit(call);
  if (IsNan(call[0]) || IsNan(call[1])) return NoOrderOfNan();
  if (call.Is(0, Kind::kString) && !call.machine.ChargeText(call[0].AsText().size())) {
    return call.machine.Exhausted();
  }
  return Value(holds(CompareOrdered(call[0], call[1])));
}

Value Less(const Call& call) {
  return Order(call, [](std::partial_ordering order) { return order < 0; });
}
Value LessOrEqual(const Call& call) {
  return Order(call, [](std::partial_ordering order) { return order <= 0; });
}
Value Greater(const Call& call) {
  return Order(call, [](std::partial_ordering order) { return order > 0; });
}
Value GreaterOrEqual(const Call& call) {
  return Order(call, [](std::partial_ordering order) { return order >= 0; });
}

constexpr FunctionEntry kOperators[] = {
    {"_+_", Style::kGlobal, 2, 2, Add},      {"_-_", Style::kGlobal, 2, 2, Subtract},
    {"_*_", Style::kGlobal, 2, 2, Multiply}, {"_/_", Style::kGlobal, 2, 2, Divide},
    {"_%_", Style::kGlobal, 2, 2, Modulo},   {"-_", Style::kGlobal, 1, 1, Negate},
    {"_<_", Style::kGlobal, 2, 2, Less},     {"_<=_", Style::kGlobal, 2, 2, LessOrEqual},
    {"_>_", Style::kGlobal, 2, 2, Greater},  {"_>=_", Style::kGlobal, 2, 2, GreaterOrEqual},
};

}  // namespace

std::span<const FunctionEntry> OperatorFunctions() { return kOperators; }

}  // namespace berth::cel
