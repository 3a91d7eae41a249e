// cli/simulated_pools.h — NodePools of the emulated cloud as pools of a simulation.
//
// Threads: pure functions.
#pragma once

#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "simulation/nodes.h"

namespace berth::cli {

// Reads the NodePools (cloud.berth.dev/v1alpha1) among the documents, in their order. The stock of
// a pool bounds its nodes. Zones, queued provisioning, spot and evictions have no effect.
//
// Errors: kInvalid with name and field: an unknown machine type, a number that is none or out of
// range, a name that stands twice, no NodePool at all.
Result<std::vector<simulation::NodePool>> ReadSimulatedPools(
    const std::vector<nlohmann::json>& documents);

}  // namespace berth::cli
