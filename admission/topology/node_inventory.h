// admission/topology/node_inventory.h — what topology-aware scheduling knows of the cluster, who
// tells it, and what it asks for in return. The door is admission/scheduler.h; this file is the
// contract with the controllers, and the rules they share with the core.
//
//     Node ──ApplyNode/ForgetNode──▶ ┌───────────┐   wake-ups: HasWakeUps(), as for every change
//     Pod  ──ApplyPod/ForgetPod────▶ │ Scheduler │   second pass: NextSecondPass(now), RunCycle
//     Topology, ResourceFlavor ────▶ │           │   decisions: topology assignments, Outcome::
//     Workload ────────────────────▶ └───────────┘                          kEvictForNodeFailure
//
// Nodes. Each node as it is, whenever labels, allocatable, taints, spec.unschedulable or the
// condition Ready change; ForgetNode when it is gone. A node counts while it is Ready and
// schedulable, for every flavor whose topologyName and nodeLabels it carries. A change wakes the
// queues that use such a flavor.
//
// Pods. Every pod as it is (or only those for which UsesNodeUnplanned holds, now or before): what
// it takes of its node is subtracted there as long as UsesNodeUnplanned holds. Pods of workloads
// that hold a topology assignment are not counted: their assignment is.
//
// Workloads. What a workload with status.admission.podSetAssignments[].topologyAssignment takes is
// counted from ApplyWorkload or the admitting cycle on, per domain: pods × what one pod asks. It is
// freed as its quota is (finished, deleted, evicted and released). Reclaimable pods give back quota
// alone: which domains they leave is not known.
//
// Second pass. NeedsSecondPass(workload) says which workloads with quota still need nodes:
//   * delayedTopologyRequest Pending and all checks Ready: the first pass leaves the nodes open
//     where a check asks for capacity (controller kueue.x-k8s.io/provisioning-request); the node
//     selectors of the checks' podSetUpdates then count;
//   * a node of its assignment is named in status.unhealthyNodes: that node's pods move, all
//     others stay.
// The scheduler finds these workloads itself in what ApplyWorkload brings. It looks at each one
// second after that, then with doubling pauses up to 30 s; the controller runs a cycle at
// NextSecondPass(). The answer is a Decision with `second_pass` set:
//   * kAdmitted: write the whole admission (AdmissionOf) and clear status.unhealthyNodes. Quota,
//     flavors and counts are what they were; a delayed request is Ready now;
//   * kEvictForNodeFailure (gate TASFailedNodeReplacementFailFast): evict with reason NodeFailures
//     and Decision's text; quota is freed as after every eviction;
//   * anything else: event SecondPassFailed with the text; the workload keeps its quota and the
//     scheduler looks again later.
//
// Threads: as the Scheduler. Errors: none. Units: amounts as in api/quantity.h.
// Source: Kueue KEP-2724, pkg/controller/tas, pkg/cache/scheduler/tas_*.go, pkg/workload.
#pragma once

#include "api/pod.h"
#include "api/workload.h"

namespace berth::admission {

// Ready and schedulable.
bool CountsForPlacement(const api::Node& node);

// Bound to a node, not over, and not part of a topology assignment: a daemon, a pod of no queue, a
// pod that is being deleted (its workload's share may be free already).
bool UsesNodeUnplanned(const api::Pod& pod);

// Holds quota, is neither over nor evicted, and its pods still lack nodes (see above).
bool NeedsSecondPass(const api::Workload& workload);

// Some domain of its topology assignments is a node named in status.unhealthyNodes.
bool HasUnhealthyAssignment(const api::Workload& workload);

}  // namespace berth::admission
