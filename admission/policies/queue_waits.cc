#include "admission/policies/queue_waits.h"

#include <algorithm>
#include <vector>

namespace berth::admission {
namespace {

template <typename T>
T QuantileOf(std::vector<T>& values, std::size_t of_thousand) {
  const auto at = static_cast<std::ptrdiff_t>((values.size() - 1) * of_thousand / 1000);
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<std::size_t>(at)];
}

}  // namespace

void QueueWaits::Add(queue::ClusterQueueId queue, Duration wait, std::int64_t run_seconds) {
  Waits& waits = queues_[queue];
  if (waits.starts.size() == kMost) waits.starts.pop_front();
  waits.starts.push_back({std::max(wait, Duration::zero()), run_seconds});
  ++waits.new_ones;
}

Duration QueueWaits::ReserveAfter(queue::ClusterQueueId queue) {
  Waits& known = queues_[queue];
  if (known.starts.size() < kFewest || known.new_ones < kNewOnes) return known.after;
  known.new_ones = 0;
  std::vector<Duration> waits;
  std::vector<std::int64_t> runs;
  for (const Start& start : known.starts) {
    waits.push_back(start.wait);
    runs.push_back(start.run_seconds);
  }
  known.after = QuantileOf(waits, 997) + std::chrono::seconds(QuantileOf(runs, 500)) / 2;
  return known.after;
}

}  // namespace berth::admission
