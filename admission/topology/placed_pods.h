// admission/topology/placed_pods.h — the usage of one pod set in the domains where it is placed, as
// TopologyPlacer books it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "queue/workload_info.h"

namespace berth::admission {

struct PlacedPods {
  std::int32_t flavor = -1;
  std::vector<queue::ResourceRequest> per_pod;                // requests of one pod, with `pods: 1`
  std::vector<std::pair<std::string, std::int32_t>> domains;  // key of the leaf, number of pods
};

}  // namespace berth::admission
