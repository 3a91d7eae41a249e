#include "tests/faults/gatekeeper.h"

#include "local/cluster/objects/fields.h"
#include "scenarios/actions.h"
#include "scenarios/lookup.h"

namespace berth::sim {
namespace {

constexpr Duration kAgain = std::chrono::seconds(5);

}  // namespace

void Gatekeeper::See(const WorkloadFacts& workload) {
  if (!workload.reserved || workload.finished) return;
  for (const auto& [check, state] : workload.checks) {
    if (check.rfind("gate", 0) != 0 || state != "Pending" ||
        !asked_.insert({workload.uid, check}).second) {
      continue;
    }
    AnswerLater(std::chrono::milliseconds(random_.Below(8000)),
                {workload.key, workload.uid, check});
  }
}

void Gatekeeper::AnswerLater(Duration delay, const Question& question) {
  world_.executor().PostAfter(delay, [this, question, alive = std::weak_ptr(alive_)] {
    if (!alive.expired()) Answer(question);
  });
}

void Gatekeeper::Answer(const Question& question) {
  asked_.erase({question.uid, question.check});
  const std::string workload = Show(question.workload);
  const local::Object now = scenarios::WorkloadOf(world_, workload);
  if (now == nullptr || local::cluster::UidOf(*now) != question.uid ||
      !local::cluster::ConditionIs(*now, "QuotaReserved", "True")) {
    return;
  }
  const std::uint64_t dice = random_.Below(100);
  std::string answer = "Ready \"it may\"";
  if (!is_kind_ && dice < 15) answer = "Retry \"not now\" retry-after=10";
  if (!is_kind_ && dice >= 97) answer = "Rejected \"never\"";
  const auto script = scenarios::ParseScript("# name: x\nanswer " + question.check + " of " +
                                             workload + " " + answer + "\n");
  if (!script) return;
  const auto done = scenarios::Act(world_, script->steps.front());
  // While the controllers are down their webhooks refuse every write.
  if (done && !*done && asked_.insert({question.uid, question.check}).second) {
    AnswerLater(kAgain, question);
  }
}

}  // namespace berth::sim
