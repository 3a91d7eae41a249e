// local/apiserver/http/worker_pool.h — threads for work that may block: on webhooks, on the disk.
//
// Few threads run at a time, which avoids switches for work that does not block; for each thread in
// a BlockingScope another may run. Threads start on demand, up to the limit, and stay. The queue of
// waiting work is bounded. The works of a user begin in their order. Users take turns, and have
// their share of the queue and of the threads (share.h), so that the writes of one user that wait
// for a dead webhook leave threads to the others.
//
// Threads: Post may be called from any thread.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "local/apiserver/blocking.h"

namespace berth::local {

class WorkerPool final : private BlockingObserver {
 public:
  struct Limits {
    std::size_t threads = 64;
    std::size_t running = 64;  // threads that run at a time, apart from those in a BlockingScope
    std::size_t waiting = 4096;
  };
  explicit WorkerPool(Limits limits) : limits_(limits) {}
  ~WorkerPool() override { Stop(); }
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // False: the queue or the user's share of it is full, or the pool has stopped; `work` will not
  // run. An empty `user` is the server itself, which has no share as a limit.
  bool Post(std::function<void()> work, const std::string& user = "");
  // Finishes running work, drops waiting work.
  void Stop();

 private:
  using Work = std::function<void()>;
  struct Taken {
    std::string user;
    Work work;  // null: no user with waiting work may have another thread
  };

  void Run();
  Taken TakeLocked();
  void ReleaseLocked(const std::string& user);
  void WakeLocked();
  void OnBlock() override;
  void OnUnblock() override;

  const Limits limits_;
  std::mutex mutex_;
  std::condition_variable work_;
  std::map<std::string, std::deque<Work>> queues_;  // by user; none is empty
  std::deque<std::string> turns_;                   // each user of queues_ once
  std::size_t waiting_ = 0;                         // works in all queues
  std::map<std::string, std::size_t> held_;  // threads by user, also those in a BlockingScope
  std::size_t busy_ = 0;                     // the sum of held_
  std::vector<std::thread> threads_;
  std::size_t idle_ = 0;     // threads that wait for work
  std::size_t running_ = 0;  // threads with work outside a BlockingScope, woken ones included
  std::size_t woken_ = 0;    // threads woken for work that have not resumed yet
  bool stopping_ = false;
};

}  // namespace berth::local
