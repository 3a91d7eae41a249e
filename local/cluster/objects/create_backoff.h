// local/cluster/objects/create_backoff.h — how long a controller waits before it creates pods of an
// object again.
//
// Units: the first pause is one second, the longest 256. Threads: a plain value. Errors: none.
#pragma once

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "base/clock.h"

namespace berth::local::cluster {

struct CreateBackoff {
  int failures = 0;
  WallTime until;       // no pod is created before this time
  std::string message;  // describes the last failure

  void OnFailure(WallTime now, std::string why) {
    constexpr int kMostDoublings = 8;
    until = now + std::chrono::seconds(1) * (1 << std::min(failures++, kMostDoublings));
    message = std::move(why);
  }
};

}  // namespace berth::local::cluster
