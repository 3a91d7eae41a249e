// admission/controller/loop/cycle_pace.h — when the next cycle of a Scheduler runs, and when its
// wake-ups do.
//
// Cycles run back to back while they change something. A cycle that changes nothing is followed by
// a pause that doubles up to a second and ends with the next change.
//
// Wake-ups of parked workloads are batched. Wake-ups run kShortBatch apart; one that follows no
// other within this time runs after kLoneBatch. While workloads with more right to room keep
// arriving, room that such a wake-up hands out is soon preempted. Therefore workloads below the
// highest priority that has arrived lately stay parked then: their wake-ups run as one after
// `wake_up_batch`. Lately: within the last kCalm to two kCalm. Two events count as a sign of more
// right: a preemption by a workload, and the arrival of a workload with a higher priority than
// others that arrived in the last minutes.
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
  static constexpr Duration kShortBatch = std::chrono::milliseconds(50);
  static constexpr Duration kLoneBatch = std::chrono::milliseconds(5);

  enum class Progress : std::uint8_t { kNone, kSome };
  struct Work {
    std::function<bool()> may_run;    // whether a cycle would take heads, and may run
    std::function<bool()> has_heads;  // whether another cycle would take heads after this one
    std::function<Progress()> run_cycle;
    std::function<bool()> has_wake_ups;
    std::function<bool()> has_new_wake_ups;  // since the last run
    // Tries parked workloads again, from the lowest priority `from` on.
    std::function<void(std::int64_t from)> run_wake_ups;
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
  void NotePreemption(std::int64_t preemptor_priority);
  void NoteArrival(std::int64_t priority);

  // Whether the last cycle changed nothing, and nothing has changed since.
  bool repeats() const { return pause_ > kShortestPause; }
  // Whether several cycles in a row have changed nothing.
  bool at_rest() const { return pause_ > kShortestPause * 8; }
  bool awaits_wake_up() const { return wake_up_posted_; }

 private:
  static constexpr Duration kShortestPause = std::chrono::milliseconds(1);
  static constexpr Duration kLongestPause = std::chrono::seconds(1);

  struct Range {
    std::int64_t lowest = std::numeric_limits<std::int64_t>::max();
    std::int64_t highest = std::numeric_limits<std::int64_t>::min();
    void Add(const Range& other);
  };
  // The range of the values of one to two windows.
  class RecentRange {
   public:
    explicit RecentRange(Duration window) : window_(window) {}
    void Add(std::int64_t value, SteadyTime now);
    Range Get() const;

   private:
    const Duration window_;
    SteadyTime since_{};  // begin of the present window
    Range present_;
    Range before_;
  };

  void KickAfter(Duration delay);
  void RunCycle();
  Duration ShortBatch() const;
  void RunWakeUps(std::int64_t from);
  void RunEarlyWakeUps();

  Executor& executor_;
  const Clock& clock_;
  const Duration wake_up_batch_;
  const Work work_;
  bool running_ = false;
  bool cycle_posted_ = false;
  bool wake_up_posted_ = false;  // a wake-up of all priorities
  bool early_posted_ = false;
  // The numbers of the posted cycle and of the posted wake-up of all; older tickets do nothing.
  std::uint64_t kick_ticket_ = 0;
  std::uint64_t wake_up_ticket_ = 0;
  Duration pause_ = kShortestPause;
  SteadyTime woken_at_;            // the last wake-ups
  SteadyTime contested_at_;        // the last sign of a workload with more right to room
  RecentRange contenders_{kCalm};  // the priorities of those with more right
  RecentRange arrivals_{std::chrono::minutes(1)};  // the priorities of all arrivals
  std::shared_ptr<CyclePace*> self_ = std::make_shared<CyclePace*>(this);
};

}  // namespace berth::admission
