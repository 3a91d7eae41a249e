// integrations/topology_request.h — the topology a pod template asks for in its annotations.
#pragma once

#include <optional>

#include "api/object_meta.h"
#include "api/workload.h"

namespace berth::integrations {

// nullopt where no annotation asks for anything. Contradictions are the webhook's to refuse; here
// the strictest one counts.
std::optional<api::TopologyRequest> TopologyRequestOf(const api::StringMap& annotations);

}  // namespace berth::integrations
