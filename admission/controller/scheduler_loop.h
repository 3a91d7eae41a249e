// admission/controller/scheduler_loop.h — runs the Scheduler and makes its decisions true.
//
//     informers ─▶ Scheduler ─RunCycle─▶ decisions ─▶ writes, many at once ─▶ informers
//                      ▲  assumed state                    │ failed
//                      └──────────── taken back ───────────┘
//
// Cycles run back to back on assumed state and never wait for the wire, but while too many writes
// are open. A cycle that changes nothing is followed by a pause that doubles up to a second and
// ends with the next change. Wake-ups are batched over a second.
//
// An admission or preemption that meets a conflict is written again on the newer object, as long as
// nothing that the decision rests on has changed. A write whose outcome is unknown is read back
// before anything else happens to its workload, and from the second failure on after a pause that
// doubles. A write that is refused for good puts the workload aside for a while.
//
// Threads: one Executor.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "admission/controller/pending_notes.h"
#include "admission/controller/second_pass.h"
#include "admission/controller/workload_writer.h"
#include "admission/scheduler.h"
#include "base/clock.h"
#include "base/executor.h"
#include "kube/client/informer.h"
#include "kube/runtime/events.h"
#include "kube/runtime/manager.h"

namespace berth::admission {

class AdmissionMetrics;

struct SchedulerLoopParts {
  kube::Manager& manager;
  Scheduler& scheduler;
  WorkloadWriter& writer;
  PendingNotes& notes;
  kube::EventRecorder& events;
  const Clock& clock;
  AdmissionMetrics& metrics;
};

class SchedulerLoop {
 public:
  explicit SchedulerLoop(SchedulerLoopParts parts);
  SchedulerLoop(const SchedulerLoop&) = delete;
  SchedulerLoop& operator=(const SchedulerLoop&) = delete;

  // Feeds the informers' objects into the scheduler; before the informers start.
  void Connect();
  // Begins to decide; on the leader, when the informers have synced.
  void Start();
  void Stop() { running_ = false; }
  // The scheduler was told of something that may let a head move.
  void OnChange() { Changed(); }

  // Nothing is open: no heads that could move, no writes, no wake-ups.
  bool idle() const;
  std::int64_t cycle_count() const { return cycle_count_; }

 private:
  enum class Progress { kNone, kSome };

  template <typename T>
  void Feed(void (Scheduler::*apply)(const T&), void (Scheduler::*forget)(const std::string&));
  void FeedWorkloads();
  void FeedLocalQueues();

  bool Unblocks(const api::Workload& before, const api::Workload& after) const;
  void SayIfGateCleared(const api::Workload& before, const api::Workload& after);
  void Changed();  // something that may let a head move
  void Kick(Duration delay);
  void RunCycle();
  bool HasHeads() const;
  void RestorePlans();
  void ScheduleWakeUps();
  void ScheduleSecondPass();
  Progress Perform(const CycleResult& result);
  void Reserve(const Decision& decision);
  void OnReserved(const Decision& decision, const api::WorkloadStatus& status);
  Progress Evict(const Decision& decision, const Victim& victim);
  // What is tried again although nothing has changed is not noted again, nor counted.
  void NotePending(const Decision& decision);
  void NoteParked(const CycleResult& result);
  void NoteParkedOnArrival(const api::Workload& workload);
  // Writes that failed (scheduler_loop_failures.cc).
  void TakeBack(const api::ObjectKey& key, const Error& error);
  void OnNotEvicted(const api::ObjectKey& key, const Error& error);
  void ReadBack(const api::ObjectKey& key, int attempt);
  void DropRetry(const api::ObjectKey& key);
  void AfterFailure(const api::ObjectKey& key, void (SchedulerLoop::*act)(const api::ObjectKey&));
  void ReadBackNow(const api::ObjectKey& key) { ReadBack(key, 0); }
  void Reapply(const api::ObjectKey& key);

  SchedulerLoopParts parts_;
  kube::Informer<api::Workload>& workloads_;
  kube::Informer<api::LocalQueue>& local_queues_;
  bool running_ = false;
  bool cycle_posted_ = false;
  bool wake_up_posted_ = false;
  std::uint64_t kick_ticket_ = 0;  // of the cycle that is posted; older ones do nothing
  Duration pause_;
  std::int64_t cycle_count_ = 0;
  std::size_t open_writes_ = 0;
  std::set<api::ObjectKey> put_aside_;
  struct Failures {
    int count = 0;            // writes to the workload that failed in a row
    std::uint64_t retry = 0;  // the one that is waited for; a new decision makes it void
  };
  std::map<api::ObjectKey, Failures> failures_;
  std::uint64_t next_retry_ = 1;
  // Why the last of a shape was parked in a queue; those that come after it wait for the same.
  std::map<std::pair<ClusterQueueId, std::uint64_t>, std::shared_ptr<const PendingNote>>
      parked_shapes_;
  std::shared_ptr<SchedulerLoop*> self_;
  SecondPass second_pass_;
  std::optional<WallTime> second_pass_at_;  // a cycle is posted for then
};

}  // namespace berth::admission
