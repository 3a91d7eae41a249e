// admission/topology/placed_pods.h — what the pods of one set take of the domains they were placed
// in, in the form in which it is booked.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "queue/workload_info.h"

namespace berth::admission {

struct PlacedPods {
  std::int32_t flavor = -1;
  std::vector<queue::ResourceRequest> per_pod;                // the pod itself included
  std::vector<std::pair<std::string, std::int32_t>> domains;  // key of the leaf, pods
};

}  // namespace berth::admission
