#include "local/apiserver/http/worker_pool.h"

#include <algorithm>
#include <utility>

#include "base/threads/guarded.h"
#include "local/apiserver/http/share.h"

namespace berth::local {

bool WorkerPool::Post(std::function<void()> work, const std::string& user) {
  const std::lock_guard lock(mutex_);
  if (stopping_ || waiting_ >= limits_.waiting) return false;
  const auto known = queues_.find(user);
  const std::size_t held = known == queues_.end() ? 0 : known->second.size();
  if (!user.empty() && !HasShare(held, waiting_, limits_.waiting)) return false;
  if (known == queues_.end()) turns_.push_back(user);
  queues_[user].push_back(std::move(work));
  ++waiting_;
  WakeLocked();
  return true;
}

WorkerPool::Taken WorkerPool::TakeLocked() {
  const auto may_run = [this](const std::string& user) {
    const auto held = held_.find(user);
    return user.empty() || HasShare(held == held_.end() ? 0 : held->second, busy_, limits_.threads);
  };
  const auto turn = std::find_if(turns_.begin(), turns_.end(), may_run);
  if (turn == turns_.end()) return {};
  Taken taken{std::move(*turn), nullptr};
  turns_.erase(turn);
  const auto queue = queues_.find(taken.user);
  taken.work = std::move(queue->second.front());
  queue->second.pop_front();
  --waiting_;
  ++held_[taken.user];
  ++busy_;
  if (queue->second.empty()) {
    queues_.erase(queue);
  } else {
    turns_.push_back(taken.user);
  }
  return taken;
}

void WorkerPool::ReleaseLocked(const std::string& user) {
  const auto held = held_.find(user);
  if (--held->second == 0) held_.erase(held);
  --busy_;
}

// Wakes or starts one thread if work waits and another thread may run. Every thread takes more work
// before it rests, so work for which no thread is woken is taken by a running one.
void WorkerPool::WakeLocked() {
  if (stopping_ || woken_ >= waiting_ || running_ >= limits_.running) return;
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
    while (waiting_ > 0 && !stopping_) {
      Taken taken = TakeLocked();
      if (taken.work == nullptr) break;  // the end of a work looks again
      lock.unlock();
      // A request whose handler throws is answered 500 when its responder goes.
      RunGuarded("a request of the API server failed", taken.work);
      taken.work = nullptr;  // releases the captures outside the lock
      lock.lock();
      ReleaseLocked(taken.user);
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
  std::map<std::string, std::deque<Work>> dropped;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    threads.swap(threads_);
    dropped.swap(queues_);
    turns_.clear();
    waiting_ = 0;
  }
  work_.notify_all();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace berth::local
