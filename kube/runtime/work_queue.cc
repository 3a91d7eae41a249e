#include "kube/runtime/work_queue.h"

#include <algorithm>
#include <utility>

namespace berth::kube {

WorkQueue::WorkQueue(Executor& executor, WorkQueueOptions options, std::function<void()> on_ready,
                     ControllerStats* stats)
    : executor_(executor),
      options_(options),
      on_ready_(std::move(on_ready)),
      stats_(stats),
      self_(std::make_shared<WorkQueue*>(this)) {}

void WorkQueue::Add(const Key& key) {
  due_.erase(key);
  const auto [place, is_new] = dirty_.try_emplace(key);
  if (!is_new) return;
  if (stats_ != nullptr) {
    place->second = stats_->Now();
    stats_->OnAdded();
  }
  if (processing_.contains(key)) return;
  order_.push_back(place);
  on_ready_();
}

void WorkQueue::AddAfter(const Key& key, Duration delay) {
  if (delay <= Duration::zero()) return Add(key);
  const auto [found, is_first] = due_.try_emplace(key, Delayed{next_ticket_, delay});
  // An earlier timer with a delay that is not longer fires earlier. A shorter delay gets another
  // timer: the queue has no clock to know how much of the earlier delay has passed.
  if (!is_first && found->second.delay <= delay) return;
  if (is_first) ++next_ticket_;
  found->second.delay = delay;
  const std::uint64_t ticket = found->second.ticket;
  executor_.PostAfter(delay, [weak = std::weak_ptr(self_), key, ticket] {
    if (const auto self = weak.lock()) (*self)->Fire(key, ticket);
  });
}

void WorkQueue::Fire(const Key& key, std::uint64_t ticket) {
  const auto found = due_.find(key);
  if (found != due_.end() && found->second.ticket == ticket) Add(key);
}

void WorkQueue::AddRateLimited(const Key& key) {
  const Duration longest = options_.longest_backoff;
  int& failures = failures_[key];
  Duration delay = options_.first_backoff;
  for (int i = 0; i < failures && delay < longest; ++i) delay *= 2;
  ++failures;
  if (stats_ != nullptr) stats_->OnRetry();
  AddAfter(key, std::min(delay, longest));
}

std::optional<WorkQueue::Key> WorkQueue::Take() {
  if (order_.empty()) return std::nullopt;
  const auto taken = processing_.insert(dirty_.extract(order_.front()));
  order_.pop_front();
  if (stats_ != nullptr) stats_->OnTaken(taken.position->second);
  return taken.position->first;
}

void WorkQueue::Done(const Key& key) {
  processing_.erase(key);
  const auto again = dirty_.find(key);
  if (again == dirty_.end()) return;
  order_.push_back(again);
  on_ready_();
}

}  // namespace berth::kube
