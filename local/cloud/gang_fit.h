// local/cloud/gang_fit.h — the number of empty nodes of one pool that a set of pods needs.
//
// Pure. Source: cluster-autoscaler's estimator (first fit, largest first).
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "local/apiserver/api.h"
#include "local/cloud/node_pool.h"

namespace berth::local::cloud {

struct GangMember {
  Json pod_spec;
  std::int64_t count = 0;
};

struct FitsOn {
  std::int64_t node_count = 0;
  std::vector<std::string>
      zones;  // the pool's zones that take all pods, in the pool's order; not empty
};
struct NotMeantForPool {};  // selector, affinity or taints exclude the pool
struct TooLargeForNode {
  std::string short_of;
};  // an empty node lacks the resource
using GangFit = std::variant<FitsOn, NotMeantForPool, TooLargeForNode>;

// Places all members on new nodes of `pool`, in one of its zones. Pods of a queued
// pool are assumed to tolerate its gke-queued taint, and a selector for the request's nodes is
// ignored: the grant adds both. The count stops at `pool.max_nodes` + 1.
GangFit FitGang(const NodePool& pool, const std::vector<GangMember>& members);

}  // namespace berth::local::cloud
