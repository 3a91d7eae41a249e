// api/workload_limits.h — limits of a Workload that its CustomResourceDefinition sets.
#pragma once

#include <cstddef>

namespace berth::api {

inline constexpr std::size_t kMaxPodSets = 18;

}  // namespace berth::api
