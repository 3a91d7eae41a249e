#include "base/threads/thread_executor.h"

#include <algorithm>

#include "base/threads/guarded.h"

namespace berth {

ThreadExecutor::ThreadExecutor()
    : thread_(StartThread("the thread of an executor failed", [this] { Run(); })) {}

ThreadExecutor::~ThreadExecutor() { Stop(); }

void ThreadExecutor::PostAfter(Duration delay, std::function<void()> task) {
  const auto due = std::chrono::steady_clock::now() + std::max(delay, Duration::zero());
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    tasks_.emplace(Due{due, next_sequence_++}, std::move(task));
  }
  wake_.notify_one();
}

void ThreadExecutor::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    tasks_.clear();
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void ThreadExecutor::Run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (tasks_.empty()) {
      wake_.wait(lock);
      continue;
    }
    const auto first = tasks_.begin();
    if (first->first.first > std::chrono::steady_clock::now()) {
      const auto due = first->first.first;  // a copy: `first` may be invalid after the wait
      wake_.wait_until(lock, due);
      continue;
    }
    std::function<void()> task = std::move(first->second);
    tasks_.erase(first);
    lock.unlock();
    RunGuarded("a task of an executor failed", task);
    task = nullptr;  // releases the captures outside the lock
    lock.lock();
  }
}

}  // namespace berth
