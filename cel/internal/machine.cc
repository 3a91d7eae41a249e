#include "cel/internal/machine.h"

#include <algorithm>

#include "base/small_vector.h"
#include "cel/containers.h"
#include "cel/internal/compare.h"
#include "cel/value_text.h"

namespace berth::cel {
namespace {

// The index that `index` stands for in a list, or a failure.
Value ListIndex(const Value& index) {
  if (const auto whole = WholeNumber(index)) return Value::Int(*whole);
  if (IsNumber(index)) {
    return Value::Failure("unsupported index value " + ToText(index) + " in list");
  }
  return Value::Failure("unsupported index type '" + std::string(TypeName(index)) + "' in list");
}

// What a selection finds: a value, nothing, or a failure.
struct Found {
  std::optional<Value> value;
  Value failure;  // kError: the target cannot be indexed so
};

Found FindIndex(const Value& target, const Value& index) {
  Found found;
  if (target.is(Kind::kMap)) {
    found.value = target.AsMap().Find(index);
  } else if (target.is(Kind::kList)) {
    const ListView list = target.AsList();
    Value position = ListIndex(index);
    if (position.is(Kind::kError)) {
      found.failure = std::move(position);
    } else if (position.AsInt() >= 0 &&
               static_cast<std::uint64_t>(position.AsInt()) < list.size()) {
      found.value = list.At(static_cast<std::size_t>(position.AsInt()));
    }
  }
  return found;
}

Found FindField(const Value& target, const Step& step) {
  if (!target.is(Kind::kMap)) return FindIndex(target, Value::ViewText(step.field));
  const MapView map = target.AsMap();
  Found found;
  found.value = map.Find(step.field);
  if (!found.value && !step.unescaped.empty()) found.value = map.Find(step.unescaped);
  return found;
}

}  // namespace

Value FailNoOverload() { return Value::Failure("no such overload"); }
Value FailNoKey(const Value& key) { return Value::Failure("no such key: " + ToText(key)); }
Value FailNoKey(std::string_view key) { return Value::Failure("no such key: " + std::string(key)); }

Value Call::NoOverload() const {
  std::string text = "no such overload: " + std::string(name) + "(";
  for (std::size_t i = 0; i < arguments.size() && i < 10; ++i) {
    if (i > 0) text += ", ";
    text += TypeName(arguments[i]);
  }
  return Value::Failure(text + ")");
}

Machine::Machine(const Plan& plan, const Activation& activation, std::uint64_t budget)
    : plan_(plan), slots_(plan.locals), budget_(budget), memory_left_(plan.limits.memory_bytes) {
  variables_.reserve(plan.variables.size());
  for (const std::string& name : plan.variables) variables_.push_back(activation.Find(name));
}

Value Machine::Run() {
  Value value = Eval(plan_.root);
  // Whatever the answer is, an evaluation that has no budget left has failed.
  return exhausted() ? Exhausted() : value;
}

bool Machine::Charge(std::uint64_t units) {
  budget_ -= units < budget_ ? units : budget_;
  return budget_ > 0;
}

bool Machine::Allocate(std::size_t bytes) {
  if (bytes > memory_left_) {
    out_of_memory_ = true;
    budget_ = 0;
    return false;
  }
  memory_left_ -= bytes;
  return Charge(bytes / 100 + 1);
}

Value Machine::Exhausted() const {
  if (!out_of_memory_) {
    return Value::Failure("operation cancelled: actual cost limit exceeded");
  }
  return Value::Failure("operation cancelled: the values of the evaluation need more than " +
                        std::to_string(plan_.limits.memory_bytes) + " bytes");
}

bool Machine::Equal(const Value& a, const Value& b) { return cel::Equal(a, b, budget_); }

Value Machine::MakeString(std::string text) {
  return Allocate(text.size() + sizeof(Value)) ? Value::String(std::move(text)) : Exhausted();
}

Value Machine::MakeList(Values elements) {
  return Allocate((elements.size() + 1) * sizeof(Value)) ? Value::List(std::move(elements))
                                                         : Exhausted();
}

Value Machine::Eval(const Step& step) {
  if (!Charge(1)) return Exhausted();
  switch (step.op) {
    case Op::kConstant: return step.constant;
    case Op::kVariable: return EvalVariable(step);
    case Op::kLocal: return slots_[static_cast<std::size_t>(step.slot)];
    case Op::kSelect: return EvalSelect(step);
    case Op::kOptionalSelect: return EvalOptionalSelect(step);
    case Op::kHas: return EvalHas(step);
    case Op::kIndex:
    case Op::kOptionalIndex: return EvalIndex(step);
    case Op::kAnd:
    case Op::kOr: return EvalLogic(step);
    case Op::kNot: {
      Value value = Eval(step.children[0]);
      if (value.is(Kind::kBool)) return Value(!value.AsBool());
      return value.is(Kind::kError) ? value : FailNoOverload();
    }
    case Op::kConditional: return EvalConditional(step);
    case Op::kEqual:
    case Op::kNotEqual: return EvalEquality(step);
    case Op::kIn: return EvalIn(step);
    case Op::kCall: return EvalCall(step);
    case Op::kList: return EvalList(step);
    case Op::kMap: return EvalMap(step);
    case Op::kBind: return EvalBind(step);
    case Op::kOptionalMap:
    case Op::kOptionalFlatMap: return EvalOptionalMap(step);
    case Op::kOptionalOr:
    case Op::kOptionalOrValue: return EvalOptionalOr(step);
    default: return EvalLoop(step);
  }
}

Value Machine::EvalVariable(const Step& step) {
  const auto slot = static_cast<std::size_t>(step.slot);
  if (variables_[slot] != nullptr) return *variables_[slot];
  return Value::Failure("no such attribute(s): " + plan_.variables[slot]);
}

Value Machine::EvalSelect(const Step& step) {
  Value target = Eval(step.children[0]);
  if (target.is(Kind::kError)) return target;
  if (target.is(Kind::kOptional)) {
    const Value* inner = target.AsOptional();
    if (inner == nullptr) return target;
    Found found = FindField(*inner, step);
    if (found.failure.is(Kind::kError)) return found.failure;
    return Value::Optional(std::move(found.value));
  }
  Found found = FindField(target, step);
  if (found.value) return *std::move(found.value);
  return found.failure.is(Kind::kError) ? found.failure : FailNoKey(step.field);
}

Value Machine::EvalOptionalSelect(const Step& step) {
  Value target = Eval(step.children[0]);
  if (target.is(Kind::kError)) return target;
  const Value* inner = target.is(Kind::kOptional) ? target.AsOptional() : &target;
  if (inner == nullptr) return target;
  Found found = FindField(*inner, step);
  if (found.failure.is(Kind::kError)) return found.failure;
  return Value::Optional(std::move(found.value));
}

Value Machine::EvalHas(const Step& step) {
  Value target = Eval(step.children[0]);
  if (target.is(Kind::kError)) return target;
  const Value* inner = target.is(Kind::kOptional) ? target.AsOptional() : &target;
  if (inner == nullptr) return Value(false);
  Found found = FindField(*inner, step);
  return found.failure.is(Kind::kError) ? found.failure : Value(found.value.has_value());
}

Value Machine::EvalIndex(const Step& step) {
  Value target = Eval(step.children[0]);
  if (target.is(Kind::kError)) return target;
  Value index = Eval(step.children[1]);
  if (index.is(Kind::kError)) return index;
  const bool optional = step.op == Op::kOptionalIndex || target.is(Kind::kOptional);
  const Value* inner = target.is(Kind::kOptional) ? target.AsOptional() : &target;
  if (inner == nullptr) return target;
  Found found = FindIndex(*inner, index);
  if (found.failure.is(Kind::kError)) return found.failure;
  if (optional) return Value::Optional(std::move(found.value));
  if (found.value) return *std::move(found.value);
  if (inner->is(Kind::kList)) return Value::Failure("index out of bounds: " + ToText(index));
  return FailNoKey(index);
}

// && and ||: the deciding value of any operand wins over failures of others.
Value Machine::EvalLogic(const Step& step) {
  const bool deciding = step.op == Op::kOr;
  Value failure;
  for (const Step& child : step.children) {
    Value value = Eval(child);
    if (value.is(Kind::kBool)) {
      if (value.AsBool() == deciding) return value;
    } else if (!failure.is(Kind::kError)) {
      failure = value.is(Kind::kError) ? std::move(value) : FailNoOverload();
    }
  }
  return failure.is(Kind::kError) ? failure : Value(!deciding);
}

Value Machine::EvalConditional(const Step& step) {
  Value condition = Eval(step.children[0]);
  if (condition.is(Kind::kBool)) return Eval(step.children[condition.AsBool() ? 1 : 2]);
  return condition.is(Kind::kError) ? condition : FailNoOverload();
}

Value Machine::EvalEquality(const Step& step) {
  Value left = Eval(step.children[0]);
  Value right = Eval(step.children[1]);
  if (left.is(Kind::kError)) return left;
  if (right.is(Kind::kError)) return right;
  const bool equality = step.op == Op::kEqual;
  // Kubernetes' own types cannot be compared with others.
  if (left.is(Kind::kObject) && TypeName(left) != TypeName(right)) {
    return equality ? FailNoOverload() : Value(true);
  }
  return Value(Equal(left, right) == equality);
}

Value Machine::EvalIn(const Step& step) {
  Value element = Eval(step.children[0]);
  Value container = Eval(step.children[1]);
  if (element.is(Kind::kError)) return element;
  if (container.is(Kind::kError)) return container;
  if (container.is(Kind::kMap)) return Value(container.AsMap().Find(element).has_value());
  if (!container.is(Kind::kList)) return FailNoOverload();
  const bool absent = container.AsList().ForEach(
      [&](const Value& candidate) { return !exhausted() && !Equal(element, candidate); });
  return Value(!absent);
}

Value Machine::EvalCall(const Step& step) {
  SmallVector<Value, 3> arguments;
  for (const Step& child : step.children) {
    arguments.push_back(Eval(child));
    if (arguments.back().is(Kind::kError)) return arguments.back();
  }
  const FunctionEntry& entry = *step.function;
  return entry.function(Call{*this, entry.name, arguments, step.regex.get()});
}

Value Machine::EvalList(const Step& step) {
  Values elements;
  elements.reserve(step.children.size());
  for (std::size_t i = 0; i < step.children.size(); ++i) {
    Value element = Eval(step.children[i]);
    if (element.is(Kind::kError)) return element;
    if (!step.optional_entry.empty() && step.optional_entry[i]) {
      if (!element.is(Kind::kOptional)) {
        return Value::Failure("cannot initialize optional list element from non-optional value " +
                              ToText(element));
      }
      if (element.AsOptional() == nullptr) continue;
      element = Value(*element.AsOptional());
    }
    elements.push_back(std::move(element));
  }
  return MakeList(std::move(elements));
}

Value Machine::EvalMap(const Step& step) {
  Entries entries;
  entries.reserve(step.children.size() / 2);
  for (std::size_t i = 0; i + 1 < step.children.size(); i += 2) {
    Value key = Eval(step.children[i]);
    if (key.is(Kind::kError)) return key;
    Value value = Eval(step.children[i + 1]);
    if (value.is(Kind::kError)) return value;
    if (!IsKey(key)) {
      return Value::Failure("unsupported key type: " + std::string(TypeName(key)));
    }
    if (!step.optional_entry.empty() && step.optional_entry[i / 2]) {
      if (!value.is(Kind::kOptional)) {
        return Value::Failure("cannot initialize optional entry '" + ToText(key) +
                              "' from non-optional value " + ToText(value));
      }
      if (value.AsOptional() == nullptr) continue;
      value = Value(*value.AsOptional());
    }
    entries.emplace_back(std::move(key), std::move(value));
  }
  if (!Allocate((entries.size() + 1) * sizeof(Entry))) return Exhausted();
  return Value::Map(std::move(entries));
}

Value Machine::EvalBind(const Step& step) {
  Value value = Eval(step.children[0]);
  if (value.is(Kind::kError)) return value;
  slots_[static_cast<std::size_t>(step.slot)] = std::move(value);
  return Eval(step.children[1]);
}

Value Machine::EvalOptionalMap(const Step& step) {
  Value target = Eval(step.children[0]);
  if (target.is(Kind::kError)) return target;
  if (!target.is(Kind::kOptional)) {
    return Value::Failure("no such overload: hasValue(" + std::string(TypeName(target)) + ")");
  }
  if (target.AsOptional() == nullptr) return target;
  slots_[static_cast<std::size_t>(step.slot)] = *target.AsOptional();
  Value result = Eval(step.children[1]);
  if (result.is(Kind::kError) || step.op == Op::kOptionalFlatMap) return result;
  return Value::Optional(std::move(result));
}

Value Machine::EvalOptionalOr(const Step& step) {
  Value target = Eval(step.children[0]);
  if (target.is(Kind::kError)) return target;
  // cel-go does the same: a value that is no optional stands for itself.
  if (!target.is(Kind::kOptional)) return target;
  const bool unwrap = step.op == Op::kOptionalOrValue;
  if (target.AsOptional() != nullptr) return unwrap ? Value(*target.AsOptional()) : target;
  Value other = Eval(step.children[1]);
  if (other.is(Kind::kError) || unwrap || other.is(Kind::kOptional)) return other;
  return FailNoOverload();
}

// The macros that run over a list or a map.

template <typename Visit>
void Machine::Loop(const Step& step, const Value& range, Visit&& visit) {
  Value& first = slots_[static_cast<std::size_t>(step.slot)];
  Value* const second =
      step.second_slot < 0 ? nullptr : &slots_[static_cast<std::size_t>(step.second_slot)];
  if (range.is(Kind::kMap)) {
    range.AsMap().ForEach([&](const Value& key, const Value& value) {
      first = key;
      if (second != nullptr) *second = value;
      return Charge(1) && visit(key);
    });
    return;
  }
  std::int64_t index = 0;
  range.AsList().ForEach([&](const Value& element) {
    first = second == nullptr ? element : Value::Int(index);
    if (second != nullptr) *second = element;
    ++index;
    return Charge(1) && visit(element);
  });
}

Value Machine::EvalLoop(const Step& step) {
  Value range = Eval(step.children[0]);
  if (range.is(Kind::kError)) return range;
  const bool list = range.is(Kind::kList);
  if (!list && (!range.is(Kind::kMap) || step.op == Op::kSortBy)) {
    return Value::Failure("got '" + std::string(TypeName(range)) + "', expected iterable type");
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

// Evaluates all() and exists() like && and || over the elements.
Value Machine::EvalAny(const Step& step, const Value& range) {
  const bool deciding = step.op == Op::kExists;
  Value failure;
  bool decided = false;
  Loop(step, range, [&](const Value&) {
    Value value = Eval(step.children[1]);
    if (value.is(Kind::kBool)) {
      decided = value.AsBool() == deciding;
    } else if (!failure.is(Kind::kError)) {
      failure = value.is(Kind::kError) ? std::move(value) : FailNoOverload();
    }
    return !decided;
  });
  if (decided) return Value(deciding);
  return failure.is(Kind::kError) ? failure : Value(!deciding);
}

Value Machine::EvalExistsOne(const Step& step, const Value& range) {
  std::int64_t count = 0;
  Value failure;
  Loop(step, range, [&](const Value&) {
    Value value = Eval(step.children[1]);
    if (!value.is(Kind::kBool)) {
      failure = value.is(Kind::kError) ? std::move(value) : FailNoOverload();
      return false;
    }
    count += value.AsBool() ? 1 : 0;
    return true;
  });
  return failure.is(Kind::kError) ? failure : Value(count == 1);
}

bool Machine::Passes(const Step& step, Value& failure) {
  if (step.children.size() < 3) return true;
  Value value = Eval(step.children[2]);
  if (value.is(Kind::kBool)) return value.AsBool();
  failure = value.is(Kind::kError) ? std::move(value) : FailNoOverload();
  return false;
}

Value Machine::EvalMapList(const Step& step, const Value& range) {
  Values elements;
  Value failure;
  Loop(step, range, [&](const Value&) {
    if (Passes(step, failure)) {
      Value element = Eval(step.children[1]);
      if (element.is(Kind::kError)) {
        failure = std::move(element);
      } else if (Allocate(sizeof(Value))) {
        elements.push_back(std::move(element));
      }
    }
    return !failure.is(Kind::kError);
  });
  return failure.is(Kind::kError) ? failure : MakeList(std::move(elements));
}

Value Machine::EvalFilter(const Step& step, const Value& range) {
  Values elements;
  Value failure;
  Loop(step, range, [&](const Value& element) {
    Value value = Eval(step.children[1]);
    if (!value.is(Kind::kBool)) {
      failure = value.is(Kind::kError) ? std::move(value) : FailNoOverload();
      return false;
    }
    if (value.AsBool() && Allocate(sizeof(Value))) elements.push_back(element);
    return true;
  });
  return failure.is(Kind::kError) ? failure : MakeList(std::move(elements));
}

// Adds the entries of the map that a step has produced. Null, or a failure.
Value Machine::AddEntries(const Value& produced, Entries& entries) {
  if (!produced.is(Kind::kMap)) return FailNoOverload();
  Value failure;
  produced.AsMap().ForEach([&](const Value& key, const Value& value) {
    const bool twice = std::any_of(entries.begin(), entries.end(), [&](const Entry& entry) {
      return Charge(1) && CompareKeys(entry.first, key) == 0;
    });
    if (twice) failure = Value::Failure("insert failed: key " + ToText(key) + " already exists");
    if (!twice && Allocate(sizeof(Entry))) entries.emplace_back(key, value);
    return !twice && !exhausted();
  });
  return failure;
}

Value Machine::EvalTransformMap(const Step& step, const Value& range) {
  Entries entries;
  Value failure;
  Loop(step, range, [&](const Value&) {
    if (!Passes(step, failure)) return !failure.is(Kind::kError);
    Value value = Eval(step.children[1]);
    if (value.is(Kind::kError)) {
      failure = std::move(value);
    } else if (step.op == Op::kTransformEntry) {
      failure = AddEntries(value, entries);
    } else if (Allocate(sizeof(Entry))) {
      entries.emplace_back(slots_[static_cast<std::size_t>(step.slot)], std::move(value));
    }
    return !failure.is(Kind::kError);
  });
  return failure.is(Kind::kError) ? failure : Value::Map(std::move(entries));
}

Value Machine::EvalSortBy(const Step& step, const Value& range) {
  Entries keyed;
  Value failure;
  Loop(step, range, [&](const Value& element) {
    Value key = Eval(step.children[1]);
    if (key.is(Kind::kError)) {
      failure = std::move(key);
    } else if (Allocate(sizeof(Entry))) {
      keyed.emplace_back(std::move(key), element);
    }
    return !failure.is(Kind::kError);
  });
  if (failure.is(Kind::kError)) return failure;
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
