// admission/lifecycle/node_failure.h — what a failed node means for a workload that topology-aware
// scheduling put there.
//
//     node gone, or without the condition Ready ──────────────────────────▶ unhealthy at once
//     not Ready, or a taint the pods do not tolerate (for good) ─ no pod of the workload runs there
//                                       (any more) ───────────────────────▶ unhealthy
//     else ───────────────────────────────────────────────────────────────▶ healthy
//
// An unhealthy node is named in status.unhealthyNodes; the scheduler's second pass moves its pods
// (admission/topology/node_inventory.h). A second node that fails before that is done evicts the
// workload. Pods that were sent to such a node and cannot get there any more are failed, so that
// their job makes new ones.
//
// A node is known by the value of kubernetes.io/hostname, which is its name.
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
  std::chrono::seconds delay{30};          // how long not Ready, for the last and without the first
};

// One workload on one node.
struct WorkloadOnNode {
  const api::Workload* workload = nullptr;
  std::vector<api::Pod> bound;    // its pods on the node
  std::vector<api::Pod> waiting;  // let go for the node, not bound yet
};
using FlavorLookup = std::function<const api::ResourceFlavor*(const std::string& name)>;

// The nodes that the workload's topology assignments name, sorted; none unless it holds them: it is
// admitted, not over and not evicted. Levels above the node do not count.
std::vector<std::string> NodesOf(const api::Workload& workload);

struct NodeVerdict {
  enum class Health : std::uint8_t { kHealthy, kUnhealthy };
  Health health = Health::kHealthy;
  bool fail_waiting = false;           // of WorkloadOnNode::waiting, those that are pending
  std::optional<Duration> look_again;  // it becomes unhealthy by time alone
};

// `node`: null where it is gone.
NodeVerdict JudgeNode(const std::string& name, const api::Node* node, const WorkloadOnNode& on_node,
                      const FlavorLookup& flavors, const NodeFailureOptions& options, WallTime now);

// What the verdict changes: unhealthyNodes, or an eviction with its event where another node has
// failed before. No status: nothing.
WorkloadPlan PlanNodeHealth(const api::Workload& workload, const std::string& name,
                            NodeVerdict::Health health, WallTime now);

// Nothing replaces the unhealthy nodes (gate TASFailedNodeReplacementFailFast).
Eviction NoReplacement(const api::Workload& workload);

}  // namespace berth::admission
