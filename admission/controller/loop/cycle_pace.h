// admission/controller/loop/cycle_pace.h — when the next cycle of a Scheduler runs, and when its
// wake-ups do.
//
// Cycles run back to back while they change something. A cycle that changes nothing is followed by
// a pause that doubles up to a second and ends with the next change.
//
// Wake-ups of parked workloads are batched: those that are due within `wake_up_batch` run as one.
// While workloads with more right to room keep arriving, room that a wake-up hands out at once is
// soon preempted; therefore wake-ups wait for the whole batch. If no such workload has arrived for
// kCalm, the wait would only leave room unused: wake-ups then run kCalmBatch apart, and one that
// follows no other within this time runs after kLoneBatch. Two events count as a sign of more
// right: a preemption, and the arrival of a workload with a higher priority than others that
// arrived in the last minutes.
//
// Threads: one Executor. Errors: none.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>

#include "base/clock.h"
#include "base/executor.h"

namespace berth::admission {

class CyclePace {
 public:
  static constexpr Duration kCalm = std::chrono::seconds(3);
  static constexpr Duration kCalmBatch = std::chrono::milliseconds(50);
  static constexpr Duration kLoneBatch = std::chrono::milliseconds(5);

  enum class Progress : std::uint8_t { kNone, kSome };
  struct Work {
    std::function<bool()> may_run;    // whether a cycle would take heads, and may run
    std::function<bool()> has_heads;  // whether another cycle would take heads after this one
    std::function<Progress()> run_cycle;
    std::function<bool()> has_wake_ups;
    std::function<void()> run_wake_ups;
  };

  // `work` is called between Start and Stop only.
  CyclePace(Executor& executor, const Clock& clock, Duration wake_up_batch, Work work);
  CyclePace(const CyclePace&) = delete;
  CyclePace& operator=(const CyclePace&) = delete;

  void Start() { running_ = true; }
  void Stop() { running_ = false; }
  bool running() const { return running_; }

  // A change may let a head move: ends the pause, runs the next cycle soon, and batches wake-ups.
  void OnChange();
  // Runs the next cycle soon; the pause after it does not change.
  void Kick() { KickAfter(Duration::zero()); }
  void ScheduleWakeUps();
  void NotePreemption() { contested_at_ = clock_.SteadyNow(); }
  void NoteArrival(std::int32_t priority);

  // Whether the last cycle changed nothing, and nothing has changed since.
  bool repeats() const { return pause_ > kShortestPause; }
  // Whether several cycles in a row have changed nothing.
  bool at_rest() const { return pause_ > kShortestPause * 8; }
  bool awaits_wake_up() const { return wake_up_posted_; }

 private:
  static constexpr Duration kShortestPause = std::chrono::milliseconds(1);
  static constexpr Duration kLongestPause = std::chrono::seconds(1);

  void KickAfter(Duration delay);
  void RunCycle();
  Duration WakeUpBatch() const;

  Executor& executor_;
  const Clock& clock_;
  const Duration wake_up_batch_;
  const Work work_;
  bool running_ = false;
  bool cycle_posted_ = false;
  bool wake_up_posted_ = false;
  std::uint64_t kick_ticket_ = 0;  // number of the posted cycle; older tickets do nothing
  Duration pause_ = kShortestPause;
  SteadyTime woken_at_;      // the last wake-ups
  SteadyTime contested_at_;  // the last sign of a workload with more right to room
  // The lowest priority of arrivals in the present window, and in the window before it.
  std::int32_t lowest_ = std::numeric_limits<std::int32_t>::max();
  std::int32_t lowest_before_ = std::numeric_limits<std::int32_t>::max();
  SteadyTime window_at_{};
  std::shared_ptr<CyclePace*> self_ = std::make_shared<CyclePace*>(this);
};

}  // namespace berth::admission
