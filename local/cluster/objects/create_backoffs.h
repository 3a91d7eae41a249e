// local/cluster/objects/create_backoffs.h — the pauses of a controller after pods that could not be
// created: one second, doubled up to 256 seconds, for each object that creates pods.
#pragma once

#include <algorithm>
#include <map>
#include <optional>

#include "base/clock.h"
#include "local/cluster/objects/fields.h"

namespace berth::local::cluster {

class CreateBackoffs {
 public:
  std::optional<WallTime> NotBefore(const ObjectKey& key) const {
    const auto known = backoffs_.find(key);
    if (known == backoffs_.end()) return std::nullopt;
    return known->second.until;
  }
  void NoteFailure(const ObjectKey& key, WallTime now) {
    Backoff& backoff = backoffs_[key];
    backoff.until = now + kFirst * (1 << std::min(backoff.failures++, kMostDoublings));
  }
  void Forget(const ObjectKey& key) { backoffs_.erase(key); }

 private:
  static constexpr Duration kFirst = std::chrono::seconds(1);
  static constexpr int kMostDoublings = 8;

  struct Backoff {
    int failures = 0;
    WallTime until;
  };

  std::map<ObjectKey, Backoff> backoffs_;
};

}  // namespace berth::local::cluster
