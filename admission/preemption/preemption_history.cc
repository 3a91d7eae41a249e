#include "admission/preemption/preemption_history.h"

#include <algorithm>

namespace berth::admission {

PreemptionHistory::Known& PreemptionHistory::Get(WorkloadId workload) {
  const auto slot = static_cast<std::size_t>(workload);
  if (slot >= known_.size()) known_.resize(slot + 1);
  return known_[slot];
}

void PreemptionHistory::Note(WorkloadId preemptor, WorkloadId victim) {
  const Known by = Get(preemptor);
  SmallVector<Preemptor, 1>& list = Get(victim).preempted_by;
  erase_if(list, [&](const Preemptor& known) {
    return known.workload == preemptor || Get(known.workload).life != known.life;
  });
  if (list.size() == kMostPerVictim) list.erase(list.begin());
  list.push_back({preemptor, by.life, by.admissions, Get(victim).admissions, departures_});
}

bool PreemptionHistory::InVain(WorkloadId preemptor, WorkloadId victim) const {
  const bool is_known = static_cast<std::size_t>(preemptor) < known_.size();
  if (!is_known || !WasPreempted(victim)) return false;
  const Known& of = known_[static_cast<std::size_t>(victim)];
  const Known& by = known_[static_cast<std::size_t>(preemptor)];
  return std::any_of(of.preempted_by.begin(), of.preempted_by.end(), [&](const Preemptor& known) {
    return known.workload == preemptor && known.life == by.life &&
           known.admissions == by.admissions && known.victims_admissions != of.admissions &&
           known.departures == departures_;
  });
}

void PreemptionHistory::Forget(WorkloadId workload) {
  const auto slot = static_cast<std::size_t>(workload);
  if (slot >= known_.size()) return;
  known_[slot].preempted_by.clear();
  ++known_[slot].life;
}

std::vector<WorkloadId> PreemptionHistory::Above(WorkloadId workload) const {
  std::vector<WorkloadId> above;
  if (!WasPreempted(workload)) return above;
  std::vector<WorkloadId> open = {workload};
  while (!open.empty()) {
    const Known& victim = known_[static_cast<std::size_t>(open.back())];
    open.pop_back();
    for (const Preemptor& preemptor : victim.preempted_by) {
      if (known_[static_cast<std::size_t>(preemptor.workload)].life != preemptor.life) continue;
      const auto place = std::lower_bound(above.begin(), above.end(), preemptor.workload);
      if (place != above.end() && *place == preemptor.workload) continue;
      above.insert(place, preemptor.workload);
      open.push_back(preemptor.workload);
    }
  }
  return above;
}

}  // namespace berth::admission
