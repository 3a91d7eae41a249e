// admission/topology/node_inventory.h — the contract between topology-aware scheduling and the
// controllers: the objects that controllers apply, and the writes that they make in return. The
// interface is admission/scheduler.h; this file also has the rules that both sides share.
//
//     Node ──Apply, Forget─────────▶ ┌───────────┐   wake-ups: HasWakeUps(), as for every change
//     Pod  ──Apply, Forget─────────▶ │ Scheduler │   second pass: NextTurn(), RunCycle
//     Topology, ResourceFlavor ────▶ │           │   decisions: topology assignments, Outcome::
//     Workload ────────────────────▶ └───────────┘                          kEvictForNodeFailure
//
// Nodes. Apply each node whenever labels, allocatable, taints, spec.unschedulable or the condition
// Ready change; call Forget when the node is gone. A node counts while it is Ready and schedulable,
// for every flavor whose topologyName and nodeLabels it carries. A change wakes the queues that use
// such a flavor.
//
// Pods. Apply every pod (or only the pods for which UsesNodeUnplanned holds or held): the requests
// of a pod are subtracted from its node while UsesNodeUnplanned holds. Pods of workloads that hold
// a topology assignment are not counted, because the assignment is.
//
// Workloads. The usage of status.admission.podSetAssignments[].topologyAssignment is counted from
// ApplyWorkload or the admitting cycle on, per domain: pods × requests of one pod. It is released
// with the quota (finished, deleted, evicted and released). Reclaimable pods release quota alone:
// the domains that they leave are unknown.
//
// Second pass. NeedsSecondPass(workload) is true for workloads with quota that need nodes:
//   * delayedTopologyRequest Pending and all checks Ready: the first pass leaves the nodes open
//     where a check asks for capacity (checks::Capacity::kRequested); the node
//     selectors of the checks' podSetUpdates then count;
//   * a node of its assignment is named in status.unhealthyNodes: that node's pods move, all
//     others stay.
// The scheduler finds these workloads in the objects of ApplyWorkload. It retries each one second
// later, then with doubling pauses up to 30 s; the controller runs a cycle at NextTurn(). The
// answer is a Decision with `second_pass` set:
//   * kAdmitted: write the whole admission (AdmissionOf) and clear status.unhealthyNodes. Quota,
//     flavors and counts do not change; a delayed request becomes Ready;
//   * kEvictForNodeFailure (gate TASFailedNodeReplacementFailFast): evict with reason NodeFailures
//     and Decision's text; quota is freed as after every eviction;
//   * any other outcome: event SecondPassFailed with the text; the workload keeps its quota and
//     the scheduler retries later.
//
// Threads: as the Scheduler. Errors: none. Units: amounts as in api/quantity.h.
// Source: Kueue KEP-2724, pkg/controller/tas, pkg/cache/scheduler/tas_*.go, pkg/workload.
#pragma once

#include "api/pod.h"
#include "api/workload.h"

namespace berth::admission {

// Whether the node is Ready and schedulable.
bool CountsForPlacement(const api::Node& node);

// Whether the pod is bound, not finished, and outside every topology assignment: a daemon, a pod of
// no queue, a pod that is being deleted (its workload's usage may be released already).
bool UsesNodeUnplanned(const api::Pod& pod);

// Whether the workload holds quota, is neither finished nor evicted, and its pods lack nodes.
bool NeedsSecondPass(const api::Workload& workload);

// Whether a topology assignment has a domain on a node of status.unhealthyNodes.
bool HasUnhealthyAssignment(const api::Workload& workload);

}  // namespace berth::admission
