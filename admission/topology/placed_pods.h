// admission/topology/placed_pods.h — the usage of one pod set in the domains where it is placed, as
// TopologyPlacer books it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "queue/workload_info.h"

namespace berth::admission {

struct PlacedPods {
  std::int32_t flavor = -1;
  std::vector<queue::ResourceRequest> per_pod;                // requests of one pod, with `pods: 1`
  std::vector<std::pair<std::string, std::int32_t>> domains;  // key of the leaf, number of pods
  friend bool operator==(const PlacedPods&, const PlacedPods&) = default;
};

// Whether some domain of `before` has fewer pods in `after`.
inline bool LeavesNodes(const std::vector<PlacedPods>& before,
                        const std::vector<PlacedPods>& after) {
  if (before == after) return false;
  std::map<std::pair<std::int32_t, std::string>, std::int64_t> more;
  for (const PlacedPods& pods : after) {
    for (const auto& [key, count] : pods.domains) more[{pods.flavor, key}] += count;
  }
  for (const PlacedPods& pods : before) {
    for (const auto& [key, count] : pods.domains) more[{pods.flavor, key}] -= count;
  }
  return std::any_of(more.begin(), more.end(), [](const auto& each) { return each.second < 0; });
}

}  // namespace berth::admission
