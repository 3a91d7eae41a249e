// net/io_pool.h — the threads that move bytes, and strands on them.
#pragma once

#include <memory>

#include "base/executor.h"

namespace berth::net {

// Threads: MakeStrand may be called from any thread. Destroy it last: every server, client and
// strand made on it must be gone or idle.
class IoPool {
 public:
  explicit IoPool(int thread_count);
  ~IoPool();  // as Stop
  IoPool(const IoPool&) = delete;
  IoPool& operator=(const IoPool&) = delete;

  // An Executor whose tasks run one at a time, on whichever thread of the pool is free.
  std::unique_ptr<Executor> MakeStrand();

  // Tasks that have not begun are dropped; returns when no task runs. Not from a pool thread.
  void Stop();
  bool stopped() const;

  // Whether the caller is on one of the pool's threads, where blocking is forbidden.
  bool RunsHere() const;

  struct Impl;  // Asio's io_context, for the other .cc files of net/
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::net
