#include "local/apiserver/http/worker_pool.h"

#include <utility>

#include "base/threads/guarded.h"

namespace berth::local {

bool WorkerPool::Post(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  if (stopping_ || queue_.size() >= limits_.waiting) return false;
  queue_.push_back(std::move(work));
  WakeLocked();
  return true;
}

// Wakes or starts one thread if work waits and another thread may run. Every thread takes more work
// before it rests, so work for which no thread is woken is taken by a running one.
void WorkerPool::WakeLocked() {
  if (stopping_ || woken_ >= queue_.size() || running_ >= limits_.running) return;
  if (idle_ > woken_) {
    work_.notify_one();
  } else if (threads_.size() < limits_.threads) {
    // Where the machine has no thread, the work waits for those that there are.
    const auto start = [this] {
      threads_.push_back(StartThread("a thread of the API server failed", [this] { Run(); }));
    };
    if (!RunGuarded("no thread of the API server could be started", start)) return;
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
      // A request whose handler throws is answered 500 when its responder goes.
      RunGuarded("a request of the API server failed", work);
      work = nullptr;  // releases the captures outside the lock
      lock.lock();
      if (running_ > limits_.running) break;  // another thread has left its BlockingScope
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
