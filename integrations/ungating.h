// integrations/ungating.h — chooses the gated pods of an admitted workload to ungate, with domains.
//
// Pods of a workload with a topology assignment are created with the scheduling gate
// kueue.x-k8s.io/topology. Ungating adds the labels of the pod's domain to its node selector:
//
//     assignment: r1 ×2, r2 ×1          pods by completion index
//     rank        0   1 | 2        →    0→r1  1→r1  2→r2
//
// By rank where every pod has a rank and all ungated pods are in the domain of their rank; else (no
// index, two pods with one index, a replaced domain) each pod takes the first domain with room. A
// domain never gets more pods than the assignment says: a pod that is being deleted counts until it
// has ended; a pod that has ended does not count. No pod is sent to a node of
// status.unhealthyNodes: the pod waits until the node is replaced. A pod of an elastic job takes no
// domain while it has the gate kueue.x-k8s.io/elastic-job: the slice may admit fewer pods than
// exist.
//
// Threads: pure functions. Errors: none; a pod without a domain stays gated.
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
  api::StringMap node_labels;  // to add to its node selector
};

// Whether pods of the workload may be ungated: admitted, not evicted, with an assignment.
bool IsPlacedByTopology(const api::Workload& workload);

bool IsTopologyGated(const api::Pod& pod);

// `pods`: the pods of the workload, in any order; pods of other pod sets and finished pods are
// ignored.
std::vector<Ungating> PlanUngating(const api::Workload& workload, const std::vector<PodPtr>& pods);

}  // namespace berth::integrations
