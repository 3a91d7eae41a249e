#include "admission/preemption/preemption_plans.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace berth::admission {
namespace {

constexpr Duration kLongestPause = std::chrono::hours(1);

void TakeFrom(Usage& amounts, const Usage& taken) {
  for (FlavorResourceAmount& item : amounts) {
    for (const FlavorResourceAmount& other : taken) {
      if (other.flavor_resource != item.flavor_resource) continue;
      item.amount = std::max<Amount>(0, api::SubtractAmounts(item.amount, other.amount));
    }
  }
}

bool HasSomeOf(const Usage& amounts, const Usage& wanted) {
  return std::any_of(amounts.begin(), amounts.end(), [&wanted](const auto& item) {
    return std::any_of(wanted.begin(), wanted.end(), [&item](const auto& other) {
      return other.amount > 0 && other.flavor_resource == item.flavor_resource;
    });
  });
}

// The plan `made` replaces `old`: more has to go than `old` said. What the victims of `old` have
// freed stays the preemptor's, as far as `asked` is more than what the victims of `made` free.
void KeepFreed(PreemptionPlan& made, PreemptionPlan& old, Usage asked) {
  for (const PreemptionPlan::Freed& freed : made.freed) TakeFrom(asked, freed.usage);
  for (PreemptionPlan::Freed& freed : old.freed) {
    const bool known =
        std::any_of(made.freed.begin(), made.freed.end(),
                    [&freed](const auto& other) { return other.victim == freed.victim; });
    if (known || !HasSomeOf(freed.usage, asked)) continue;
    TakeFrom(asked, freed.usage);
    made.freed.push_back(std::move(freed));
  }
}

}  // namespace

// A preemptor keeps the freed quota until it is admitted or the plan cannot fit: Preempt, then Fit.
void PreemptionPlans::Keep(WorkloadRecord& kept, const Decision& decision, WallTime now) {
  const OwnRules& rules = context_.own_rules;
  switch (decision.outcome) {
    case Outcome::kPreempting:
      for (const Victim& victim : decision.victims) {
        if (victim.ongoing || !rules.no_preemption_in_return) continue;
        if (victim.reason == PreemptionReason::kTimeSliceExpired) continue;  // it has its next turn
        context_.history.Note(decision.workload, victim.workload);
      }
      if (rules.preemptor_keeps_what_it_freed) Make(kept, decision, now);
      return;
    case Outcome::kDeferred:
    case Outcome::kSkipped: return;
    default:
      // Other workloads may wait for the quota of the plan.
      if (kept.plan == nullptr) return;
      context_.wakes.AddTreeOf(decision.cluster_queue);
      kept.plan.reset();
      Changed(kept);
  }
}

void PreemptionPlans::Make(WorkloadRecord& kept, const Decision& decision, WallTime now) {
  if (kept.pause != nullptr && now >= kept.pause->from && now < kept.pause->until) return;
  auto made = std::make_unique<PreemptionPlan>(PlanOf(decision));
  made->progress_at = now;
  const std::size_t known_freed = kept.plan == nullptr ? 0 : kept.plan->freed.size();
  if (decision.keeps_plan && kept.plan != nullptr) {
    made->freed = std::move(kept.plan->freed);
    made->progress_at = kept.plan->progress_at;
    made->still_held = kept.plan->still_held;
  }
  for (const WorkloadId victim : made->victims) {
    const Reservation* held = context_.state.reservation(victim);
    const bool known = std::any_of(made->freed.begin(), made->freed.end(),
                                   [victim](const auto& freed) { return freed.victim == victim; });
    if (held == nullptr || known) continue;
    made->freed.push_back(
        {victim, held->object->meta.uid, held->cluster_queue, held->usage, held->placed});
  }
  if (!decision.keeps_plan && kept.plan != nullptr) {
    KeepFreed(*made, *kept.plan, decision.assignment.usage);
  }
  const bool same = decision.keeps_plan && kept.plan != nullptr &&
                    made->freed.size() == known_freed &&
                    SameChoice(made->assignment, kept.plan->assignment);
  kept.plan = std::move(made);
  if (!same) Changed(kept);
}

// Each victim counts one beside its quota, which may be zero.
Amount PreemptionPlans::HeldByVictims(const PreemptionPlan& plan) const {
  Amount sum = 0;
  for (const PreemptionPlan::Freed& freed : plan.freed) {
    const Reservation* held = context_.state.reservation(freed.victim);
    if (held == nullptr || !held->evicted) continue;
    sum = api::AddAmounts(sum, 1);
    for (const FlavorResourceAmount& item : held->usage) sum = api::AddAmounts(sum, item.amount);
  }
  return sum;
}

Duration PreemptionPlans::PauseAfter(int count) const {
  Duration length = std::min(context_.timeout, kLongestPause);
  for (int i = 0; i < count && length < kLongestPause; ++i) {
    length = std::min(length * 2, kLongestPause);
  }
  return length;
}

void PreemptionPlans::EndWithoutProgress(WorkloadRecord& head, ClusterQueueId queue, WallTime now) {
  PreemptionPlan& plan = *head.plan;
  const Amount held = HeldByVictims(plan);
  if (held != plan.still_held || now < plan.progress_at) {  // or the clock was set back
    plan.still_held = held;
    plan.progress_at = now;
    Changed(head);
    return;
  }
  if (now - plan.progress_at < context_.timeout) return;
  if (head.pause == nullptr) head.pause = std::make_unique<PlanPause>();
  PlanPause& pause = *head.pause;
  pause.from = now;
  pause.until = now + PauseAfter(pause.count);
  ++pause.count;
  head.plan.reset();
  Changed(head);
  context_.wakes.AddTreeOf(queue);
}

void PreemptionPlans::Forget(WorkloadRecord& changed) {
  changed.plan.reset();
  changed.pause.reset();
}

}  // namespace berth::admission
