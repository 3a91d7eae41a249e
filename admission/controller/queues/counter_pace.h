// admission/controller/queues/counter_pace.h — how often the counters in a queue's status are
// written.
//
// The first change after a pause is written at once. While counters change all the time the
// interval between two writes doubles from one second to four, and each of these writes takes its
// turn among commentary (kube/runtime/write_pace.h). Counters that have not changed for a second
// are at rest: their values count as a fact and are written at once. So are counters that were last
// written half a minute ago.
//
// Pure: the instant is an argument. Threads: one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>

#include "api/object_meta.h"
#include "base/clock.h"

namespace berth::admission {

class CounterPace {
 public:
  static constexpr Duration kShortest = std::chrono::seconds(1);
  static constexpr Duration kLongest = std::chrono::seconds(4);
  static constexpr Duration kOverdue = std::chrono::seconds(30);

  // The time until counters may be written; nullopt: now. `counters`: equal for equal counters.
  // `commentary`: the time until a write of commentary may begin; zero: it begins, and is counted.
  std::optional<Duration> Wait(const api::ObjectKey& key, std::int64_t counters, SteadyTime now,
                               const std::function<Duration()>& commentary) {
    const auto found = writes_.find(key);
    if (found == writes_.end()) return std::nullopt;
    Write& last = found->second;
    if (last.counters != counters) {
      last.counters = counters;
      last.changed_at = now;
    }
    const SteadyTime rest = std::max(last.changed_at, last.at) + kShortest;
    const SteadyTime fact = std::min(rest, last.at + kOverdue);
    if (now >= fact) return std::nullopt;
    const SteadyTime due = std::min(last.at + last.interval, rest);
    if (now < due) return due - now;
    const Duration turn = commentary();
    if (turn <= Duration::zero()) return std::nullopt;
    return std::min(turn, fact - now);
  }

  // The status is written at `now`, for its counters or for a condition.
  void OnWrite(const api::ObjectKey& key, SteadyTime now) {
    const auto [found, is_new] = writes_.try_emplace(key, Write{.at = now});
    if (is_new) return;
    Write& write = found->second;
    const bool steady = now - write.at < 2 * write.interval;
    write.at = now;
    write.interval = steady ? std::min(2 * write.interval, kLongest) : kShortest;
  }

  void Forget(const api::ObjectKey& key) { writes_.erase(key); }

 private:
  struct Write {
    SteadyTime at;
    Duration interval = kShortest;  // the least time until the next write of counters
    std::int64_t counters = 0;
    SteadyTime changed_at{};
  };
  std::map<api::ObjectKey, Write> writes_;
};

}  // namespace berth::admission
