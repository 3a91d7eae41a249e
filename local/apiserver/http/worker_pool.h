// local/apiserver/http/worker_pool.h — threads for work that blocks: writes wait for the disk,
// webhooks for their answer.
//
// Threads are started when all others are busy, up to the limit, and stay. What waits is bounded.
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

namespace berth::local {

class WorkerPool {
 public:
  struct Limits {
    std::size_t threads = 64;
    std::size_t waiting = 4096;
  };
  explicit WorkerPool(Limits limits) : limits_(limits) {}
  ~WorkerPool() { Stop(); }
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // False: too much is waiting, or the pool has stopped; `work` is not run.
  bool Post(std::function<void()> work);
  // What runs is finished, what waits is dropped.
  void Stop();

 private:
  void Run();

  const Limits limits_;
  std::mutex mutex_;
  std::condition_variable work_;
  std::deque<std::function<void()>> queue_;
  std::vector<std::thread> threads_;
  std::size_t idle_ = 0;
  bool stopping_ = false;
};

}  // namespace berth::local
