// base/executor.h — runs deferred work: on an Asio strand in production, in virtual time in tests.
#pragma once

#include <functional>

#include "base/clock.h"

namespace berth {

// Runs tasks one at a time: two tasks of one Executor never overlap, so that state which only its
// tasks touch needs no lock.
//
// Threads: Post and PostAfter may be called from any thread.
class Executor {
 public:
  virtual ~Executor() = default;
  // Runs `task` once, never inside this call. Tasks due at the same instant run in the order
  // of their posting. `delay` below zero counts as zero.
  virtual void PostAfter(Duration delay, std::function<void()> task) = 0;
  void Post(std::function<void()> task) { PostAfter(Duration::zero(), std::move(task)); }
};

}  // namespace berth
