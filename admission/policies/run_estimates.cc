#include "admission/policies/run_estimates.h"

#include <vector>

#include "base/median.h"

namespace berth::admission {
namespace {

void AddTo(std::deque<std::int64_t>& runs, std::int64_t seconds) {
  if (runs.size() == RunEstimates::kMostRuns) runs.pop_front();
  runs.push_back(seconds);
}

}  // namespace

void RunEstimates::Add(queue::ClusterQueueId queue, std::uint64_t shape, std::int64_t seconds) {
  AddTo(by_queue_[queue], seconds);
  const std::pair key{queue, shape};
  if (by_shape_.size() < kMostShapes || by_shape_.contains(key)) AddTo(by_shape_[key], seconds);
}

std::optional<std::int64_t> RunEstimates::MedianOf(const Runs& runs) {
  if (runs.size() < kFewestRuns) return std::nullopt;
  return berth::MedianOf(std::vector(runs.begin(), runs.end()));
}

std::optional<std::int64_t> RunEstimates::SecondsOf(queue::ClusterQueueId queue,
                                                    std::uint64_t shape) const {
  const auto alike = by_shape_.find({queue, shape});
  if (alike != by_shape_.end()) {
    if (const auto median = MedianOf(alike->second)) return median;
  }
  const auto all = by_queue_.find(queue);
  return all == by_queue_.end() ? std::nullopt : MedianOf(all->second);
}

}  // namespace berth::admission
