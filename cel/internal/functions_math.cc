// The math library.
#include <cmath>
#include <string>

#include "cel/internal/compare.h"
#include "cel/internal/containers.h"
#include "cel/internal/functions.h"
#include "cel/internal/machine.h"

namespace berth::cel {
namespace {

// Of numbers, or of the one list of them.
Value ExtremeNumber(const Call& call, bool greatest) {
  const bool list = call.size() == 1 && call.Is(0, Kind::kList);
  Values from_list;
  if (list) {
    if (!call.machine.Charge(call[0].size())) return call.machine.Exhausted();
    ForEachElement(call[0], [&](const Value& element) {
      from_list.push_back(element);
      return true;
    });
    if (from_list.empty()) {
      return Value::Failure(std::string(call.name) + "(list) argument must not be empty");
    }
  }
  const std::span<const Value> numbers = list ? std::span<const Value>(from_list) : call.arguments;
  const Value* result = nullptr;
  for (const Value& number : numbers) {
    if (!IsNumber(number)) return call.NoOverload();
    if (result == nullptr) {
      result = &number;
      continue;
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
  return Value::Double(kFunction(call[0].AsDouble()));
}
double CeilOf(double value) { return std::ceil(value); }
double FloorOf(double value) { return std::floor(value); }
double RoundOf(double value) { return std::round(value); }
double TruncOf(double value) { return std::trunc(value); }

Value AbsoluteOf(const Call& call) {
  if (call.Is(0, Kind::kDouble)) return Value::Double(std::fabs(call[0].AsDouble()));
  if (call.Is(0, Kind::kUint)) return call[0];
  if (!call.Is(0, Kind::kInt)) return call.NoOverload();
  if (call[0].AsInt() == INT64_MIN) return Value::Failure("integer overflow");
  return Value::Int(call[0].AsInt() < 0 ? -call[0].AsInt() : call[0].AsInt());
}

constexpr FunctionEntry kMath[] = {
    {"math.greatest", Style::kGlobal, 1, kManyArguments, Greatest},
    {"math.least", Style::kGlobal, 1, kManyArguments, Least},
    {"math.ceil", Style::kGlobal, 1, 1, OfDouble<CeilOf>},
    {"math.floor", Style::kGlobal, 1, 1, OfDouble<FloorOf>},
    {"math.round", Style::kGlobal, 1, 1, OfDouble<RoundOf>},
    {"math.trunc", Style::kGlobal, 1, 1, OfDouble<TruncOf>},
    {"math.abs", Style::kGlobal, 1, 1, AbsoluteOf},
};

}  // namespace

std::span<const FunctionEntry> MathFunctions() { return kMath; }

}  // namespace berth::cel
