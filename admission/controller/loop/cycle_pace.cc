#include "admission/controller/loop/cycle_pace.h"

#include <algorithm>
#include <utility>

#include "queue/ordering.h"

namespace berth::admission {

CyclePace::CyclePace(Executor& executor, const Clock& clock, Duration wake_up_batch, Work work)
    : executor_(executor),
      clock_(clock),
      wake_up_batch_(wake_up_batch),
      work_(std::move(work)),
      woken_at_(clock.SteadyNow() - kShortBatch),
      contested_at_(clock.SteadyNow() - kCalm) {}

void CyclePace::Range::Add(const Range& other) {
  lowest = std::min(lowest, other.lowest);
  highest = std::max(highest, other.highest);
}

void CyclePace::RecentRange::Add(std::int64_t value, SteadyTime now) {
  if (now - since_ >= window_) {
    before_ = now - since_ < 2 * window_ ? present_ : Range{};
    present_ = Range{};
    since_ = now;
  }
  present_.Add({value, value});
}

CyclePace::Range CyclePace::RecentRange::Get() const {
  Range range = before_;
  range.Add(present_);
  return range;
}

void CyclePace::NotePreemption(std::int64_t preemptor_priority) {
  contested_at_ = clock_.SteadyNow();
  contenders_.Add(preemptor_priority, contested_at_);
}

void CyclePace::NoteArrival(std::int64_t priority) {
  const SteadyTime now = clock_.SteadyNow();
  arrivals_.Add(priority, now);
  if (priority == arrivals_.Get().lowest) return;
  contested_at_ = now;
  contenders_.Add(priority, now);
}

void CyclePace::OnChange() {
  if (!running_) return;
  pause_ = kShortestPause;
  ScheduleWakeUps();
  if (work_.has_heads()) Kick();
}

void CyclePace::KickAfter(Duration delay) {
  if (!running_ || (cycle_posted_ && delay > Duration::zero())) return;
  cycle_posted_ = true;
  const std::uint64_t ticket = ++kick_ticket_;
  executor_.PostAfter(delay, [weak = std::weak_ptr(self_), ticket] {
    const auto self = weak.lock();
    if (self != nullptr && (*self)->kick_ticket_ == ticket) (*self)->RunCycle();
  });
}

void CyclePace::RunCycle() {
  cycle_posted_ = false;
  if (!running_ || !work_.may_run()) return;
  const Progress progress = work_.run_cycle();
  ScheduleWakeUps();
  if (!work_.has_heads()) return;
  if (progress == Progress::kSome) {
    pause_ = kShortestPause;
    return Kick();
  }
  KickAfter(pause_);
  pause_ = std::min(pause_ * 2, kLongestPause);
}

Duration CyclePace::ShortBatch() const {
  return std::min(wake_up_batch_, std::clamp(woken_at_ + kShortBatch - clock_.SteadyNow(),
                                             kLoneBatch, kShortBatch));
}

void CyclePace::ScheduleWakeUps() {
  if (!running_ || !work_.has_wake_ups()) return;
  if (!early_posted_ && work_.has_new_wake_ups()) {
    early_posted_ = true;
    executor_.PostAfter(ShortBatch(), [weak = std::weak_ptr(self_)] {
      if (const auto self = weak.lock()) (*self)->RunEarlyWakeUps();
    });
  }
  if (wake_up_posted_) return;
  wake_up_posted_ = true;
  executor_.PostAfter(wake_up_batch_, [weak = std::weak_ptr(self_), ticket = wake_up_ticket_] {
    const auto self = weak.lock();
    if (self == nullptr || (*self)->wake_up_ticket_ != ticket) return;
    (*self)->RunWakeUps(queue::kEveryPriority);
  });
}

void CyclePace::RunEarlyWakeUps() {
  early_posted_ = false;
  const bool contested = clock_.SteadyNow() - contested_at_ < kCalm;
  RunWakeUps(contested ? contenders_.Get().highest : queue::kEveryPriority);
}

void CyclePace::RunWakeUps(std::int64_t from) {
  if (from == queue::kEveryPriority) {
    ++wake_up_ticket_;
    wake_up_posted_ = false;
  }
  if (!running_ || !work_.has_wake_ups()) return;
  woken_at_ = clock_.SteadyNow();
  work_.run_wake_ups(from);
  OnChange();
}

}  // namespace berth::admission
