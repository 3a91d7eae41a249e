// integrations/ungating.h — which gated pods of an admitted workload may go, and where to.
//
// Pods of a workload with a topology assignment are born with the scheduling gate
// kueue.x-k8s.io/topology. Each is let go with the labels of its domain in its node selector:
//
//     assignment: r1 ×2, r2 ×1          pods by completion index
//     rank        0   1 | 2        →    0→r1  1→r1  2→r2
//
// By rank where every pod has one and those that went already stand where their rank says; else (no
// index, two pods with one index, a domain that was replaced) each pod takes the first domain with
// a place left. A domain never gets more pods than the assignment says: a pod that is being deleted
// keeps its place until it has ended; the place of one that has ended is free again. No pod is sent
// to a node of status.unhealthyNodes: it waits until that node is replaced.
//
// Threads: pure functions. Errors: none; a pod without a place stays gated.
// Source: Kueue pkg/controller/tas/topology_ungater.go.
#pragma once

#include <memory>
#include <vector>

#include "api/pod.h"
#include "api/workload.h"

namespace berth::integrations {

using PodPtr = std::shared_ptr<const api::Pod>;

struct Ungating {
  PodPtr pod;
  api::StringMap node_labels;  // added to its node selector
};

// Whether pods of the workload may be let go now: admitted, not evicted, with an assignment.
bool IsPlacedByTopology(const api::Workload& workload);

bool IsTopologyGated(const api::Pod& pod);

// `pods`: those of the workload, in any order; those of other pod sets and those that have ended
// count for nothing.
std::vector<Ungating> PlanUngating(const api::Workload& workload, const std::vector<PodPtr>& pods);

}  // namespace berth::integrations
