// api/node_match.h — whether a node satisfies a term of a pod's node affinity.
//
// Threads: pure function. Errors: none. Source: Kubernetes, "Assigning Pods to Nodes".
#pragma once

#include <string>

#include "api/pod.h"

namespace berth::api {

// An empty term matches nothing. metadata.name is the only field that match_fields may name.
bool Matches(const NodeSelectorTerm& term, const StringMap& labels, const std::string& node_name);

}  // namespace berth::api
