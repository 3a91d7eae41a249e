#include "local/apiserver/http/worker_pool.h"

#include <utility>

namespace berth::local {

bool WorkerPool::Post(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  if (stopping_ || queue_.size() >= limits_.waiting) return false;
  queue_.push_back(std::move(work));
  if (idle_ < queue_.size() && threads_.size() < limits_.threads) {
    threads_.emplace_back([this] { Run(); });
  } else {
    work_.notify_one();
  }
  return true;
}

void WorkerPool::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    work_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    --idle_;
    if (stopping_) return;
    std::function<void()> work = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    work();
    work = nullptr;  // what it holds is let go of outside the lock
    lock.lock();
  }
}

void WorkerPool::Stop() {
  std::vector<std::thread> threads;
  std::deque<std::function<void()>> dropped;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    threads.swap(threads_);
    dropped.swap(queue_);
  }
  work_.notify_all();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace berth::local
