#include "admission/topology/node_inventory.h"

#include <algorithm>

#include "api/condition.h"
#include "api/labels.h"
#include "api/pod_phase.h"
#include "api/reasons.h"
#include "api/topology_annotations.h"

namespace berth::admission {
namespace {

bool HasOpenTopologyRequest(const api::Workload& workload) {
  return std::any_of(workload.status.admission->pod_set_assignments.begin(),
                     workload.status.admission->pod_set_assignments.end(),
                     [](const api::PodSetAssignment& assigned) {
                       return !assigned.topology_assignment &&
                              assigned.delayed_topology_request == "Pending";
                     });
}

}  // namespace

bool CountsForPlacement(const api::Node& node) {
  return !node.unschedulable && api::IsTrue(node.conditions, "Ready");
}

bool UsesNodeUnplanned(const api::Pod& pod) {
  if (pod.spec.node_name.empty() || api::HasEnded(pod)) return false;
  if (pod.meta.deletion_timestamp) return true;
  return !api::AsksForTopology(pod.meta.annotations);
}

bool HasUnhealthyAssignment(const api::Workload& workload) {
  const std::vector<std::string>& unhealthy = workload.status.unhealthy_nodes;
  if (unhealthy.empty() || !workload.status.admission) return false;
  for (const auto& assigned : workload.status.admission->pod_set_assignments) {
    if (!assigned.topology_assignment) continue;
    for (const auto& domain : assigned.topology_assignment->domains) {
      if (!domain.values.empty() &&
          std::find(unhealthy.begin(), unhealthy.end(), domain.values.back()) != unhealthy.end()) {
        return true;
      }
    }
  }
  return false;
}

bool NeedsSecondPass(const api::Workload& workload) {
  const std::vector<api::Condition>& conditions = workload.status.conditions;
  if (!workload.status.admission || !workload.spec.active ||
      !api::IsTrue(conditions, api::kQuotaReserved) || api::IsTrue(conditions, api::kFinished) ||
      api::IsTrue(conditions, api::kEvicted)) {
    return false;
  }
  if (HasUnhealthyAssignment(workload)) return true;
  const auto& checks = workload.status.admission_checks;
  return !checks.empty() && !api::IsTrue(conditions, api::kAdmitted) &&
         HasOpenTopologyRequest(workload) &&
         std::all_of(checks.begin(), checks.end(), [](const api::AdmissionCheckState& check) {
           return check.state == api::CheckState::kReady;
         });
}

}  // namespace berth::admission
