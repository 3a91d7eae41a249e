// The lists and sets libraries; sortBy() is a loop of the machine.
#include <algorithm>
#include <string>

#include "cel/containers.h"
#include "cel/internal/compare.h"
#include "cel/internal/functions.h"
#include "cel/internal/machine.h"
#include "cel/value_text.h"

namespace berth::cel {
namespace {

// Whether every element can be compared with the first one.
bool HasOneOrder(const ListView& list) {
  if (list.size() == 0) return true;
  const Value first = list.At(0);
  return list.ForEach(
      [&](const Value& element) { return IsOrdered(element) && SameOrder(element, first); });
}

Value IsSorted(const Call& call) {
  if (!call.Is(0, Kind::kList)) return call.NoOverload();
  const ListView list = call[0].AsList();
  if (!call.machine.Charge(list.size())) return call.machine.Exhausted();
  if (!HasOneOrder(list)) return FailNoOverload();
  for (std::size_t i = 1; i < list.size(); ++i) {
    if (CompareOrdered(list.At(i - 1), list.At(i)) > 0) return Value(false);
  }
  return Value(true);
}

Value Extreme(const Call& call, bool greatest) {
  if (!call.Is(0, Kind::kList)) return call.NoOverload();
  const ListView list = call[0].AsList();
  if (!call.machine.Charge(list.size())) return call.machine.Exhausted();
  if (list.size() == 0) {
    return Value::Failure(std::string(call.name) + " called on empty list");
  }
  if (!HasOneOrder(list)) return FailNoOverload();
  Value result = list.At(0);
  list.ForEach([&](const Value& element) {
    const std::partial_ordering order = CompareOrdered(element, result);
    if (greatest ? order > 0 : order < 0) result = element;
    return true;
  });
  return result;
}
Value MinOfList(const Call& call) { return Extreme(call, false); }
Value MaxOfList(const Call& call) { return Extreme(call, true); }

// The sum of no elements is the int 0.
Value Sum(const Call& call) {
  if (!call.Is(0, Kind::kList)) return call.NoOverload();
  bool known = false;
  const FunctionEntry* add = FindFunction("_+_", Style::kGlobal, 2, known);
  Value sum;
  bool first = true;
  call[0].AsList().ForEach([&](const Value& element) {
    if (!IsNumber(element) && !element.is(Kind::kDuration)) {
      sum = FailNoOverload();
    } else if (first) {
      sum = element;
    } else {
      const Value operands[] = {sum, element};
      sum = add->function(Call{call.machine, add->name, operands});
    }
    first = false;
    return !sum.is(Kind::kError) && call.machine.Charge(1);
  });
  return first ? Value::Int(0) : sum;
}

Value Slice(const Call& call) {
  if (!call.Is(0, Kind::kList) || !call.Is(1, Kind::kInt) || !call.Is(2, Kind::kInt)) {
    return call.NoOverload();
  }
  const std::int64_t start = call[1].AsInt();
  const std::int64_t end = call[2].AsInt();
  const ListView list = call[0].AsList();
  const auto size = static_cast<std::int64_t>(list.size());
  const auto refuse = [&](const char* why) {
    return Value::Failure("cannot slice(" + std::to_string(start) + ", " + std::to_string(end) +
                          "), " + why);
  };
  if (start < 0 || end < 0) return refuse("negative indexes not supported");
  if (start > end) return refuse("start index must be less than or equal to end index");
  if (size < end) {
    return Value::Failure("cannot slice(" + std::to_string(start) + ", " + std::to_string(end) +
                          "), list is length " + std::to_string(size));
  }
  Values elements;
  for (std::int64_t i = start; i < end; ++i) {
    elements.push_back(list.At(static_cast<std::size_t>(i)));
  }
  return call.machine.MakeList(std::move(elements));
}

bool Flatten(const Call& call, const Value& list, std::int64_t depth, Values& elements) {
  return list.AsList().ForEach([&](const Value& element) {
    if (!call.machine.Allocate(sizeof(Value))) return false;
    if (element.is(Kind::kList) && depth > 0) return Flatten(call, element, depth - 1, elements);
    elements.push_back(element);
    return true;
  });
}

Value FlattenList(const Call& call) {
  constexpr std::int64_t kMaxLevel = 200;
  if (!call.Is(0, Kind::kList)) {
    return Value::Failure("no such overload: " + std::string(TypeName(call[0])) + ".flatten()");
  }
  if (call.size() == 2 && !call.Is(1, Kind::kInt)) return call.NoOverload();
  const std::int64_t depth = call.size() == 2 ? call[1].AsInt() : 1;
  if (depth < 0) return Value::Failure("level must be non-negative");
  Values elements;
  Flatten(call, call[0], std::min(depth, kMaxLevel), elements);
  return call.machine.MakeList(std::move(elements));
}

Value SortList(const Call& call) {
  if (!call.Is(0, Kind::kList)) return call.NoOverload();
  const ListView list = call[0].AsList();
  if (!call.machine.Charge(list.size() * 16)) return call.machine.Exhausted();
  if (!HasOneOrder(list)) {
    const Value first = list.At(0);
    if (!IsOrdered(first)) return Value::Failure("list elements must be comparable");
    return Value::Failure("list elements must have the same type");
  }
  Values elements;
  list.ForEach([&](const Value& element) {
    elements.push_back(element);
    return true;
  });
  std::stable_sort(elements.begin(), elements.end(),
                   [](const Value& a, const Value& b) { return CompareOrdered(a, b) < 0; });
  return call.machine.MakeList(std::move(elements));
}

bool HasElement(const Call& call, const Values& elements, const Value& wanted) {
  return std::any_of(elements.begin(), elements.end(), [&](const Value& element) {
    return !call.machine.exhausted() && call.machine.Equal(element, wanted);
  });
}

Value Distinct(const Call& call) {
  if (!call.Is(0, Kind::kList)) return call.NoOverload();
  Values elements;
  call[0].AsList().ForEach([&](const Value& element) {
    if (!HasElement(call, elements, element)) elements.push_back(element);
    return call.machine.Charge(1);
  });
  return call.machine.MakeList(std::move(elements));
}

Value Range(const Call& call) {
  if (!call.Is(0, Kind::kInt)) return call.NoOverload();
  const std::int64_t count = std::max<std::int64_t>(call[0].AsInt(), 0);
  Values elements;
  for (std::int64_t i = 0; i < count; ++i) {
    if (!call.machine.Allocate(sizeof(Value))) return call.machine.Exhausted();
    elements.push_back(Value::Int(i));
  }
  return Value::List(std::move(elements));
}

// Whether `list` has an element equal to `wanted`.
bool Holds(const Call& call, const Value& list, const Value& wanted) {
  return !list.AsList().ForEach([&](const Value& element) {
    return !call.machine.exhausted() && !call.machine.Equal(element, wanted);
  });
}

bool HoldsAll(const Call& call, const Value& list, const Value& wanted) {
  return wanted.AsList().ForEach([&](const Value& element) { return Holds(call, list, element); });
}

bool AreLists(const Call& call) { return call.Is(0, Kind::kList) && call.Is(1, Kind::kList); }

Value SetContains(const Call& call) {
  return AreLists(call) ? Value(HoldsAll(call, call[0], call[1])) : call.NoOverload();
}
Value SetEquivalent(const Call& call) {
  if (!AreLists(call)) return call.NoOverload();
  return Value(HoldsAll(call, call[0], call[1]) && HoldsAll(call, call[1], call[0]));
}
Value SetIntersects(const Call& call) {
  if (!AreLists(call)) return call.NoOverload();
  return Value(!call[0].AsList().ForEach(
      [&](const Value& element) { return !Holds(call, call[1], element); }));
}

constexpr FunctionEntry kLists[] = {
    {"isSorted", Style::kMethod, 1, 1, IsSorted}, {"min", Style::kMethod, 1, 1, MinOfList},
    {"max", Style::kMethod, 1, 1, MaxOfList},     {"sum", Style::kMethod, 1, 1, Sum},
    {"slice", Style::kMethod, 3, 3, Slice},       {"flatten", Style::kMethod, 1, 2, FlattenList},
    {"sort", Style::kMethod, 1, 1, SortList},     {"distinct", Style::kMethod, 1, 1, Distinct},
    {"lists.range", Style::kGlobal, 1, 1, Range},
};

constexpr FunctionEntry kSets[] = {
    {"sets.contains", Style::kGlobal, 2, 2, SetContains},
    {"sets.equivalent", Style::kGlobal, 2, 2, SetEquivalent},
    {"sets.intersects", Style::kGlobal, 2, 2, SetIntersects},
};

}  // namespace

std::span<const FunctionEntry> ListFunctions() { return kLists; }
std::span<const FunctionEntry> SetFunctions() { return kSets; }

}  // namespace berth::cel
