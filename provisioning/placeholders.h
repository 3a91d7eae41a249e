// provisioning/placeholders.h — pods of low priority that hold nodes until a gang can start.
//
// An autoscaler that only reacts brings nodes for pods that are pending, one after the other: a job
// of many pods may get some nodes and pay for them while others never come. With `placeholders` in
// the policy the job waits, pods of the same shape bring the nodes, and the job starts when each of
// them has one:
//
//     quota ─▶ Pending, placeholders ─ all have nodes ─▶ Ready, the job's pods ─ all made ─▶
//                 │ timeoutSeconds: GangPartial            placeholders go, the pods take the nodes
//                 └─▶ Retry, placeholders go
//
// The Workload owns its placeholders, so that they are deleted with the Workload even if the
// controller has stopped.
//
// Threads: pure functions. Errors: none.
#pragma once

#include <cstddef>
#include <vector>

#include "api/pod.h"
#include "api/provisioning_policy.h"
#include "api/workload.h"
#include "provisioning/decide.h"
#include "provisioning/pod_sets.h"

namespace berth::provisioning {

inline constexpr std::size_t kMostPlaceholders = 1000;  // a larger gang gets none

// The placeholders of the Workload, in the order of its pod sets; empty: the policy has none.
std::vector<CreatePlaceholder> PlaceholdersFor(const api::Workload& workload,
                                               const api::ProvisioningPolicy& policy,
                                               const std::vector<PodSetGroup>& groups);

struct PlaceholderCount {
  std::size_t placed = 0;  // placeholders that have a node
  std::vector<const CreatePlaceholder*> missing;
};
// The result points into `wanted`.
PlaceholderCount CountPlaceholders(const std::vector<CreatePlaceholder>& wanted,
                                   const std::vector<const api::Pod*>& pods);

}  // namespace berth::provisioning
