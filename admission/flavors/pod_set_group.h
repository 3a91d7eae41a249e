// admission/flavors/pod_set_group.h — the pod sets of one workload that must share flavors, with
// the sum of their requests, and the order in which resources get flavors.
//
// Threads: pure functions. Errors: none.
// Units: amounts of the resource's smallest unit.
// Source: Kueue pkg/scheduler/flavorassigner (podSetGroupName), pkg/resources.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "admission/catalogue/catalogue.h"
#include "admission/decision.h"
#include "base/small_vector.h"
#include "queue/names.h"
#include "queue/workload_info.h"

namespace berth::admission {

struct PodSetGroup {
  SmallVector<std::size_t, 1> pod_sets;  // by index, rising
  queue::Requests requests;              // by resource name
};
using PodSetGroups = SmallVector<PodSetGroup, 1>;

// What a queue charges a pod set beside its requests.
struct RequestRules {
  const queue::Names& resources;
  const QueueState& queue;
  ResourceId pods = queue::Names::kNone;
  ResourceId gpus = queue::Names::kNone;
  bool ignore_undeclared = false;  // ignore resources that no group of the queue covers
};

// Groups the pod sets of the workload. Appends a decision with name, count and requests to
// `assignment` for each pod set. `counts`: pods of each pod set; empty: all pods that need quota.
PodSetGroups GroupPodSets(const RequestRules& rules, const queue::WorkloadInfo& workload,
                          const std::vector<std::int32_t>& counts, Assignment& assignment);

using ResourceOrder = SmallVector<std::size_t, 4>;  // indices of requests
// The order in which the requested resources get flavors.
ResourceOrder OrderOfResources(const queue::Requests& requests, const queue::Names& resources);

}  // namespace berth::admission
