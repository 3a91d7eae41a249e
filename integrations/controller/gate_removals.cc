#include "integrations/controller/gate_removals.h"

#include <algorithm>

#include "api/pod_groups.h"
#include "api/reasons.h"

namespace berth::integrations {
namespace {

constexpr char kGateRemoval[] = "kueue_pod_scheduling_gate_removal_seconds";

}  // namespace

// The admission's time has whole seconds, and may be of another clock: never below 0.
void ObserveGateRemoval(kube::Metrics& metrics, const api::Workload& workload,
                        const std::string& gate, WallTime now) {
  if (!workload.status.admission) return;
  const api::Condition* admitted = api::FindCondition(workload.status.conditions, api::kAdmitted);
  if (admitted == nullptr || admitted->status != api::ConditionStatus::kTrue) return;
  const Duration since = std::max<Duration>(now - admitted->last_transition_time, Duration::zero());
  const bool is_group = workload.meta.annotations.count(api::kIsGroupWorkloadAnnotation) != 0;
  metrics.Observe(kGateRemoval,
                  {{"name", gate},
                   {"cluster_queue", workload.status.admission->cluster_queue},
                   {"is_group", is_group ? "true" : "false"}},
                  std::chrono::duration<double>(since).count());
}

}  // namespace berth::integrations
