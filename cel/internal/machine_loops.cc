// The macros that run over a list or a map.
#include <algorithm>

#include "cel/internal/compare.h"
#include "cel/internal/containers.h"
#include "cel/internal/machine.h"

namespace berth::cel {

template <typename Visit>
void Machine::Loop(const Step& step, const Value& range, Visit&& visit) {
  Value& first = slots_[static_cast<std::size_t>(step.slot)];
  Value* const second =
      step.second_slot < 0 ? nullptr : &slots_[static_cast<std::size_t>(step.second_slot)];
  if (range.is(Kind::kMap)) {
    ForEachEntry(range, [&](const Value& key, const Value& value) {
      first = key;
      if (second != nullptr) *second = value;
      return Charge(1) && visit(key);
    });
    return;
  }
  std::int64_t index = 0;
  ForEachElement(range, [&](const Value& element) {
    first = second == nullptr ? element : Value::Int(index);
    if (second != nullptr) *second = element;
    ++index;
    return Charge(1) && visit(element);
  });
}

Value Machine::EvalLoop(const Step& step) {
  Value range = Eval(step.children[0]);
  if (range.is_error()) return range;
  const bool list = range.is(Kind::kList);
  if (!list && (!range.is(Kind::kMap) || step.op == Op::kSortBy)) {
    return Value::Failure("got '" + std::string(range.type_name()) + "', expected iterable type");
  }
  switch (step.op) {
    case Op::kAll:
    case Op::kExists: return EvalAny(step, range);
    case Op::kExistsOne: return EvalExistsOne(step, range);
    case Op::kMapList: return EvalMapList(step, range);
    case Op::kFilter: return EvalFilter(step, range);
    case Op::kTransformMap:
    case Op::kTransformEntry: return EvalTransformMap(step, range);
    case Op::kSortBy: return EvalSortBy(step, range);
    default: return FailNoOverload();
  }
}

// all() and exists(): as && and || over the elements.
Value Machine::EvalAny(const Step& step, const Value& range) {
  const bool deciding = step.op == Op::kExists;
  Value failure;
  bool decided = false;
  Loop(step, range, [&](const Value&) {
    Value value = Eval(step.children[1]);
    if (value.is(Kind::kBool)) {
      decided = value.AsBool() == deciding;
    } else if (!failure.is_error()) {
      failure = value.is_error() ? std::move(value) : FailNoOverload();
    }
    return !decided;
  });
  if (decided) return Value::Bool(deciding);
  return failure.is_error() ? failure : Value::Bool(!deciding);
}

Value Machine::EvalExistsOne(const Step& step, const Value& range) {
  std::int64_t count = 0;
  Value failure;
  Loop(step, range, [&](const Value&) {
    Value value = Eval(step.children[1]);
    if (!value.is(Kind::kBool)) {
      failure = value.is_error() ? std::move(value) : FailNoOverload();
      return false;
    }
    count += value.AsBool() ? 1 : 0;
    return true;
  });
  return failure.is_error() ? failure : Value::Bool(count == 1);
}

bool Machine::Passes(const Step& step, Value& failure) {
  if (step.children.size() < 3) return true;
  Value value = Eval(step.children[2]);
  if (value.is(Kind::kBool)) return value.AsBool();
  failure = value.is_error() ? std::move(value) : FailNoOverload();
  return false;
}

Value Machine::EvalMapList(const Step& step, const Value& range) {
  Values elements;
  Value failure;
  Loop(step, range, [&](const Value&) {
    if (Passes(step, failure)) {
      Value element = Eval(step.children[1]);
      if (element.is_error()) {
        failure = std::move(element);
      } else if (Allocate(sizeof(Value))) {
        elements.push_back(std::move(element));
      }
    }
    return !failure.is_error();
  });
  return failure.is_error() ? failure : MakeList(std::move(elements));
}

Value Machine::EvalFilter(const Step& step, const Value& range) {
  Values elements;
  Value failure;
  Loop(step, range, [&](const Value& element) {
    Value value = Eval(step.children[1]);
    if (!value.is(Kind::kBool)) {
      failure = value.is_error() ? std::move(value) : FailNoOverload();
      return false;
    }
    if (value.AsBool() && Allocate(sizeof(Value))) elements.push_back(element);
    return true;
  });
  return failure.is_error() ? failure : MakeList(std::move(elements));
}

// Adds the entries of the map that a step has produced. Null, or a failure.
Value Machine::AddEntries(const Value& produced, Entries& entries) {
  if (!produced.is(Kind::kMap)) return FailNoOverload();
  Value failure;
  ForEachEntry(produced, [&](const Value& key, const Value& value) {
    const bool twice = std::any_of(entries.begin(), entries.end(), [&](const Entry& entry) {
      return Charge(1) && CompareKeys(entry.first, key) == 0;
    });
    if (twice) failure = Value::Failure("insert failed: key " + key.ToText() + " already exists");
    if (!twice && Allocate(sizeof(Entry))) entries.emplace_back(key, value);
    return !twice && !exhausted();
  });
  return failure;
}

Value Machine::EvalTransformMap(const Step& step, const Value& range) {
  Entries entries;
  Value failure;
  Loop(step, range, [&](const Value&) {
    if (!Passes(step, failure)) return !failure.is_error();
    Value value = Eval(step.children[1]);
    if (value.is_error()) {
      failure = std::move(value);
    } else if (step.op == Op::kTransformEntry) {
      failure = AddEntries(value, entries);
    } else if (Allocate(sizeof(Entry))) {
      entries.emplace_back(slots_[static_cast<std::size_t>(step.slot)], std::move(value));
    }
    return !failure.is_error();
  });
  return failure.is_error() ? failure : Value::Map(std::move(entries));
}

Value Machine::EvalSortBy(const Step& step, const Value& range) {
  Entries keyed;
  Value failure;
  Loop(step, range, [&](const Value& element) {
    Value key = Eval(step.children[1]);
    if (key.is_error()) {
      failure = std::move(key);
    } else if (Allocate(sizeof(Entry))) {
      keyed.emplace_back(std::move(key), element);
    }
    return !failure.is_error();
  });
  if (failure.is_error()) return failure;
  if (exhausted()) return Exhausted();
  for (const Entry& entry : keyed) {
    if (!IsOrdered(entry.first) || !SameOrder(entry.first, keyed.front().first)) {
      return FailNoOverload();
    }
  }
  if (!Charge(keyed.size() * 16)) return Exhausted();
  std::stable_sort(keyed.begin(), keyed.end(), [](const Entry& a, const Entry& b) {
    return CompareOrdered(a.first, b.first) == std::partial_ordering::less;
  });
  Values elements;
  elements.reserve(keyed.size());
  for (Entry& entry : keyed) elements.push_back(std::move(entry.second));
  return MakeList(std::move(elements));
}

}  // namespace berth::cel
