// cel/internal/machine.h — one evaluation of a plan, with its limits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cel/internal/plan.h"
#include "cel/program.h"

namespace berth::cel {

class Machine {
 public:
  Machine(const Plan& plan, const Activation& activation, std::uint64_t budget);

  Value Run();
  std::uint64_t budget() const { return budget_; }

  // Takes `units` from the budget. false: nothing is left, and the evaluation has failed.
  bool Charge(std::uint64_t units);
  // Takes the cost of work on `bytes` of text: a unit for ten bytes.
  bool ChargeText(std::size_t bytes) { return Charge(bytes / 10 + 1); }
  // Takes `bytes` of memory for a new value, and the work to fill it.
  bool Allocate(std::size_t bytes);
  bool exhausted() const { return budget_ == 0; }
  Value Exhausted() const;

  bool Equal(const Value& a, const Value& b);
  const Limits& limits() const { return plan_.limits; }

  // New values, charged.
  Value MakeString(std::string text);
  Value MakeList(Values elements);

 private:
  Value Eval(const Step& step);
  Value EvalVariable(const Step& step);
  Value EvalSelect(const Step& step);
  Value EvalOptionalSelect(const Step& step);
  Value EvalHas(const Step& step);
  Value EvalIndex(const Step& step);
  Value EvalLogic(const Step& step);
  Value EvalConditional(const Step& step);
  Value EvalEquality(const Step& step);
  Value EvalIn(const Step& step);
  Value EvalCall(const Step& step);
  Value EvalList(const Step& step);
  Value EvalMap(const Step& step);
  Value EvalBind(const Step& step);
  Value EvalOptionalMap(const Step& step);
  Value EvalOptionalOr(const Step& step);

  // Loops: comprehensions and their short forms.
  Value EvalLoop(const Step& step);
  Value EvalAny(const Step& step, const Value& range);
  Value EvalExistsOne(const Step& step, const Value& range);
  Value EvalMapList(const Step& step, const Value& range);
  Value EvalFilter(const Step& step, const Value& range);
  Value EvalTransformMap(const Step& step, const Value& range);
  Value EvalSortBy(const Step& step, const Value& range);
  Value AddEntries(const Value& produced, Entries& entries);
  // Calls visit(element) with the locals set, until it returns false.
  template <typename Visit>
  void Loop(const Step& step, const Value& range, Visit&& visit);
  // Whether the filter (children[2]) lets the element pass; a failure is stored in `failure`.
  bool Passes(const Step& step, Value& failure);

  const Plan& plan_;
  std::vector<Value> slots_;  // locals
  std::vector<const Value*> variables_;
  std::uint64_t budget_;
  std::size_t memory_left_;
  bool out_of_memory_ = false;
};

Value FailNoOverload();  // "no such overload"
Value FailNoKey(const Value& key);
Value FailNoKey(std::string_view key);

}  // namespace berth::cel
