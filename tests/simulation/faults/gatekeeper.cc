#include "tests/simulation/faults/gatekeeper.h"

#include "local/cluster/fields.h"
#include "tests/scenarios/actions.h"
#include "tests/scenarios/lookup.h"

namespace berth::sim {
namespace {

constexpr Duration kAgain = std::chrono::seconds(5);

}  // namespace

void Gatekeeper::See(const WorkloadFacts& workload) {
  const auto gate = workload.checks.find("gate");
  if (gate == workload.checks.end() || gate->second != "Pending" || !workload.reserved ||
      workload.finished || !asked_.insert(workload.uid).second) {
    return;
  }
  AnswerLater(std::chrono::milliseconds(random_.Below(8000)), workload.key, workload.uid);
}

void Gatekeeper::AnswerLater(Duration delay, const Key& workload, const std::string& uid) {
  world_.executor().PostAfter(delay, [this, workload, uid, alive = std::weak_ptr(alive_)] {
    if (!alive.expired()) Answer(workload, uid);
  });
}

void Gatekeeper::Answer(const Key& workload, const std::string& uid) {
  asked_.erase(uid);
  const local::Object now = scenarios::WorkloadOf(world_, Show(workload));
  if (now == nullptr || local::cluster::UidOf(*now) != uid ||
      !local::cluster::ConditionIs(*now, "QuotaReserved", "True")) {
    return;
  }
  const std::uint64_t dice = random_.Below(100);
  std::string answer = "Ready \"it may\"";
  if (!is_kind_ && dice < 15) answer = "Retry \"not now\" retry-after=10";
  if (!is_kind_ && dice >= 97) answer = "Rejected \"never\"";
  const auto script =
      scenarios::ParseScript("# name: x\nanswer gate of " + Show(workload) + " " + answer + "\n");
  if (!script) return;
  const auto done = scenarios::Act(world_, script->steps.front());
  // While the controllers are away their webhooks refuse every write.
  if (done && !*done && asked_.insert(uid).second) AnswerLater(kAgain, workload, uid);
}

}  // namespace berth::sim
