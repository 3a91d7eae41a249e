// simulation/control_plane.h — the objects of queueing around one Driver, in virtual time.
//
//     Apply, Delete ──▶ objects ──▶ Scheduler ──decisions──▶ Perform ──▶ changed Workloads
//                          ▲                                                 │
//                          └────── Driver::PlanWorkload of each Workload ◀───┘
//
// A write reaches the scheduler at once, and every Workload is reconciled after each write, until
// nothing changes, as if the watches of an API server took no time. Times in objects are cut to
// seconds. Recorded stories and the tests of the core run on this class. World
// (simulation/world.h) adds jobs, pods and nodes, and writes Workloads through `store`, without the
// reconciler: none of its Workloads has admission checks, and a declared maximum stops no job
// there.
//
// Threads: one. Errors: none; a call for an unknown Workload has no effect.
#pragma once

#include <concepts>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "admission/driver.h"
#include "api/queues.h"
#include "api/workload.h"
#include "base/clock.h"
#include "simulation/queueing_objects.h"
#include "simulation/workloads.h"

namespace berth::simulation {

class ControlPlane {
 public:
  // `workloads`: how many are expected; more may come.
  // There are no pods: waitForPodsReady is off. Plans by time are not followed: a Workload gets its
  // checks with a write that comes a second after its creation, and finished ones stay.
  explicit ControlPlane(admission::DriverOptions options, std::size_t workloads = 0);

  ControlPlane(const ControlPlane&) = delete;
  ControlPlane& operator=(const ControlPlane&) = delete;

  // The virtual time; a new object begins at 2026-01-01.
  WallTime now() const { return now_; }
  void Advance(Duration by) { now_ += by; }
  void SetTime(WallTime now) { now_ = now; }

  // Topologies and Nodes are not among objects().
  template <typename Object>
  void Apply(const Object& object) {
    if constexpr (!std::same_as<Object, api::Topology> && !std::same_as<Object, api::Node>) {
      objects_.Set(object);
    }
    scheduler_.Apply(object);
    Reconcile();
  }
  // Defaults: generation 1, creation now, UID equal to the name, and as the owner a job of the same
  // name. The caller stops that job (Release).
  void Apply(api::Workload object);

  void DeleteWorkload(const api::ObjectKey& key);
  // Deletes a Cohort by its name or a LocalQueue by its key.
  template <typename Object>
  void Delete(const typename QueueingObjects::Table<Object>::key_type& key) {
    objects_.Remove<Object>(key);
    scheduler_.Forget<Object>(key);
    Reconcile();
  }
  void Finish(const api::ObjectKey& key);
  void SetPriority(const api::ObjectKey& key, std::int32_t priority);
  void SetActive(const api::ObjectKey& key, bool active);
  void Reclaim(const api::ObjectKey& key, const std::string& pod_set, std::int32_t count);
  // No effect if the Workload lacks the check.
  void SetCheck(const api::ObjectKey& key, const std::string& check, api::CheckState state);

  bool HasHeads() const { return scheduler_.HasHeads(); }
  // Runs a cycle without performing its decisions: the objects stay unchanged.
  using Heads = admission::Scheduler::Heads;
  admission::CycleResult Decide(Heads heads = Heads::kAll) {
    return scheduler_.RunCycle(now_, heads);
  }
  void Perform(const admission::CycleResult& result);
  admission::Scheduler::WokenWorkloads RunWakeUps() { return scheduler_.RunWakeUps(now_); }

  // Evicted Workloads that hold quota; by key.
  std::vector<api::ObjectKey> Evicted() const;
  // The job has stopped: releases the Workload's quota. Returns the reason of the eviction; empty:
  // the Workload is not evicted.
  std::string Release(const api::ObjectKey& key);

  const admission::Driver& driver() const { return driver_; }
  const admission::Scheduler& scheduler() const { return scheduler_; }
  admission::Scheduler& scheduler() { return scheduler_; }
  // Null: there is no such Workload. Valid until the next write.
  const api::Workload* Find(const api::ObjectKey& key) const;
  // Keys and Workloads that were applied here, by key; valid until the next write.
  std::vector<std::pair<const api::ObjectKey&, const api::Workload&>> workloads() const;
  const QueueingObjects& objects() const { return objects_; }

  // The store of Workloads that the caller numbers. A control plane has either Workloads in this
  // store or Workloads that were applied here.
  Workloads& store() { return store_; }

 private:
  WallTime Stamp() const { return CutToSeconds(now_); }
  // nullopt: there is no such Workload.
  std::optional<std::size_t> NumberOf(const api::ObjectKey& key) const;
  void Settle();     // the scheduler gets the writes, and Workloads are reconciled
  void Reconcile();  // until nothing changes
  bool ReconcileOne(std::size_t number);
  void PerformOne(const admission::DecidedWrite& write);

  admission::Driver driver_;
  admission::Scheduler& scheduler_;  // the driver's scheduler
  Workloads store_;
  WallTime now_;
  std::map<api::ObjectKey, std::size_t> numbers_;
  std::size_t next_number_ = 0;
  QueueingObjects objects_;
};

// Applies the objects and then the Workloads of `plane` to a new scheduler, in the order of their
// names.
void Replay(const ControlPlane& plane, admission::Scheduler& scheduler);

}  // namespace berth::simulation
