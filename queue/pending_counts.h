// queue/pending_counts.h — the numbers of active and inadmissible workloads by LocalQueue, and by
// values that the owner reads from each workload (labels of metrics).
//
//     QueueSet ─Join / Queue / Activate─▶ counters ──TakeChanged──▶ counters that changed since
//
// A counter exists while a workload names it, and longer where the reader has seen more than zero:
// until the reader has seen zero. Every function costs the change, not the number of workloads or
// counters.
//
// Threads: one. Errors: none; a counter that does not exist is a bug of the caller.
// Source: Kueue pkg/cache/queue (PendingInLocalQueue, LabelValsTracker).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "api/object_meta.h"
#include "api/workload.h"

namespace berth::queue {

using CounterId = std::int32_t;
inline constexpr CounterId kNoCounter = -1;

class PendingCounts {
 public:
  using Values = std::vector<std::string>;
  // Null: no workload has values.
  using ValuesOf = std::function<Values(const api::Workload&)>;

  // Switches counting on. Before this call counting is off, and Join returns kNoCounter.
  void SwitchOn(ValuesOf values_of);
  bool on() const { return on_; }

  // The counter of a workload of this LocalQueue, whose present counter is `before` or kNoCounter.
  // The caller leaves `before`, where the answer differs, after it has moved its numbers.
  CounterId Join(CounterId before, const api::ObjectKey& local_queue, const api::Workload& object);
  void Leave(CounterId counter);
  // The workload enters or leaves a ClusterQueue.
  void AddQueued(CounterId counter, std::int64_t more);
  // Workloads start or cease to compete for the head.
  void AddActive(CounterId counter, std::int64_t more);

  struct Count {
    api::ObjectKey local_queue;
    Values values;
    std::int64_t active = 0;        // competes for the head
    std::int64_t inadmissible = 0;  // waits in a ClusterQueue otherwise
    friend bool operator==(const Count&, const Count&) = default;
  };
  // The counters that changed since the last call, in the order of their first change.
  std::vector<Count> TakeChanged();
  std::size_t size() const { return numbers_.size(); }

 private:
  using Key = std::pair<api::ObjectKey, Values>;
  struct Counter {
    Key key;
    std::int64_t members = 0;  // workloads
    std::int64_t queued = 0;
    std::int64_t active = 0;
    bool changed = false;  // in changed_; survives the counter's reuse
    bool shown = false;    // the reader has seen more than zero
    bool used = false;
  };

  Counter& at(CounterId counter) { return counters_[static_cast<std::size_t>(counter)]; }
  void Note(CounterId counter);
  void DropIfUnused(CounterId counter);

  bool on_ = false;
  ValuesOf values_of_;
  std::map<Key, CounterId> numbers_;
  std::vector<Counter> counters_;
  std::vector<CounterId> free_;
  std::vector<CounterId> changed_;
};

}  // namespace berth::queue
