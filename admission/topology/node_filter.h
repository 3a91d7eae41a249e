// admission/topology/node_filter.h — whether the node constraints of pods allow a node.
//
// Threads: pure functions. Errors: none.
// Source: Kubernetes scheduling (taints, nodeSelector, required node affinity) as Kueue applies it.
#pragma once

#include <optional>
#include <string>

#include "admission/topology/count_view.h"

namespace berth::admission {

// Whether the taint's effect is NoSchedule or NoExecute.
bool KeepsPodsAway(const api::Taint& taint);

// The first reason for exclusion in the order taint, selector, affinity, as messages count it:
// `taint "key=value:NoSchedule"`, `nodeSelector`, `affinity`. nullopt: the node is allowed.
std::optional<std::string> WhyExcluded(const NodeFilter& filter, const NodeFacts& node);

// The sum of the weights of the preferences that the node matches.
std::int64_t PreferenceFor(const NodeFilter& filter, const NodeFacts& node);

}  // namespace berth::admission
