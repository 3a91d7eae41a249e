#include "integrations/pods/orphaned_pods.h"

#include <algorithm>
#include <string>
#include <utility>

#include "api/labels.h"
#include "api/pod_groups.h"
#include "api/reasons.h"
#include "integrations/workload_build.h"

namespace berth::integrations {
namespace {

bool WaitsForAdmission(const ParentedPod& pod) {
  const auto& gates = pod.gates;
  return !pod.ended && !pod.meta.deletion_timestamp &&
         std::find(gates.begin(), gates.end(), api::kAdmissionGate) != gates.end();
}

// Whether a Workload will admit the pod's group.
bool HasWorkload(const ParentedPod& pod, const std::vector<api::Workload>& workloads) {
  const std::string* name = api::FindValue(pod.meta.annotations, api::kPodGroupNameLabel);
  if (name == nullptr || pod.meta.labels.count(api::kManagedLabel) == 0) return false;
  return std::any_of(workloads.begin(), workloads.end(), [name](const api::Workload& each) {
    return each.meta.name == *name && !api::IsTrue(each.status.conditions, api::kFinished);
  });
}

}  // namespace

void LetOrphansGo(const std::vector<ParentedPodPtr>& orphans,
                  const std::vector<api::Workload>& workloads, JobPlan& plan) {
  MarkPods marks;
  for (const ParentedPodPtr& pod : orphans) {
    if (!WaitsForAdmission(*pod) || HasWorkload(*pod, workloads)) continue;
    marks.pods.push_back({.pod = pod->meta.name, .ungate = true});
  }
  if (!marks.pods.empty()) plan.actions.emplace_back(std::move(marks));
}

JobPlan PlanMissingParent(const std::vector<ParentedPodPtr>& orphans,
                          const std::vector<api::Workload>& workloads, WallTime now) {
  JobPlan plan = PlanMissingJob(workloads, now);
  for (const api::Workload& workload : workloads) {
    if (!LostParentOf(workload.meta) || !workload.meta.owner_references.empty() ||
        workload.meta.deletion_timestamp ||
        api::IsTrue(workload.status.conditions, api::kFinished)) {
      continue;
    }
    plan.actions.emplace_back(EndedWithoutOwner(workload, now));
  }
  LetOrphansGo(orphans, workloads, plan);
  return plan;
}

}  // namespace berth::integrations
