// base/executor.h — deferred work. Production: one Asio strand; simulation: a heap in virtual time.
#pragma once

#include <functional>

#include "base/clock.h"

namespace berth {

// Runs tasks one at a time: two tasks of one Executor never overlap, so state that only its tasks
// touch needs no lock.
//
// Threads: Post and PostAfter may be called from any thread.
class Executor {
 public:
  virtual ~Executor() = default;
  // Runs `task` later, once, never inside this call. Tasks due at the same instant run in the order
  // they were posted. `delay` below zero counts as zero.
  virtual void PostAfter(Duration delay, std::function<void()> task) = 0;
  void Post(std::function<void()> task) { PostAfter(Duration::zero(), std::move(task)); }
};

}  // namespace berth
