// admission/controller/cycle_pace.h — when the next cycle of a Scheduler runs, and when its wake-ups
// do.
//
// Cycles run back to back while they change something. A cycle that changes nothing is followed by a
// pause that doubles up to a second and ends with the next change.
//
// Wake-ups of parked workloads are batched: those that are due within `wake_up_batch` run as one.
// While no preemption has happened for kCalm, the batch is kCalmBatch long. A preemption shows that
// room which is given out at once is soon taken back: the workloads that come in the next moments
// have a right to it. Without preemptions a wait leaves room unused.
//
// Threads: one Executor. Errors: none.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/clock.h"
#include "base/executor.h"

namespace berth::admission {

class CyclePace {
 public:
  static constexpr Duration kCalm = std::chrono::seconds(5);
  static constexpr Duration kCalmBatch = std::chrono::milliseconds(50);

  enum class Progress : std::uint8_t { kNone, kSome };
  struct Work {
    std::function<bool()> may_run;    // whether a cycle would take heads, and may
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
  void NotePreemption() { preempted_at_ = clock_.SteadyNow(); }

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
  SteadyTime preempted_at_;
  std::shared_ptr<CyclePace*> self_ = std::make_shared<CyclePace*>(this);
};

}  // namespace berth::admission
