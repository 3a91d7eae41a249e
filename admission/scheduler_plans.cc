// What the scheduler remembers of preemptions from cycle to cycle.
#include "admission/scheduler.h"

namespace berth::admission {

// A preemptor keeps what it frees until it is admitted or cannot have it: Preempt, wait, Fit.
void Scheduler::KeepPlan(Record& kept, const Decision& decision) {
  const OwnRules& rules = config_.own_rules;
  switch (decision.outcome) {
    case Outcome::kPreempting:
      for (const Victim& victim : decision.victims) {
        if (victim.ongoing || !rules.no_preemption_in_return) continue;
        history_.Note(decision.workload, victim.workload);
      }
      if (!rules.preemptor_keeps_what_it_freed) return;
      if (kept.plan == nullptr) kept.plan = std::make_unique<PreemptionPlan>();
      *kept.plan = PlanOf(decision);
      return;
    case Outcome::kDeferred:
    case Outcome::kSkipped: return;
    default:
      // Others may have been told to wait for what it kept.
      if (kept.plan != nullptr) RequestFor(decision.cluster_queue);
      kept.plan.reset();
  }
}

}  // namespace berth::admission
