#include "admission/policies/victim_rules.h"

#include <algorithm>

#include "api/checkpoint.h"
#include "api/condition.h"
#include "api/reasons.h"

namespace berth::admission {
namespace {

// A preemption has to gain so many times the work that it loses: the preemptor gains only the time
// by which it starts earlier, and its expected run time is uncertain. Chosen by
// `tools/bench-decisions --victims`.
constexpr double kGainOfALoss = 4;
constexpr int kSlicesOfALength = 8;                               // if checkpoints keep the work
constexpr Duration kLongestSlice = std::chrono::hours(24 * 365);  // is not doubled

double Seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

// How often a time slice of the workload has expired.
int ExpiredSlices(const api::Workload& workload) {
  int expired = 0;
  for (const api::EvictionCount& each : workload.status.evictions) {
    if (each.underlying_cause == api::kTimeSliceExpired) expired += each.count;
  }
  return expired;
}

}  // namespace

WallTime StartOf(const Reservation& reservation) {
  const api::Condition* admitted =
      api::FindCondition(reservation.object->status.conditions, api::kAdmitted);
  return admitted != nullptr && admitted->status == api::ConditionStatus::kTrue
             ? admitted->last_transition_time
             : reservation.reserved_at;
}

void VictimRules::Set(ClusterQueueId queue, const api::QueuePolicy& policy) {
  const Rule rule{policy.victims == api::VictimChoice::kLeastWorkLost,
                  policy.preemption_patience.value_or(Duration::zero()),
                  policy.preempt_min_run.value_or(Duration::zero()),
                  policy.reclaim_min_run.value_or(Duration::zero()),
                  policy.time_slice.value_or(Duration::zero()),
                  policy.least_checkpoint.value_or(Duration::zero())};
  if (rule.time_slice == Duration::zero()) waiting_.erase(queue);
  if (rule == Rule{}) {
    rules_.erase(queue);
  } else {
    rules_[queue] = rule;
  }
}

const VictimRules::Rule& VictimRules::Of(ClusterQueueId queue) const {
  static const Rule kNone;
  const auto found = rules_.find(queue);
  return found == rules_.end() ? kNone : found->second;
}

bool VictimRules::ChoosesLeastWork(ClusterQueueId preemptor) const {
  return Of(preemptor).least_work_lost;
}

bool VictimRules::HasJustBegun(const Reservation& victim, ClusterQueueId preemptor) {
  if (rules_.empty() || victim.evicted) return false;
  const Rule& rule = Of(victim.cluster_queue);
  const Duration least =
      victim.cluster_queue == preemptor ? rule.preempt_min_run : rule.reclaim_min_run;
  if (least == Duration::zero()) return false;
  const WallTime allowed_at = StartOf(victim) + least;
  if (allowed_at <= now_) return false;
  TryAgain(preemptor, allowed_at);
  return true;
}

bool VictimRules::HasTimeSlices(ClusterQueueId queue) const {
  return !rules_.empty() && Of(queue).time_slice > Duration::zero();
}

Duration VictimRules::LeastLoss(const Reservation& victim) const {
  const auto measured = costs_.Of(victim.run_kind);
  return std::max(Of(victim.cluster_queue).least_checkpoint,
                  measured ? measured->lost : Duration::zero());
}

WallTime VictimRules::SliceEnd(const Reservation& reservation) const {
  const Rule& rule = Of(reservation.cluster_queue);
  const api::Workload& object = *reservation.object;
  const bool keeps_its_work =
      api::WorkSinceCheckpoint(object.meta.annotations, rule.time_slice, LeastLoss(reservation)) <=
      rule.time_slice / 2;
  Duration slice = rule.time_slice;
  const int expired = ExpiredSlices(object);
  for (int left = keeps_its_work ? expired / kSlicesOfALength : expired;
       left > 0 && slice < kLongestSlice; --left) {
    slice *= 2;
  }
  return StartOf(reservation) + slice;
}

bool VictimRules::HasUsedItsSlice(const Reservation& victim) {
  if (victim.evicted) return true;
  if (!victim.admitted) return false;
  const WallTime end = SliceEnd(victim);
  if (end <= now_) return true;
  TryAgain(victim.cluster_queue, end);
  search_.first_end = std::min(search_.first_end.value_or(end), end);
  return false;
}

void VictimRules::BeginSearch(const queue::WorkloadInfo& preemptor, ClusterQueueId queue) {
  search_ = {.preemptor = &preemptor, .queue = queue};
  if (!HasTimeSlices(queue)) return;
  const api::Condition* preempted =
      api::FindCondition(preemptor.object->status.conditions, api::kPreempted);
  if (preempted != nullptr && preempted->status == api::ConditionStatus::kTrue &&
      preempted->reason == api::kTimeSliceExpired) {
    const WallTime turn = preemptor.queued_at + Of(queue).time_slice;
    if (turn > now_) return TryAgain(queue, turn);
  }
  const auto first = waiting_.find(queue);
  const bool is_behind = first != waiting_.end() && first->second.until > now_ &&
                         first->second.priority == preemptor.priority &&
                         first->second.queued_at < preemptor.queued_at;
  search_.may_take_turn = !is_behind;
}

void VictimRules::EndSearch(bool found) {
  if (!search_.may_take_turn) return;
  const queue::WorkloadInfo& preemptor = *search_.preemptor;
  if (!found && search_.first_end) {
    waiting_[search_.queue] = {preemptor.priority, preemptor.queued_at, *search_.first_end};
  } else if (const auto own = waiting_.find(search_.queue);
             own != waiting_.end() && own->second.queued_at == preemptor.queued_at) {
    waiting_.erase(own);
  }
}

void VictimRules::NoteAdmission(const Reservation& reservation) {
  if (!HasTimeSlices(reservation.cluster_queue) || reservation.evicted) return;
  const WallTime end = SliceEnd(reservation);
  if (end > now_) TryAgain(reservation.cluster_queue, end);
}

double VictimRules::WorkLost(const Reservation& victim, const PreemptorNeed& need) const {
  if (!victim.admitted || victim.evicted) return 0;
  double size = 0;
  for (const FlavorResourceId fr : need.contested) {
    const Amount needed = AmountOf(need.usage, fr);
    if (needed <= 0) continue;
    const Amount held = AmountOf(victim.usage, fr);
    size = std::max(size, static_cast<double>(held) / static_cast<double>(needed));
  }
  const Duration ran = std::max(now_ - StartOf(victim), Duration::zero());
  return size *
         Seconds(api::WorkSinceCheckpoint(victim.object->meta.annotations, ran, LeastLoss(victim)));
}

std::optional<WallTime> VictimRules::PutOffUntil(const PreemptorNeed& need, double work_lost) {
  const Duration patience = Of(need.queue).patience;
  if (patience == Duration::zero()) return std::nullopt;
  const WallTime until = need.workload.queued_at + patience;
  if (until <= now_ || kGainOfALoss * work_lost <= static_cast<double>(need.workload.run_seconds)) {
    return std::nullopt;
  }
  TryAgain(need.queue, until);
  return until;
}

void VictimRules::TryAgain(ClusterQueueId queue, WallTime at) {
  const auto [found, added] = looks_.emplace(queue, at);
  if (!added) found->second = std::min(found->second, at);
}

std::vector<ClusterQueueId> VictimRules::TakeDue(WallTime now) {
  std::vector<ClusterQueueId> due;
  for (auto look = looks_.begin(); look != looks_.end();) {
    if (look->second > now) {
      ++look;
      continue;
    }
    due.push_back(look->first);
    look = looks_.erase(look);
  }
  return due;
}

std::optional<WallTime> VictimRules::Next() const {
  if (looks_.empty()) return std::nullopt;
  return std::min_element(looks_.begin(), looks_.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->second;
}

}  // namespace berth::admission
