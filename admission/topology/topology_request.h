// admission/topology/topology_request.h — what a pod set asks of a topology, in its levels.
//
//   required      all pods in one domain of that level
//   preferred     the same, else of a level above, else spread over as few as possible
//   unconstrained anywhere; also asked for by slices alone, and implied in queues whose flavors all
//                 have topologies
//   slices        groups of `size` pods that stay in one domain of their level; up to three layers,
//                 each dividing the one before
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
  std::int32_t level = 0;  // asked for
  std::int32_t slice_level = 0;
  std::int32_t slice_size = 1;
  std::vector<std::int32_t> inner_sizes;  // by level; 0: none. Empty: one layer at most
  std::vector<api::TopologyRequest::SliceConstraint> layers;  // where there are inner ones
  bool required = false;
  bool unconstrained = false;
};

// Whether the pod set asks for its nodes to be chosen.
bool AsksForTopology(const api::PodSet& pod_set);

// The layers of slices, outermost first, in whichever form they were asked for.
std::vector<api::TopologyRequest::SliceConstraint> SliceLayers(
    const std::optional<api::TopologyRequest>& request);

// Whether all levels that are named are there.
bool HasLevels(const std::vector<std::string>& levels, const api::TopologyRequest& request);

// `implied`: nothing was asked for, the queue has nothing but topologies.
std::variant<ResolvedRequest, std::string> Resolve(
    const std::vector<std::string>& levels, const std::optional<api::TopologyRequest>& request,
    bool implied);

}  // namespace berth::admission
