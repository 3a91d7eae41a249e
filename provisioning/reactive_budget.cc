// What a check of reactive capacity does about the day's budget of a LocalQueue (spend.h): an
// attempt is charged before the job, or its placeholders, may start.
#include <algorithm>
#include <chrono>

#include "api/pod_phase.h"
#include "provisioning/check_decider.h"
#include "provisioning/late_pods.h"
#include "provisioning/reactive_decider.h"
#include "provisioning/run_duration.h"
#include "provisioning/spend.h"

namespace berth::provisioning {
namespace {

using api::ProvisioningMemory;

WallTime ReactiveQuotaSince(const api::Workload& workload) {
  const api::Condition* reserved =
      api::FindCondition(workload.status.conditions, api::kQuotaReserved);
  return reserved == nullptr ? WallTime{} : reserved->last_transition_time;
}

// The id of the attempt under way, as long as no node is known to have come.
std::string OpenReactiveId(const api::Workload& workload, const std::string& check,
                           const ProvisioningMemory& memory) {
  return ChargeId(workload, check, memory.counted_attempt + 1);
}

// The id of the nodes that have come since the quota was reserved.
std::string KeptReactiveId(const api::Workload& workload, const std::string& check) {
  const auto since =
      std::chrono::floor<std::chrono::seconds>(ReactiveQuotaSince(workload).time_since_epoch());
  return KeptChargeId(workload.meta.uid + "/" + check + "/" + std::to_string(since.count()));
}

// The charge of that id, of whatever day; nullopt: there is none.
std::optional<Charge> FindCharge(const SpendMemory& spend, const std::string& queue,
                                 const std::string& id) {
  for (const auto& [day, of_day] : spend.Of(queue)) {
    const auto found = of_day.charges.find(id);
    if (found != of_day.charges.end()) return Charge{queue, day, id, found->second};
  }
  return std::nullopt;
}

// Whether charges of the day were added up: that of a job that has started may be among them.
bool IsFolded(const SpendMemory& spend, const std::string& queue, std::int64_t day) {
  const auto found = spend.Of(queue).find(day);
  return found != spend.Of(queue).end() && found->second.folded != 0;
}

// Whether some pod of the attempt has a node, or had one.
bool SomeNodeCame(const ReactiveSituation& situation, const ProvisioningMemory& memory) {
  const WallTime counted = memory.outcomes.empty() ? WallTime{} : memory.outcomes.back().at;
  const WallTime since = ReactiveQuotaSince(*situation.workload);
  const auto came = [&](const api::Pod* pod) {
    if (pod->spec.node_name.empty()) return false;
    if (!pod->meta.deletion_timestamp && !api::HasEnded(*pod)) return true;
    // A pod that came and ended between two decisions; not one that an earlier attempt has left.
    if (pod->meta.creation_timestamp >= since && pod->meta.creation_timestamp > counted) {
      return true;
    }
    const api::Condition* lost = LostItsNode(*pod);
    return lost != nullptr && lost->last_transition_time >= since &&
           lost->last_transition_time > counted;
  };
  return std::any_of(situation.pods.begin(), situation.pods.end(), came) ||
         std::any_of(situation.placeholders.begin(), situation.placeholders.end(), came);
}

}  // namespace

VetoInput AboutReactiveSteps(const ReactiveSituation& situation, const std::string& check,
                             const api::ProvisioningPolicy& policy,
                             const ProvisioningMemory& memory, WallTime now) {
  const api::Workload& workload = *situation.workload;
  VetoInput about{policy,
                  ReactiveConfig(),
                  workload,
                  situation.flavors,
                  situation.stock,
                  now,
                  RunLimit(&policy, workload, situation.job_deadline, situation.past_run),
                  situation.spend,
                  {}};
  about.own_charges.insert(OpenReactiveId(workload, check, memory));
  if (NeedsCapacity(workload)) about.own_charges.insert(KeptReactiveId(workload, check));
  about.memory = &memory;
  return about;
}

std::vector<Charge> SettledReactiveCharges(const ReactiveSituation& situation,
                                           const std::string& check,
                                           const ProvisioningMemory& memory) {
  if (situation.spend == nullptr) return {};
  const api::Workload& workload = *situation.workload;
  auto open =
      FindCharge(*situation.spend, QueueOf(workload), OpenReactiveId(workload, check, memory));
  if (!open) return {};
  const Charge kept{open->queue, open->day, KeptReactiveId(workload, check), open->nano_dollars};
  open->nano_dollars = 0;
  if (!SomeNodeCame(situation, memory)) return {*open};
  return {*open, kept};
}

// Whether the charge of the attempt is still to be kept for good: a node has come.
bool ReactiveDecider::SettlesCharge() {
  if (situation_.spend == nullptr || !SomeNodeCame(situation_, memory_)) return false;
  auto charges = SettledReactiveCharges(situation_, input_.name, memory_);
  for (Charge& each : charges) out_.charges.push_back(std::move(each));
  return !charges.empty();
}

// Whether the charge of the attempt, which has ended without nodes, is still to be taken back.
bool ReactiveDecider::TakesChargeBack() {
  auto charges = SettledReactiveCharges(situation_, input_.name, memory_);
  for (Charge& each : charges) out_.charges.push_back(std::move(each));
  return !charges.empty();
}

// Whether the cost of the attempt is still to be recorded: that is done, and written, before the
// job may start. A job that has started is charged where a budget was set on the day of its start.
bool ReactiveDecider::ChargesFirst() {
  const api::ProvisioningStep* step = plan_.current();
  if (step == nullptr || situation_.spend == nullptr || !policy_.max_cost_per_day) return false;
  if (before_.state == api::CheckState::kReady) {
    WallTime begun = before_.last_transition_time;
    if (!memory_.outcomes.empty()) begun = std::max(begun, memory_.outcomes.back().at);
    if (DayOf(begun) != DayOf(now_)) return false;
  }
  const api::Workload& workload = *situation_.workload;
  const std::string queue = QueueOf(workload);
  if (FindCharge(*situation_.spend, queue, KeptReactiveId(workload, input_.name))) return false;
  if (before_.state == api::CheckState::kReady && IsFolded(*situation_.spend, queue, DayOf(now_))) {
    return false;
  }
  const std::string id = OpenReactiveId(workload, input_.name, memory_);
  const auto cost = CostOf(*step, AboutSteps());
  if (!cost || cost->nano_dollars == 0) return false;
  const auto open = FindCharge(*situation_.spend, queue, id);
  Charge charge{queue, open ? open->day : DayOf(now_), id, cost->nano_dollars};
  if (situation_.spend->Knows(charge)) return false;
  out_.charges.push_back(std::move(charge));
  return true;
}

// Where the action is Warn, the job starts all the same, and an event says so once an attempt.
void ReactiveDecider::WarnOfBudget() {
  const api::ProvisioningStep* step = plan_.current();
  if (step == nullptr) return;
  if (policy_.budget_action != api::ProvisioningPolicy::BudgetAction::kWarn) return;
  if (const auto over = OverBudget(*step, AboutSteps())) {
    out_.actions.emplace_back(CheckEvent{"BudgetExceeded",
                                         input_.name + ": step " + step->name + " " + over->message,
                                         /*warning=*/true});
  }
}

}  // namespace berth::provisioning
