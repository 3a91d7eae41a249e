// local/cluster/objects/cluster_limits.h — limits that several controllers of the cluster share.
#pragma once

#include <cstddef>
#include <cstdint>

namespace berth::local::cluster {

// The pods that one look at their owner creates, and those that it deletes.
inline constexpr std::size_t kMostPodsAtOnce = 500;

// The longest life of a ServiceAccount's token, in seconds.
inline constexpr std::int64_t kMostTokenSeconds = 365LL * 24 * 3600;

}  // namespace berth::local::cluster
