// base/threads/thread_executor.h — an Executor with its own thread, for work that may block.
//
// A task that throws ends itself; the next one runs (guarded.h).
//
// Threads: PostAfter may be called from any thread, its own tasks included.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "base/executor.h"

namespace berth {

class ThreadExecutor final : public Executor {
 public:
  ThreadExecutor();
  ~ThreadExecutor() override;  // calls Stop
  ThreadExecutor(const ThreadExecutor&) = delete;
  ThreadExecutor& operator=(const ThreadExecutor&) = delete;

  void PostAfter(Duration delay, std::function<void()> task) override;

  // Waits for the running task and drops the others. Must not be called by a task of this executor.
  void Stop();

 private:
  void Run();

  using Due = std::pair<std::chrono::steady_clock::time_point, std::uint64_t>;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::map<Due, std::function<void()>> tasks_;
  std::uint64_t next_sequence_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace berth
