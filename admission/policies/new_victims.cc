#include "admission/policies/new_victims.h"

#include <algorithm>

#include "admission/policies/victim_rules.h"

namespace berth::admission {

void NewVictims::NoteRun(ClusterQueueId queue, Duration ran) {
  Runs& runs = runs_[queue];
  runs.count = std::min(runs.count + 1, kMostRuns);
  runs.mean += (std::chrono::duration<double>(ran).count() - runs.mean) / runs.count;
}

bool NewVictims::AreLong(ClusterQueueId queue) const {
  const auto found = runs_.find(queue);
  return found != runs_.end() &&
         found->second.mean >= std::chrono::duration<double>(kSpared).count();
}

std::optional<WallTime> NewVictims::HeldUntil(WorkloadId preemptor, WallTime queued_at,
                                              const PreemptionTargets& targets, WallTime now) {
  std::optional<WallTime> until;
  for (const PreemptionTarget& target : targets) {
    const Reservation& victim = *target.reservation;
    if (!victim.admitted || victim.evicted) continue;
    const WallTime start = StartOf(victim);
    if (start <= queued_at || start + kSpared <= now || !AreLong(victim.cluster_queue)) continue;
    until = std::max(until, {start + kSpared});
  }
  if (!until) return std::nullopt;
  WallTime& since = held_since_.try_emplace(preemptor, now).first->second;
  if (now >= since + kHeldAgainAfter) since = now;
  until = std::min(*until, since + kSpared);
  return now < *until ? until : std::nullopt;
}

void NewVictims::Forget(WorkloadId preemptor) { held_since_.erase(preemptor); }

}  // namespace berth::admission
