#include "integrations/slice_ungating.h"

#include <algorithm>
#include <cstdint>

#include "api/labels.h"
#include "api/pod_phase.h"
#include "api/reasons.h"
#include "integrations/job_slices.h"

namespace berth::integrations {
namespace {

bool IsOfPodSet(const api::Pod& pod, const std::string& pod_set) {
  const std::string* name = api::FindValue(pod.meta.labels, api::kPodSetLabel);
  return name != nullptr && *name == pod_set;
}

// False: `have` has another value.
bool AddMissing(const api::StringMap& have, const api::StringMap& more, api::StringMap& added) {
  for (const auto& [key, value] : more) {
    const std::string* known = api::FindValue(have, key);
    if (known != nullptr && *known != value) return false;
    if (known == nullptr) added[key] = value;
  }
  return true;
}

// The annotations that admission checks may add to a pod that exists.
api::StringMap OfProvisioning(const api::StringMap& annotations) {
  api::StringMap kept;
  for (const char* key :
       {api::kConsumeProvisioningRequestAnnotation, api::kProvisioningClassAnnotation}) {
    if (const std::string* value = api::FindValue(annotations, key)) kept[key] = *value;
  }
  return kept;
}

bool AddToPod(const api::Workload& slice, const std::string& pod_set, SliceUngating& one) {
  for (const api::AdmissionCheckState& check : slice.status.admission_checks) {
    for (const api::PodSetUpdate& update : check.pod_set_updates) {
      if (update.name != pod_set) continue;
      if (!AddMissing(one.pod->spec.node_selector, update.node_selector, one.node_selector) ||
          !AddMissing(one.pod->meta.annotations, OfProvisioning(update.annotations),
                      one.annotations)) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

const api::Workload* AdmittedSlice(
    const std::vector<std::shared_ptr<const api::Workload>>& slices) {
  std::vector<const api::Workload*> unfinished;
  for (const auto& each : slices) {
    if (!api::IsTrue(each->status.conditions, api::kFinished)) unfinished.push_back(each.get());
  }
  const api::Workload* head = SortSlices(std::move(unfinished)).head;
  return head != nullptr && api::IsTrue(head->status.conditions, api::kAdmitted) ? head : nullptr;
}

bool IsElasticGated(const api::Pod& pod) {
  const std::vector<std::string>& gates = pod.spec.scheduling_gates;
  return std::find(gates.begin(), gates.end(), api::kElasticJobGate) != gates.end();
}

std::vector<SliceUngating> PlanSliceUngating(const api::Workload& slice,
                                             std::vector<std::shared_ptr<const api::Pod>> pods) {
  const bool any_waits =
      std::any_of(pods.begin(), pods.end(), [](const auto& pod) { return IsElasticGated(*pod); });
  if (!any_waits) return {};
  std::sort(pods.begin(), pods.end(),
            [](const auto& a, const auto& b) { return a->meta.name < b->meta.name; });
  std::vector<SliceUngating> plan;
  for (const api::PodSet& pod_set : slice.spec.pod_sets) {
    std::int64_t room = pod_set.count;
    for (const auto& pod : pods) {
      if (IsOfPodSet(*pod, pod_set.name) && !api::HasEnded(*pod) && !IsElasticGated(*pod)) --room;
    }
    for (const auto& pod : pods) {
      if (room <= 0) break;
      if (!IsOfPodSet(*pod, pod_set.name) || api::HasEnded(*pod) || !IsElasticGated(*pod) ||
          pod->meta.deletion_timestamp) {
        continue;
      }
      SliceUngating one{pod, {}, {}};
      if (!AddToPod(slice, pod_set.name, one)) continue;
      plan.push_back(std::move(one));
      --room;
    }
  }
  return plan;
}

}  // namespace berth::integrations
