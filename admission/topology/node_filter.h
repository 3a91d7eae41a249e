// admission/topology/node_filter.h — whether pods may go to a node at all.
//
// Threads: pure functions. Errors: none.
// Source: Kubernetes scheduling (taints, nodeSelector, required node affinity) as Kueue applies it.
#pragma once

#include <optional>
#include <string>

#include "admission/topology/count_view.h"

namespace berth::admission {

// NoSchedule and NoExecute keep pods away; PreferNoSchedule does not.
bool KeepsPodsAway(const api::Taint& taint);

// The first reason in the order taint, selector, affinity, as it is counted in messages:
// `taint "key=value:NoSchedule"`, `nodeSelector`, `affinity`. nullopt: they may.
std::optional<std::string> WhyExcluded(const NodeFilter& filter, const NodeFacts& node);

}  // namespace berth::admission
