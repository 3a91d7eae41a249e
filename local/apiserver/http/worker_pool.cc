#include "local/apiserver/http/worker_pool.h"

#include <utility>

namespace berth::local {

bool WorkerPool::Post(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  if (stopping_ || queue_.size() >= limits_.waiting) return false;
  queue_.push_back(std::move(work));
  WakeLocked();
  return true;
}

// One more thread for what waits, where one more may run. Every thread looks for more work before
// it rests: whoever is running takes what no thread is woken for.
void WorkerPool::WakeLocked() {
  if (stopping_ || woken_ >= queue_.size() || running_ >= limits_.running) return;
  if (idle_ > woken_) {
    work_.notify_one();
  } else if (threads_.size() < limits_.threads) {
    threads_.emplace_back([this] { Run(); });
  } else {
    return;
  }
  ++woken_;
  ++running_;
}

void WorkerPool::Run() {
  BlockingObserver::OfThread() = this;
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    work_.wait(lock, [this] { return stopping_ || woken_ > 0; });
    --idle_;
    if (stopping_) return;
    --woken_;
    while (!queue_.empty() && !stopping_) {
      std::function<void()> work = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      work();
      work = nullptr;  // what it holds is let go of outside the lock
      lock.lock();
      if (running_ > limits_.running) break;  // one has come back from waiting
    }
    --running_;
  }
}

void WorkerPool::OnBlock() {
  const std::lock_guard lock(mutex_);
  --running_;
  WakeLocked();
}

void WorkerPool::OnUnblock() {
  const std::lock_guard lock(mutex_);
  ++running_;
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
