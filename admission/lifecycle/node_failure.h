// admission/lifecycle/node_failure.h — the consequences of a failed node for a workload that
// topology-aware scheduling placed there.
//
//     node gone, or without the condition Ready ──────────────────────────▶ unhealthy at once
//     not Ready, or a taint the pods do not tolerate (for good) ─ no pod of the workload runs there
//                                       (any more) ───────────────────────▶ unhealthy
//     a taint NoSchedule that the pods do not tolerate, and one waits ─────▶ unhealthy
//     else ───────────────────────────────────────────────────────────────▶ healthy
//
// An unhealthy node is named in status.unhealthyNodes; the scheduler's second pass moves its pods
// (admission/topology/node_inventory.h). If a second node fails before the move, the workload is
// evicted. Pods assigned to such a node that cannot be bound there are failed, so that their job
// makes new pods.
//
// Assignments and unhealthyNodes name a node by its label kubernetes.io/hostname, the hostname
// here. The hostname need not be the name of the node, and several nodes may bear one hostname: it
// is unhealthy when none of its nodes is healthy.
//
// Threads: pure functions. Errors: none.
// Source: Kueue pkg/controller/tas/node_controller.go; KEP-2724, Node failures.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "admission/lifecycle/workload_lifecycle.h"
#include "api/pod.h"
#include "api/queues.h"
#include "api/workload.h"
#include "base/clock.h"

namespace berth::admission {

// Kueue's feature gates of these names.
struct NodeFailureOptions {
  bool replace_on_pod_termination = true;  // TASReplaceNodeOnPodTermination
  bool replace_on_taints = true;           // TASReplaceNodeOnNodeTaints
  bool replace_after_delay = false;        // TASReplaceNodeDueToNotReadyOverFixedTime
  std::chrono::seconds delay{30};          // how long a node may be not Ready
};

// One workload on the nodes of one hostname, which the pods' node selectors ask for.
struct WorkloadOnNode {
  const api::Workload* workload = nullptr;
  std::vector<api::Pod> bound;    // bound to any node
  std::vector<api::Pod> waiting;  // ungated for the hostname, not bound yet
};
using FlavorLookup = std::function<const api::ResourceFlavor*(const std::string& name)>;

// Whether the hostname is among the workload's unhealthyNodes.
bool IsCalledUnhealthy(const api::Workload& workload, const std::string& hostname);

// The hostnames that the workload's topology assignments name, sorted; empty unless the workload is
// admitted and neither finished nor evicted. Levels above the node do not count.
std::vector<std::string> HostnamesOf(const api::Workload& workload);

struct NodeVerdict {
  enum class Health : std::uint8_t { kHealthy, kUnhealthy };
  Health health = Health::kHealthy;
  bool fail_waiting = false;  // fail the pending pods of WorkloadOnNode::waiting
  // The time after which the node becomes unhealthy without another event; nullopt: none.
  std::optional<Duration> look_again;
};

// `nodes`: the Nodes with the hostname; empty where none exists. No node is unhealthy for the
// Workload of one pod: the pod cannot move, and its Workload ends with it (Kueue's gate
// SkipReassignmentForPodOwnedWorkloads).
NodeVerdict JudgeHostname(const std::string& hostname, const std::vector<const api::Node*>& nodes,
                          const WorkloadOnNode& on_node, const FlavorLookup& flavors,
                          const NodeFailureOptions& options, WallTime now);

// Plans the verdict: a change of unhealthyNodes, or an eviction with its event where another node
// failed earlier. A plan without status changes nothing.
WorkloadPlan PlanNodeHealth(const api::Workload& workload, const std::string& hostname,
                            NodeVerdict::Health health, WallTime now);

// The eviction where no node replaces the unhealthy ones (gate TASFailedNodeReplacementFailFast).
Eviction NoReplacement(const api::Workload& workload);

}  // namespace berth::admission
