// local/cluster/node_match.h — may this pod run on that node? Selector, required affinity, taints.
//
// Pure. Source: Kubernetes "Assigning Pods to Nodes", "Taints and Tolerations".
#pragma once

#include "local/apiserver/api.h"

namespace berth::local::cluster {

// spec.nodeSelector and the required node affinity of `pod_spec` against labels and name of `node`.
bool MatchesNodeSelection(const Json& pod_spec, const Json& node);

// Every NoSchedule and NoExecute taint in `taints` is tolerated.
bool ToleratesTaints(const Json& pod_spec, const Json& taints);

}  // namespace berth::local::cluster
