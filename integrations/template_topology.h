// integrations/template_topology.h — the topology request in a pod template's annotations.
//
//     podset-required-topology: rack                  → all pods in one rack
//     podset-preferred-topology: rack                 → as few racks as possible
//     podset-unconstrained-topology: "true"           → any domains with room
//     podset-slice-required-topology, podset-slice-size → each slice of pods in one domain
//     podset-slice-required-topology-constraints      → the same in up to three layers (JSON)
//     podset-group-name                               → together with another pod set
//
// Threads: pure functions. Source: Kueue KEP-2724, pkg/controller/jobframework/tas.go.
#pragma once

#include <optional>

#include "api/object_meta.h"
#include "api/workload.h"

namespace berth::integrations {

// Returns nullopt where no annotation has a request. The webhook refuses contradictions; this
// function takes the strictest annotation.
std::optional<api::TopologyRequest> TopologyRequestOf(const api::StringMap& annotations);

}  // namespace berth::integrations
