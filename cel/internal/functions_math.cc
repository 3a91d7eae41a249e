// The math library.
#include <cmath>
#include <string>

#include "cel/containers.h"
#include "cel/internal/compare.h"
#include "cel/internal/functions.h"
#include "cel/internal/machine.h"
#include "cel/value_text.h"

namespace berth::cel {
namespace {

// The arguments are numbers, or one list of numbers.
Value ExtremeNumber(const Call& call, bool greatest) {
  const bool list = call.size() == 1 && call.Is(0, Kind::kList);
  Values from_list;
  if (list) {
    const ListView view = call[0].AsList();
    if (!call.machine.Charge(view.size())) return call.machine.Exhausted();
    view.ForEach([&](const Value& element) {
      from_list.push_back(element);
      return true;
    });
    if (from_list.empty()) {
      return Value::Failure(std::string(call.name) + "(list) argument must not be empty");
    }
  }
  const std::span<const Value> numbers = list ? std::span<const Value>(from_list) : call.arguments;
  if (numbers.empty()) return call.NoOverload();
  const Value* result = &numbers.front();
  for (const Value& number : numbers) {
    if (!IsNumber(number)) {
      return Value::Failure(std::string("no such overload: math.") + (greatest ? "@max" : "@min") +
                            "(" + std::string(TypeName(call[0])) + ")");
    }
    const std::partial_ordering order = CompareNumbers(number, *result);
    if (greatest ? order > 0 : order < 0) result = &number;
  }
  return *result;
}
Value Greatest(const Call& call) { return ExtremeNumber(call, true); }
Value Least(const Call& call) { return ExtremeNumber(call, false); }

template <double (*kFunction)(double)>
Value OfDouble(const Call& call) {
  if (!call.Is(0, Kind::kDouble)) return call.NoOverload();
  return Value(kFunction(call[0].AsDouble()));
}
double CeilOf(double value) { return std::ceil(value); }
double FloorOf(double value) { return std::floor(value); }
double RoundOf(double value) { return std::round(value); }
double TruncOf(double value) { return std::trunc(value); }

Value AbsoluteOf(const Call& call) {
  if (call.Is(0, Kind::kDouble)) return Value(std::fabs(call[0].AsDouble()));
  if (call.Is(0, Kind::kUint)) return call[0];
  if (!call.Is(0, Kind::kInt)) return call.NoOverload();
  if (call[0].AsInt() == INT64_MIN) return Value::Failure("integer overflow");
  return Value::Int(call[0].AsInt() < 0 ? -call[0].AsInt() : call[0].AsInt());
}

Value SignOfNumber(const Call& call) {
  if (call.Is(0, Kind::kInt)) {
    return Value::Int(call[0].AsInt() > 0 ? 1 : (call[0].AsInt() < 0 ? -1 : 0));
  }
  if (call.Is(0, Kind::kUint)) return Value::Uint(call[0].AsUint() > 0 ? 1 : 0);
  if (!call.Is(0, Kind::kDouble)) return call.NoOverload();
  const double number = call[0].AsDouble();
  if (std::isnan(number)) return call[0];
  return Value(number > 0 ? 1.0 : (number < 0 ? -1.0 : 0.0));
}

template <bool (*kFunction)(double)>
Value TestDouble(const Call& call) {
  if (!call.Is(0, Kind::kDouble)) return call.NoOverload();
  return Value(kFunction(call[0].AsDouble()));
}
bool IsNanNumber(double value) { return std::isnan(value); }
bool IsInfNumber(double value) { return std::isinf(value); }
bool IsFiniteNumber(double value) { return std::isfinite(value); }

Value SquareRoot(const Call& call) {
  if (!IsNumber(call[0])) return call.NoOverload();
  if (call.Is(0, Kind::kDouble)) return Value(std::sqrt(call[0].AsDouble()));
  if (call.Is(0, Kind::kInt)) return Value(std::sqrt(static_cast<double>(call[0].AsInt())));
  return Value(std::sqrt(static_cast<double>(call[0].AsUint())));
}

// Bits of two ints or two uints.
template <typename Combine>
Value OfBits(const Call& call, Combine combine) {
  if (call.Is(0, Kind::kUint) && call.Is(1, Kind::kUint)) {
    return Value::Uint(combine(call[0].AsUint(), call[1].AsUint()));
  }
  if (!call.Is(0, Kind::kInt) || !call.Is(1, Kind::kInt)) return call.NoOverload();
  const auto a = static_cast<std::uint64_t>(call[0].AsInt());
  const auto b = static_cast<std::uint64_t>(call[1].AsInt());
  return Value::Int(static_cast<std::int64_t>(combine(a, b)));
}
Value BitAnd(const Call& call) {
  return OfBits(call, [](std::uint64_t a, std::uint64_t b) { return a & b; });
}
Value BitOr(const Call& call) {
  return OfBits(call, [](std::uint64_t a, std::uint64_t b) { return a | b; });
}
Value BitXor(const Call& call) {
  return OfBits(call, [](std::uint64_t a, std::uint64_t b) { return a ^ b; });
}
Value BitNot(const Call& call) {
  if (call.Is(0, Kind::kUint)) return Value::Uint(~call[0].AsUint());
  if (call.Is(0, Kind::kInt)) return Value::Int(-1 - call[0].AsInt());
  return call.NoOverload();
}

// Shifts are logical: a shifted int gets no copies of its sign.
template <typename Move>
Value Shift(const Call& call, Move move) {
  if (!call.Is(1, Kind::kInt)) return call.NoOverload();
  const std::int64_t count = call[1].AsInt();
  if (count < 0) {
    return Value::Failure(std::string(call.name) + "() negative offset: " + std::to_string(count));
  }
  const auto shifted = [&](std::uint64_t bits) {
    return count > 63 ? 0 : move(bits, static_cast<unsigned>(count));
  };
  if (call.Is(0, Kind::kUint)) return Value::Uint(shifted(call[0].AsUint()));
  if (!call.Is(0, Kind::kInt)) return call.NoOverload();
  return Value::Int(
      static_cast<std::int64_t>(shifted(static_cast<std::uint64_t>(call[0].AsInt()))));
}
Value ShiftLeft(const Call& call) {
  return Shift(call, [](std::uint64_t bits, unsigned count) { return bits << count; });
}
Value ShiftRight(const Call& call) {
  return Shift(call, [](std::uint64_t bits, unsigned count) { return bits >> count; });
}

constexpr FunctionEntry kMath[] = {
    {"math.greatest", Style::kGlobal, 1, kManyArguments, Greatest},
    {"math.least", Style::kGlobal, 1, kManyArguments, Least},
    {"math.ceil", Style::kGlobal, 1, 1, OfDouble<CeilOf>},
    {"math.floor", Style::kGlobal, 1, 1, OfDouble<FloorOf>},
    {"math.round", Style::kGlobal, 1, 1, OfDouble<RoundOf>},
    {"math.trunc", Style::kGlobal, 1, 1, OfDouble<TruncOf>},
    {"math.abs", Style::kGlobal, 1, 1, AbsoluteOf},
    {"math.sign", Style::kGlobal, 1, 1, SignOfNumber},
    {"math.isNaN", Style::kGlobal, 1, 1, TestDouble<IsNanNumber>},
    {"math.isInf", Style::kGlobal, 1, 1, TestDouble<IsInfNumber>},
    {"math.isFinite", Style::kGlobal, 1, 1, TestDouble<IsFiniteNumber>},
    {"math.sqrt", Style::kGlobal, 1, 1, SquareRoot},
    {"math.bitAnd", Style::kGlobal, 2, 2, BitAnd},
    {"math.bitOr", Style::kGlobal, 2, 2, BitOr},
    {"math.bitXor", Style::kGlobal, 2, 2, BitXor},
    {"math.bitNot", Style::kGlobal, 1, 1, BitNot},
    {"math.bitShiftLeft", Style::kGlobal, 2, 2, ShiftLeft},
    {"math.bitShiftRight", Style::kGlobal, 2, 2, ShiftRight},
};

}  // namespace

std::span<const FunctionEntry> MathFunctions() { return kMath; }

}  // namespace berth::cel
