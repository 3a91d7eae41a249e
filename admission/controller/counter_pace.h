// admission/controller/counter_pace.h — how often the counters in a queue's status are written.
//
// The first change after a pause is written at once. While counters change all the time the
// interval between two writes doubles from one second to four.
//
// Pure: the instant is an argument. Threads: one.
#pragma once

#include <algorithm>
#include <map>
#include <optional>

#include "api/object_meta.h"
#include "base/clock.h"

namespace berth::admission {

class CounterPace {
 public:
  static constexpr Duration kShortest = std::chrono::seconds(1);
  static constexpr Duration kLongest = std::chrono::seconds(4);

  // The time until counters may be written; nullopt: now.
  std::optional<Duration> Wait(const api::ObjectKey& key, SteadyTime now) const {
    const auto found = writes_.find(key);
    if (found == writes_.end()) return std::nullopt;
    const Duration since = now - found->second.at;
    if (since >= found->second.interval) return std::nullopt;
    return found->second.interval - since;
  }

  // The status is written at `now`, be it for its counters or for a condition.
  void OnWrite(const api::ObjectKey& key, SteadyTime now) {
    const auto [found, is_new] = writes_.try_emplace(key, Write{now, kShortest});
    if (is_new) return;
    Write& write = found->second;
    const bool steady = now - write.at < 2 * write.interval;
    write = {now, steady ? std::min(2 * write.interval, kLongest) : kShortest};
  }

  void Forget(const api::ObjectKey& key) { writes_.erase(key); }

 private:
  struct Write {
    SteadyTime at;
    Duration interval;  // until the next write of counters
  };
  std::map<api::ObjectKey, Write> writes_;
};

}  // namespace berth::admission
