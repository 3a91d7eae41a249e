// local/apiserver/http/worker_pool.h — threads for work that may block: on webhooks, on the disk.
//
// A few threads run at a time, so that work that does not block is not passed from thread to
// thread; for each one that waits in a BlockingScope another may run. Threads are started when they
// are needed, up to the limit, and stay. What waits to be run is bounded.
//
// Threads: Post from any thread.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "local/apiserver/blocking.h"

namespace berth::local {

class WorkerPool final : private BlockingObserver {
 public:
  struct Limits {
    std::size_t threads = 64;
    std::size_t running = 64;  // at a time, without those that wait in a BlockingScope
    std::size_t waiting = 4096;
  };
  explicit WorkerPool(Limits limits) : limits_(limits) {}
  ~WorkerPool() override { Stop(); }
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // False: too much is waiting, or the pool has stopped; `work` is not run.
  bool Post(std::function<void()> work);
  // What runs is finished, what waits is dropped.
  void Stop();

 private:
  void Run();
  void WakeLocked();
  void OnBlock() override;
  void OnUnblock() override;

  const Limits limits_;
  std::mutex mutex_;
  std::condition_variable work_;
  std::deque<std::function<void()>> queue_;
  std::vector<std::thread> threads_;
  std::size_t idle_ = 0;     // wait for work
  std::size_t running_ = 0;  // have work and do not wait; those just woken count
  std::size_t woken_ = 0;    // woken for work, not there yet
  bool stopping_ = false;
};

}  // namespace berth::local
