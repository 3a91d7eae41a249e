#include "admission/policies/restart_costs.h"

#include <algorithm>
#include <string>
#include <vector>

#include "api/checkpoint.h"
#include "api/condition.h"
#include "api/last_run.h"
#include "api/pod.h"
#include "api/reasons.h"
#include "base/median.h"
#include "base/seed.h"

namespace berth::admission {
namespace {

template <typename Run>
void AddTo(std::deque<Run>& runs, Run run) {
  if (runs.size() == RestartCosts::kMostRuns) runs.pop_front();
  runs.push_back(run);
}

// Evictions by checks come before the job runs.
std::int64_t StopsOf(const api::Workload& workload) {
  std::int64_t stops = 0;
  for (const api::EvictionCount& each : workload.status.evictions) {
    if (each.reason != api::kAdmissionCheckReason) stops += each.count;
  }
  return stops;
}

}  // namespace

std::uint64_t RestartCosts::KindOf(const api::Workload& workload) {
  if (!api::ClaimsCheckpoints(workload.meta.annotations)) return 0;
  std::string text = workload.meta.namespace_name + "/" + workload.spec.queue_name;
  for (const api::PodSet& pods : workload.spec.pod_sets) {
    text += "\n" + std::to_string(pods.count);
    for (const api::Container& container : pods.pod_template.spec.containers) {
      text += " " + container.image;
    }
    for (const auto& [resource, amount] : api::PodRequests(pods.pod_template.spec)) {
      text += " " + resource + "=" + std::to_string(amount);
    }
  }
  return std::max<std::uint64_t>(SeedFrom(text), 1);
}

void RestartCosts::NoteEnd(const api::Workload& finished) {
  const std::uint64_t number = KindOf(finished);
  if (number == 0) return;
  const std::optional<Duration> last = api::LastRunOf(finished);
  if (!last) return;
  const api::Condition* end = api::FindCondition(finished.status.conditions, api::kFinished);
  if (end->reason != api::kSucceeded) return;
  const std::chrono::seconds before(finished.status.accumulated_past_execution_time_seconds);
  const std::int64_t stops = StopsOf(finished);
  // Without the time of its earlier runs a restarted job says nothing.
  if ((stops > 0) != (before.count() > 0)) return;
  if (kinds_.size() >= kMostKinds && !kinds_.contains(number)) return;
  Kind& kind = kinds_[number];
  if (stops == 0) {
    AddTo(kind.whole, *last);
  } else {
    AddTo(kind.restarted, Restarted{before, before + *last, stops});
  }
  kind.cost = CostOf(kind);
}

std::optional<StopCost> RestartCosts::CostOf(const Kind& kind) {
  if (kind.whole.size() < kFewestWhole || kind.restarted.size() < kFewestRestarted) {
    return std::nullopt;
  }
  const Duration whole = MedianOf(std::vector(kind.whole.begin(), kind.whole.end()));
  StopCost cost;
  std::vector<Duration> lost;
  for (const Restarted& run : kind.restarted) {
    lost.push_back(std::clamp(run.in_all - whole, Duration::zero(), run.before) / run.stops);
    cost.stops += run.stops;
  }
  cost.lost = MedianOf(std::move(lost));
  return cost;
}

std::optional<StopCost> RestartCosts::Of(std::uint64_t kind) const {
  const auto known = kinds_.find(kind);
  return known == kinds_.end() ? std::nullopt : known->second.cost;
}

}  // namespace berth::admission
