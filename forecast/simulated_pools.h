// forecast/simulated_pools.h — NodePools of the emulated cloud as pools of a simulation.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "simulation/nodes.h"

namespace berth::forecast {

// The kinds of documents that become pools.
enum class PoolKinds : std::uint8_t {
  kNodePools,         // the emulated cloud knows Nodes itself
  kNodePoolsAndNodes  // each Node, too, is a pool of this one node, which exists from the start to
                      // the end
};

// Whether the object is a Node, or a NodePool of the emulated cloud: other clouds have the kind,
// too.
bool IsMachine(const nlohmann::json& object);

// Reads the NodePools (cloud.berth.dev/v1alpha1) and Nodes (v1) among the documents, those of lists
// too, in their order. The stock of a pool bounds its nodes. Zones, queued provisioning and the
// notice of evictions have no effect. Nodes that a NodePool among the documents has made are left
// out; a Node that is unschedulable is left out, too. The price of a Node is its annotation
// berth.dev/price-per-hour, else 0.
//
// Errors: kInvalid with name and field: an unknown machine type, a number that cannot be read or is
// out of range, a name that occurs twice, no NodePool and no Node at all.
Result<std::vector<simulation::NodePool>> ReadSimulatedPools(
    const std::vector<nlohmann::json>& documents, PoolKinds kinds);

}  // namespace berth::forecast
