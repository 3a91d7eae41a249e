// provisioning/node_supply.h — what the objects of Karpenter, the events of autoscalers and the
// pods themselves say about nodes that do not come.
//
//     waiting pod, NodePools, NodeClaims, Events --CauseOfWait--> "NodePool g4 has reached its …"
//
// A pool may host a pod where its labels, requirements and taints do not exclude the pod. Labels
// that a provider sets by itself (kubernetes.io, k8s.io, karpenter.*) exclude nothing.
//
// Threads: pure functions. Errors: none; without NodePools the pods alone are read.
// Source: sigs.k8s.io/karpenter, pkg/controllers/provisioning and nodeclaim/lifecycle;
// cluster-autoscaler, processors/status/eventing_scale_up_processor.go.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/karpenter.h"
#include "api/pod.h"
#include "api/told_event.h"

namespace berth::provisioning {

// The objects of Karpenter; empty where it is not installed. All pointers are valid.
struct NodeSupply {
  bool has_karpenter = false;                          // Karpenter's kinds are served
  std::vector<const api::KarpenterNodePool*> pools;    // by name
  std::vector<const api::KarpenterNodeClaim*> claims;  // by name
  // Events of autoscalers about the pods and their NodeClaims, since the pods began to wait.
  std::vector<api::ToldEvent> told;
};

// Whether nodes of the pool may take pods of that spec.
bool MayHost(const api::KarpenterNodePool& pool, const api::PodSpec& spec);

struct WaitCause {
  std::string reason;   // one of the reasons below; Explain (request_reasons.h) knows each
  std::string message;  // the same while the cause is the same
};
inline constexpr char kPoolLimitReason[] = "NodePoolLimitReached";
inline constexpr char kNodesKeptReason[] = "DisruptionBudgetKeepsNodes";
inline constexpr char kNoPoolReason[] = "NodePoolNotFound";
inline constexpr char kPoolNotReadyReason[] = "NodePoolNotReady";
inline constexpr char kNoCapacityReason[] = "InsufficientCapacityError";
inline constexpr char kNotLaunchedReason[] = "NodeClaimNotLaunched";
inline constexpr char kNoPoolFitsReason[] = "NotTriggerScaleUp";
inline constexpr char kFailedScaleUpReason[] = "FailedScaleUp";
inline constexpr char kNodesBootReason[] = "NodesBooting";
inline constexpr char kNoNodesReason[] = "NodesDidNotCome";

WaitCause CauseOfWait(const api::Pod& pod, const NodeSupply& supply, WallTime now);

// The known obstacle to nodes for pods of that spec, before the pods exist: their NodePool does not
// exist, or each NodePool that may host the pods is not ready or has a limit below one pod, and no
// NodeClaim of these NodePools exists, on whose node there may be room. nullopt: nothing is known.
std::optional<WaitCause> KnownObstacle(const api::PodSpec& spec, const NodeSupply& supply,
                                       WallTime now);

// The pool that may host pods of that spec and replaces its nodes soonest, where that is sooner
// than a run of `seconds` takes; null: none.
const api::KarpenterNodePool* ExpiresBefore(const api::PodSpec& spec, std::int64_t seconds,
                                            const NodeSupply& supply);

// The pool that may host pods of that spec and moves them while they run (disruption.h); null:
// none.
const api::KarpenterNodePool* MovesPods(const api::PodSpec& spec, const NodeSupply& supply,
                                        WallTime now);

}  // namespace berth::provisioning
