// local/cloud/gang_fit.h — how many empty nodes of one pool a set of pods needs.
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
  std::string zone;
};
struct NotMeantForPool {};  // selector, affinity or taints say no
struct TooLargeForNode {
  std::string short_of;
};  // a resource that an empty node lacks
using GangFit = std::variant<FitsOn, NotMeantForPool, TooLargeForNode>;

// All members on new nodes of `pool`, in the first of its zones that takes them. Pods of a queued
// pool are taken to tolerate its gke-queued taint, and a selector for the nodes of a request is
// ignored: both are settled when the request is granted. The count stops at `pool.max_nodes` + 1.
GangFit FitGang(const NodePool& pool, const std::vector<GangMember>& members);

}  // namespace berth::local::cloud
