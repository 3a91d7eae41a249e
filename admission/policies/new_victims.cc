#include "admission/policies/new_victims.h"

#include <algorithm>

#include "admission/policies/victim_rules.h"

namespace berth::admission {

void NewVictims::Runs::Add(Duration ran) {
  count = std::min(count + 1, kMostRuns);
  mean += (std::chrono::duration<double>(ran).count() - mean) / count;
}

void NewVictims::NoteRun(ClusterQueueId queue, Duration ran) {
  runs_[queue].Add(ran);
  all_runs_.Add(ran);
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

std::optional<WallTime> NewVictims::SoonDoneAt(const Reservation& victim, WallTime now) const {
  constexpr Duration kClockGrain =
      std::chrono::seconds(1);  // the start and the mean have whole seconds
  if (!victim.admitted || victim.evicted) return std::nullopt;
  const auto found = runs_.find(victim.cluster_queue);
  const bool of_queue = found != runs_.end() && found->second.count >= kFewestRuns;
  const Runs& runs = of_queue ? found->second : all_runs_;
  const auto mean = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(runs.mean));
  if (runs.count < kFewestRuns || mean > kShort) return std::nullopt;
  const WallTime end = StartOf(victim) + 2 * (mean + kClockGrain);
  return now < end ? std::optional(end) : std::nullopt;
}

void NewVictims::Forget(WorkloadId preemptor) { held_since_.erase(preemptor); }

}  // namespace berth::admission
