// view/screens/capacity_story.h — the part of `berth why` about requested capacity: the request,
// the pool, the steps that a ProvisioningPolicy has tried, and who can act.
//
// Internal to why.cc.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "view/screens/cluster_view.h"
#include "view/screens/why.h"

namespace berth::view {

std::vector<std::string> RequestLines(const ClusterView& view, const api::Workload& workload,
                                      const api::ProvisioningRequest& request);
CapacityAsked CapacityOf(const ClusterView& view, const api::Workload& workload,
                         const api::ProvisioningRequest& request);
// Adds to `step` what the check remembers of its policy, from the Workload's annotations. `request`
// may be null.
void AddPolicy(const api::Workload& workload, const api::AdmissionCheckState& check,
               const api::ProvisioningRequest* request, Step& step);

nlohmann::json CapacityJson(const CapacityAsked& capacity);
nlohmann::json TriedJson(const std::vector<CapacityTried>& tried);

}  // namespace berth::view
