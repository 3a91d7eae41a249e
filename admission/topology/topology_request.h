// admission/topology/topology_request.h — the topology request of a pod set, resolved to levels.
//
//   required      all pods in one domain of the level
//   preferred     the same, else a domain of a higher level, else the fewest domains
//   unconstrained any domains; also the meaning of a request for slices alone, and of no request in
//                 queues whose flavors all have topologies
//   slices        groups of `size` pods that stay in one domain of their level; up to three layers,
//                 each dividing the layer above
//
// Threads: pure functions. Errors: a text in Kueue's words.
// Source: Kueue KEP-2724, pkg/cache/scheduler/tas_flavor_snapshot.go, pkg/util/tas.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "api/workload.h"

namespace berth::admission {

struct ResolvedRequest {
  std::int32_t level = 0;  // the requested level
  std::int32_t slice_level = 0;
  std::int32_t slice_size = 1;
  std::vector<std::int32_t> inner_sizes;  // by level; 0: none. Empty: one layer at most
  std::vector<api::TopologyRequest::SliceConstraint> layers;  // set with inner layers
  bool required = false;
  bool unconstrained = false;
};

// The layers of slices, outermost first, from either form of the request.
std::vector<api::TopologyRequest::SliceConstraint> SliceLayers(
    const std::optional<api::TopologyRequest>& request);

// Whether `levels` has all levels that the request names.
bool HasLevels(const std::vector<std::string>& levels, const api::TopologyRequest& request);

// `implied`: the pod set has no request, and all flavors of the queue have topologies.
std::variant<ResolvedRequest, std::string> Resolve(
    const std::vector<std::string>& levels, const std::optional<api::TopologyRequest>& request,
    bool implied);

}  // namespace berth::admission
