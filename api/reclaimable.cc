#include "api/reclaimable.h"

#include <algorithm>

namespace berth::api {

bool MayTakeBack(const Workload& slice, const ReclaimablePod& told) {
  if (!slice.status.admission) return false;
  const auto is_meant = [&told](const auto& each) { return each.name == told.pod_set; };
  const auto& pod_sets = slice.spec.pod_sets;
  const auto pods = std::find_if(pod_sets.begin(), pod_sets.end(), is_meant);
  const auto& assignments = slice.status.admission->pod_set_assignments;
  const auto granted = std::find_if(assignments.begin(), assignments.end(), is_meant);
  if (pods == pod_sets.end() || granted == assignments.end()) return false;
  return pods->count < granted->count || pods->count - told.count >= granted->count;
}

}  // namespace berth::api
