// admission/driver.h — the writes of objects that a cycle's decisions ask for, and the writes of a
// Workload's life. The controllers send these writes to an API server, shadow mode compares them
// with the writes of another program, and the worlds of virtual time (simulation/) apply them in
// memory.
//
//     objects ──▶ Scheduler ──RunCycle──▶ Decision ──WritesOf──▶ DecidedWrite ──Change──▶ status
//     Workload + its queues ──PlanWorkload──▶ WorkloadPlan (admission/lifecycle)
//
//     decision                  writes, in their order
//     kAdmitted, kQuotaReserved kReserve, then kFinish of the slice that the Workload replaces
//     kPreempting               kPreempt of each victim that is not being evicted, then kExplain
//     others                    kExplain
//     second pass               kPlace, kEvict or kReportNoNodes
//
// Threads: one. Errors: none.
// Source: Kueue pkg/scheduler (admit, issuePreemptions, second pass), pkg/controller/core.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "admission/decision.h"
#include "admission/lifecycle/workload_lifecycle.h"
#include "admission/scheduler.h"
#include "api/condition.h"
#include "api/queues.h"
#include "api/workload.h"
#include "base/clock.h"
#include "base/small_vector.h"

namespace berth::admission {

// The settings of queueing, for the controllers and for every world of virtual time.
struct DriverOptions {
  SchedulerConfig scheduler;
  PodsReadyOptions pods_ready;
  std::optional<Duration> keep_finished;  // time to keep finished Workloads; nullopt: for ever
  // The time for which wake-ups of parked workloads are collected.
  Duration wake_up_batch = std::chrono::seconds(1);
};

struct DecidedWrite {
  enum class Kind : std::uint8_t {
    kReserve,        // the Workload gets its quota
    kFinish,         // `decision->replaces` ends; due once kReserve is written
    kPreempt,        // `victim` is evicted
    kExplain,        // the reason why the Workload waits
    kPlace,          // the Workload has quota and gets nodes
    kEvict,          // the Workload has quota and lost nodes that no other nodes replace
    kReportNoNodes,  // the Workload has quota, and no nodes were found: an Event alone
  };
  Kind kind = Kind::kExplain;
  const Decision* decision = nullptr;
  const Victim* victim = nullptr;  // the victim of a kPreempt; else null
  std::string message;             // the text of a kPreempt's conditions Evicted and Preempted

  // The Workload to change, as the decision saw it.
  const api::Workload& workload() const;
};

// A copy of the write that keeps `copy`, a copy of its decision. Where `copy` is null, Keep makes
// the copy: all writes of a decision share one.
std::shared_ptr<const DecidedWrite> Keep(const DecidedWrite& write,
                                         std::shared_ptr<const Decision>& copy);

// Finds the queues of a Workload. The pointers are valid until the next change of an object; null:
// there is no such queue.
class QueueObjects {
 public:
  virtual ~QueueObjects() = default;
  virtual const api::LocalQueue* FindLocalQueue(const api::ObjectKey& key) const = 0;
  virtual const api::ClusterQueue* FindClusterQueue(const std::string& name) const = 0;
};

class Driver {
 public:
  explicit Driver(const DriverOptions& options);
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  const Scheduler& scheduler() const { return scheduler_; }
  Scheduler& scheduler() { return scheduler_; }

  // The writes are valid as long as the decision.
  using Writes = SmallVector<DecidedWrite, 2>;
  Writes WritesOf(const Decision& decision) const;
  // Whether `current`, the present state of the Workload, allows the write: kPreempt needs a
  // reservation, kFinish the same Workload (by UID) not finished, kPlace and kEvict a Workload that
  // lacks nodes. kReportNoNodes is never due, because it changes no object.
  bool IsDue(const DecidedWrite& write, const api::Workload& current) const;
  // Whether the write that was to be made on `base` holds for `fresh`, a newer state, too.
  bool StillHolds(const DecidedWrite& write, const api::Workload& base,
                  const api::Workload& fresh) const;
  // Makes the write in `status`, which is the status of `base` or a copy of it. kPlace needs a
  // Workload with an admission.
  void Change(const DecidedWrite& write, const api::Workload& base, api::WorkloadStatus& status,
              WallTime now) const;
  // Gives the scheduler the Workload as the write will leave it, so that no later cycle repeats the
  // decision.
  void Assume(const DecidedWrite& write, const api::Workload& current, WallTime now);
  // Whether `fresh` shows that the write, whose answer was lost, was made. Only for kReserve and
  // kPreempt.
  bool IsWritten(const DecidedWrite& write, const api::Workload& fresh) const;

  // The plan of the Workload's life (admission/lifecycle) by its queues and its checks.
  WorkloadPlan PlanWorkload(const api::Workload& workload, const QueueObjects& queues,
                            WallTime now) const;

 private:
  void ObserveChecks(const api::ClusterQueue& queue, WorkloadSituation& situation) const;
  const api::ClusterQueue* ObserveQueues(const QueueObjects& queues,
                                         WorkloadSituation& situation) const;

  PodsReadyOptions pods_ready_;
  std::optional<Duration> keep_finished_;
  Scheduler scheduler_;
};

// The condition Finished of a slice that `decision` replaces.
api::Condition EndOfReplaced(const Decision& decision, const api::Workload& replaced, WallTime now);

}  // namespace berth::admission
