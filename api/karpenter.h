// api/karpenter.h — the objects of Karpenter (karpenter.sh/v1) that say whether nodes can come:
// NodePools and NodeClaims, with the fields that decide.
//
// A cluster may lack both kinds. Source: sigs.k8s.io/karpenter, pkg/apis/v1.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/condition.h"
#include "api/object_meta.h"
#include "api/pod.h"
#include "api/quantity.h"
#include "base/clock.h"

namespace berth::api {

inline constexpr char kKarpenterNodePoolLabel[] = "karpenter.sh/nodepool";

// A budget of spec.disruption: how many nodes the pool may disrupt at a time.
struct KarpenterBudget {
  std::string nodes;                 // "5", "10%"
  std::vector<std::string> causes;   // Empty, Underutilized, Drifted; empty: all causes
  std::string schedule;              // cron form, UTC; empty: the budget is always in force
  std::optional<Duration> duration;  // from each time of the schedule on
  friend bool operator==(const KarpenterBudget&, const KarpenterBudget&) = default;
};

struct KarpenterNodePool {
  ObjectMeta meta;
  StringMap labels;  // labels that its nodes get
  std::vector<NodeSelectorRequirement> requirements;
  std::vector<Taint> taints;
  ResourceAmounts limits;  // amounts of all its nodes together; a missing resource is unlimited
  ResourceAmounts used;    // amounts of its nodes, status.resources
  std::optional<Duration> expire_after;  // the life of a node; nullopt: Never
  bool consolidates = true;              // nodes that are little used are emptied
  std::vector<KarpenterBudget> budgets;  // empty: any number of nodes
  std::vector<Condition> conditions;
};

struct KarpenterNodeClaim {
  ObjectMeta meta;  // the label karpenter.sh/nodepool names its pool
  std::string node_name;
  std::vector<Condition> conditions;  // Launched, Registered, Initialized, …
};

}  // namespace berth::api
