// local/cluster/key_queue.h — which objects to look at, and when: each key at most once at a time,
// again after its next look, with growing delays while looking at it fails. An object that takes
// long to look at rests as long between looks: what happens meanwhile is seen at once.
//
// Threads: tasks of one Executor (and before its first task).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "base/executor.h"
#include "base/result.h"
#include "local/cluster/fields.h"

namespace berth::local::cluster {

// What one look at an object found.
struct NextLook {
  std::optional<WallTime> at;  // nothing to do before, unless something changes
};

class KeyQueue {
 public:
  // Called for one key at a time. An error makes the queue try again: 10 ms, doubled, at most 30 s.
  using Look = std::function<Result<NextLook>(const ObjectKey&)>;

  KeyQueue(std::string name, Executor& executor, const Clock& clock, Look look);

  void Add(const ObjectKey& key) { AddAfter(key, Duration::zero()); }
  void AddAfter(const ObjectKey& key, Duration delay);

 private:
  struct Entry {
    std::optional<WallTime> due;
    std::uint64_t ticket = 0;  // of the posted task that will look; older tasks do nothing
    int failures = 0;
    Duration rest{};  // how long the last look took: the next one waits as long
  };
  void Run(const ObjectKey& key, std::uint64_t ticket);

  std::string name_;
  Executor& executor_;
  const Clock& clock_;
  Look look_;
  std::map<ObjectKey, Entry> entries_;
  std::uint64_t next_ticket_ = 1;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace berth::local::cluster
