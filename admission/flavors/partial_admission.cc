#include "admission/flavors/partial_admission.h"

namespace berth::admission {

bool LargestReducedCounts(const api::Workload& workload,
                          const std::function<bool(const std::vector<std::int32_t>&)>& fits) {
  const SharedList<api::PodSet>& pod_sets = workload.spec.pod_sets;
  std::vector<std::int64_t> slack;
  std::int64_t total = 0;
  for (const api::PodSet& pod_set : pod_sets) {
    slack.push_back(pod_set.count - pod_set.min_count.value_or(pod_set.count));
    total += slack.back();
  }
  if (total == 0) return false;
  const auto counts_for = [&](std::int64_t cut) {
    std::vector<std::int32_t> counts;
    for (std::size_t i = 0; i < pod_sets.size(); ++i) {
      counts.push_back(pod_sets[i].count - static_cast<std::int32_t>(slack[i] * cut / total));
    }
    return counts;
  };
  // The smallest cut that fits; assumes that all larger ones fit too.
  std::int64_t low = 0;
  std::int64_t high = total + 1;
  bool found = false;
  std::int64_t last_asked_that_fits = -1;
  while (low < high) {
    const std::int64_t cut = low + (high - low) / 2;
    if (fits(counts_for(cut))) {
      found = true;
      last_asked_that_fits = cut;
      high = cut;
    } else {
      low = cut + 1;
    }
  }
  return found && last_asked_that_fits == high;
}

}  // namespace berth::admission
