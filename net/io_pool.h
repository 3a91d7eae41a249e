// net/io_pool.h — the I/O threads, and strands on them.
#pragma once

#include <memory>

#include "base/executor.h"

namespace berth::net {

// Threads: MakeStrand may be called from any thread. Destroy the pool last: every server, client
// and strand of the pool must be destroyed or idle.
class IoPool {
 public:
  explicit IoPool(int thread_count);
  ~IoPool();  // calls Stop
  IoPool(const IoPool&) = delete;
  IoPool& operator=(const IoPool&) = delete;

  // Makes an Executor whose tasks run one at a time, on any thread of the pool.
  std::unique_ptr<Executor> MakeStrand();

  // Drops tasks that have not begun; returns when no task runs. Not to be called on a pool thread.
  void Stop();
  bool stopped() const;

  // Whether the caller is on one of the pool's threads, where blocking is forbidden.
  bool RunsHere() const;

  struct Impl;  // has the io_context, for other .cc files of net/
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::net
