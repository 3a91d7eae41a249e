// kube/runtime/work_queue.h — keys to reconcile. A key waits at most once, and never has two
// reconciles at a time.
//
//     Add(k) ─▶ waiting ─▶ Take() ─▶ processing ─▶ Done(k)
//                  ▲                      │ Add(k) meanwhile: dirty, waits again after Done
//                  └── AddAfter, AddRateLimited (delay 5 ms · 2ⁿ, at most a minute)
//
// Threads: one Executor.
// Source: client-go util/workqueue.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "api/object_meta.h"
#include "base/clock.h"
#include "base/executor.h"
#include "kube/runtime/runtime_stats.h"

namespace berth::kube {

struct WorkQueueOptions {
  Duration first_backoff = std::chrono::milliseconds(5);
  // The cause of a failure, such as a missing right, an expired token, another program's webhook or
  // an API server that is down, may end without an event. So a key must not wait much longer than
  // the cause lasts. client-go: 1000 s.
  Duration longest_backoff = std::chrono::minutes(1);
};

class WorkQueue {
 public:
  using Key = api::ObjectKey;

  // Calls `on_ready` inside Add and Done when Take would return a key. `stats` counts what the
  // queue does and must outlive the queue; null: nothing is counted.
  WorkQueue(Executor& executor, WorkQueueOptions options, std::function<void()> on_ready,
            ControllerStats* stats = nullptr);

  void Add(const Key& key);
  // If one key gets several delays, the earliest counts.
  void AddAfter(const Key& key, Duration delay);
  // AddAfter with a delay that doubles each time until Forget.
  void AddRateLimited(const Key& key);
  void Forget(const Key& key) { failures_.erase(key); }

  std::optional<Key> Take();
  void Done(const Key& key);

  std::size_t waiting() const { return order_.size(); }
  std::size_t delayed() const { return due_.size(); }

 private:
  void Fire(const Key& key, std::uint64_t ticket);

  Executor& executor_;
  WorkQueueOptions options_;
  std::function<void()> on_ready_;
  using Keys = std::map<Key, SteadyTime>;  // the value is the time of Add where there are stats
  ControllerStats* stats_;
  Keys dirty_;                              // to reconcile: waiting, or again after Done
  std::deque<Keys::const_iterator> order_;  // the order of the waiting keys
  Keys processing_;
  std::map<Key, int> failures_;
  // The timers of one key share a ticket: the first that fires adds the key.
  struct Delayed {
    std::uint64_t ticket;
    Duration delay;  // the delay of the latest timer: the shortest requested one
  };
  std::map<Key, Delayed> due_;
  std::uint64_t next_ticket_ = 0;
  std::shared_ptr<WorkQueue*> self_;
};

}  // namespace berth::kube
