// admission/controller/loop/scheduler_loop.h — runs the Scheduler and writes its decisions to the
// API.
//
//     informers ─▶ Scheduler ─RunCycle─▶ decisions ─▶ writes, many at once ─▶ informers
//                      ▲  assumed state                    │ failed
//                      └──────────── taken back ───────────┘
//
// Cycles run back to back on assumed state (admission/controller/loop/cycle_pace.h) and wait for
// writes only while too many are open.
//
// An admission or preemption that meets a conflict is written again on the newer object, as long as
// no fact that the decision rests on has changed. After a write with unknown outcome the Workload
// is read back before the next decision on it, and from the second failure on after a pause that
// doubles; a decision that was written after all gets its events then. A workload whose write is
// refused for good is put aside for a while.
//
// Threads: one Executor.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "admission/controller/loop/cycle_pace.h"
#include "admission/controller/loop/decided_writes.h"
#include "admission/controller/loop/second_pass.h"
#include "admission/controller/notes/pending_notes.h"
#include "admission/controller/workloads/workload_writer.h"
#include "admission/driver.h"
#include "base/clock.h"
#include "base/executor.h"
#include "kube/client/informer.h"
#include "kube/runtime/events.h"
#include "kube/runtime/manager.h"
#include "queue/ordering.h"

namespace berth::admission {

class AdmissionMetrics;

struct SchedulerLoopParts {
  kube::Manager& manager;
  Driver& driver;
  WorkloadWriter& writer;
  PendingNotes& notes;
  kube::EventRecorder& events;
  const Clock& clock;
  AdmissionMetrics& metrics;
  Duration wake_up_batch;         // CyclePace
  std::function<void()> on_turn;  // after each cycle and each batch of wake-ups; may be null
};

class SchedulerLoop {
 public:
  explicit SchedulerLoop(SchedulerLoopParts parts);
  SchedulerLoop(const SchedulerLoop&) = delete;
  SchedulerLoop& operator=(const SchedulerLoop&) = delete;

  // Feeds the informers' objects into the scheduler. Call before the informers start.
  void Connect();
  // Begins to run cycles. Call on the leader, after the informers have synced.
  void Start();
  void Stop() { pace_.Stop(); }
  // Call after the scheduler was told of a change that may let a head move.
  void OnChange() { Changed(); }

  // True where no head can move, no write is open and no wake-up is due.
  bool idle() const;
  std::int64_t cycle_count() const { return cycle_count_; }

 private:
  using Progress = CyclePace::Progress;

  CyclePace::Work PacedWork();
  void FeedWorkloads();

  bool IsStill() const;
  queue::OrderingOptions Ordering() const;
  bool Unblocks(const api::Workload& before, const api::Workload& after) const;
  void SayIfGateCleared(const api::Workload& before, const api::Workload& after);
  void Changed();          // a change may let a head move
  void WorkloadChanged();  // the same, for a change of Workloads alone
  Scheduler::Heads DueHeads(SteadyTime now);
  Progress RunCycle();
  void Count(const CycleResult& result, Duration span);
  bool HasHeads() const;
  void RestorePlans();
  void RunWakeUps(std::int64_t from);
  void ScheduleNextTurn();
  Progress Perform(const CycleResult& result);
  // `copy`: a copy of the decision, which all its writes share (Keep).
  Progress Perform(const DecidedWrite& write, std::shared_ptr<const Decision>& copy);
  DecidedWrites Writes() const;
  void Reserve(const DecidedWrite& decided, std::shared_ptr<const Decision>& copy);
  void OnReserved(const Decision& decision, const api::WorkloadStatus& status);
  void EndReplaced(const Decision& decision);
  // Evicts the victim, or waits first until the victim is expected to have ended by itself.
  Progress Evict(const DecidedWrite& decided, std::shared_ptr<const Decision>& copy);
  void EvictIfStillDue(const std::shared_ptr<const DecidedWrite>& write,
                       const std::shared_ptr<const api::Workload>& decided_on);
  void SendEviction(const std::shared_ptr<const DecidedWrite>& write,
                    const std::shared_ptr<const api::Workload>& current);
  void OnEvicted(const DecidedWrite& write, const api::Workload& before,
                 const std::string& preempting_queue);
  // An attempt that repeats the last one without a change in between is neither noted nor counted.
  void NotePending(const Decision& decision);
  void NoteParked(const CycleResult& result);
  void NoteParkedOnArrival(const api::Workload& workload);
  // Handling of failed writes.
  void TakeBack(const api::ObjectKey& key, const Error& error);
  void OnNotEvicted(const api::ObjectKey& key, const Error& error);
  void ReadBack(const api::ObjectKey& key, int attempt);
  void DropRetry(const api::ObjectKey& key);
  // The write of a decision failed: `tell` is called where a later read shows that the API server
  // has carried the write out.
  using Tell = std::function<void(const api::Workload& fresh)>;
  void TellIfWritten(const api::ObjectKey& key, const Error& error, Tell tell);
  void AfterFailure(const api::ObjectKey& key, void (SchedulerLoop::*act)(const api::ObjectKey&));
  void ReadBackNow(const api::ObjectKey& key) { ReadBack(key, 0); }
  void Reapply(const api::ObjectKey& key);

  SchedulerLoopParts parts_;
  Scheduler& scheduler_;  // the driver's scheduler
  kube::Informer<api::Workload>& workloads_;
  CyclePace pace_;
  std::int64_t cycle_count_ = 0;  // cycles that decided
  bool all_heads_are_due_ = true;
  SteadyTime all_heads_taken_at_;
  std::size_t open_writes_ = 0;
  std::set<api::ObjectKey> put_aside_;
  std::set<api::ObjectKey> awaiting_end_;  // victims that end soon
  struct Failures {
    int count = 0;            // failed writes to the workload in a row
    std::uint64_t retry = 0;  // the retry waited for; a new decision voids it
  };
  std::map<api::ObjectKey, Failures> failures_;
  std::uint64_t next_retry_ = 1;
  // Writes whose answers were lost: the API server may have executed these writes.
  std::map<api::ObjectKey, Tell> unanswered_;
  // The note of the last workload of a shape parked in a queue; later ones of the shape share it.
  std::map<std::pair<ClusterQueueId, std::uint64_t>, std::shared_ptr<const PendingNote>>
      parked_shapes_;
  std::shared_ptr<SchedulerLoop*> self_;
  SecondPass second_pass_;
  std::optional<WallTime> next_turn_at_;  // instant for which a cycle is posted
};

}  // namespace berth::admission
