#include "admission/controller/loop/cycle_pace.h"

#include <algorithm>
#include <utility>

namespace berth::admission {

CyclePace::CyclePace(Executor& executor, const Clock& clock, Duration wake_up_batch, Work work)
    : executor_(executor),
      clock_(clock),
      wake_up_batch_(wake_up_batch),
      work_(std::move(work)),
      woken_at_(clock.SteadyNow() - kCalmBatch),
      contested_at_(clock.SteadyNow() - kCalm) {}

void CyclePace::NoteArrival(std::int32_t priority) {
  constexpr Duration kWindow = std::chrono::minutes(1);
  const SteadyTime now = clock_.SteadyNow();
  if (now - window_at_ >= kWindow) {
    window_at_ = now;
    lowest_before_ = std::exchange(lowest_, std::numeric_limits<std::int32_t>::max());
  }
  lowest_ = std::min(lowest_, priority);
  if (priority > std::min(lowest_, lowest_before_)) contested_at_ = now;
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

Duration CyclePace::WakeUpBatch() const {
  const SteadyTime now = clock_.SteadyNow();
  if (now - contested_at_ < kCalm) return wake_up_batch_;
  return std::min(wake_up_batch_, std::clamp(woken_at_ + kCalmBatch - now, kLoneBatch, kCalmBatch));
}

void CyclePace::ScheduleWakeUps() {
  if (!running_ || wake_up_posted_ || !work_.has_wake_ups()) return;
  wake_up_posted_ = true;
  executor_.PostAfter(WakeUpBatch(), [weak = std::weak_ptr(self_)] {
    const auto self = weak.lock();
    if (self == nullptr) return;
    (*self)->wake_up_posted_ = false;
    if (!(*self)->running_) return;
    (*self)->woken_at_ = (*self)->clock_.SteadyNow();
    (*self)->work_.run_wake_ups();
    (*self)->OnChange();
  });
}

}  // namespace berth::admission
