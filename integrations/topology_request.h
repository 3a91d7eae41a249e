// integrations/topology_request.h — the topology a pod template asks for in its annotations.
//
//     podset-required-topology: rack                  → all pods in one rack
//     podset-preferred-topology: rack                 → as few racks as there must be
//     podset-unconstrained-topology: "true"           → wherever there is room
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

// nullopt where no annotation asks for anything. Contradictions are the webhook's to refuse; here
// the strictest one counts.
std::optional<api::TopologyRequest> TopologyRequestOf(const api::StringMap& annotations);

}  // namespace berth::integrations
