// integrations/slice_ungating.h — chooses the pods of an elastic job to ungate: as many of each pod
// set as the admitted slice has.
//
// A pod is of the pod set that its label kueue.x-k8s.io/podset names. Pods without the gate
// kueue.x-k8s.io/elastic-job take room until they have ended; gated ones get the rest of the room,
// the lowest names first.
//
// Threads: pure functions. Errors: none; a pod without room stays gated.
// Source: Kueue pkg/controller/workloadslicing (the ungater).
#pragma once

#include <memory>
#include <vector>

#include "api/pod.h"
#include "api/workload.h"

namespace berth::integrations {

// A pod to ungate, with the additions of the admission checks.
struct SliceUngating {
  std::shared_ptr<const api::Pod> pod;
  api::StringMap node_selector;
  api::StringMap annotations;
};

// The slice of the job whose size counts: the newest that holds quota, is not evicted, not finished
// and not replaced. Null: none is admitted.
const api::Workload* AdmittedSlice(const std::vector<std::shared_ptr<const api::Workload>>& slices);

bool IsElasticGated(const api::Pod& pod);

// `pods`: the pods of the job, in any order. Pods to which the admission checks cannot add, because
// they have other values, stay gated.
std::vector<SliceUngating> PlanSliceUngating(const api::Workload& slice,
                                             std::vector<std::shared_ptr<const api::Pod>> pods);

}  // namespace berth::integrations
