// view/screens/capacity.h — `berth capacity`: requests for capacity with their steps, node pools,
// and the stock memory: the granted requests, and the steps that rest, with their ends.
//
// Pure: data in, text out.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "view/screens/cluster_view.h"
#include "view/screens/text.h"

namespace berth::view {

std::string RenderCapacity(const ClusterView& view, const TextStyle& style);
// The keys are stable; names of spans end in Seconds, instants are RFC 3339.
nlohmann::json CapacityScreenJson(const ClusterView& view);

// Parts that `berth status` shows, too. A table is empty without rows, else it begins with a blank
// line.
std::string RenderPools(const ClusterView& view, const TextStyle& style);
std::string RequestStateWord(const api::ProvisioningRequest& request);  // "Accepted"
const api::Workload* OwnerOf(const ClusterView& view, const api::ProvisioningRequest& request);

}  // namespace berth::view
