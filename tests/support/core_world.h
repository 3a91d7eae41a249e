// tests/support/core_world.h — a small cluster around one Scheduler, in virtual time:
// objects in memory, every write delivered at once, times cut to whole seconds, the workload
// reconciler (admission/lifecycle) after each change, and a job controller that stops
// evicted workloads on command. The golden stories run in the same world
// (tests/golden/world.h).
//
// Threads: one. Errors: none; events on unknown workloads have no effect.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "admission/scheduler.h"
#include "api/queues.h"
#include "api/workload.h"
#include "base/clock.h"

namespace berth::support {

class CoreWorld {
 public:
  explicit CoreWorld(const admission::SchedulerConfig& config);

  WallTime now() const { return now_; }
  void Advance(Duration by) { now_ += by; }
  void SetTime(WallTime now) { now_ = now; }

  void Apply(const api::Namespace& object);
  void Apply(const api::ResourceFlavor& object);
  void Apply(const api::AdmissionCheck& object);
  void Apply(const api::Topology& object);
  void Apply(const api::Node& object);
  void Apply(const api::Cohort& object);
  void Apply(const api::ClusterQueue& object);
  void Apply(const api::LocalQueue& object);
  // Defaults: generation 1, creation now, UID equal to the name.
  void Apply(api::Workload object);

  void DeleteWorkload(const api::ObjectKey& key);
  void DeleteLocalQueue(const api::ObjectKey& key);
  void DeleteCohort(const std::string& name);
  void Finish(const api::ObjectKey& key);
  void SetPriority(const api::ObjectKey& key, std::int32_t priority);
  void SetActive(const api::ObjectKey& key, bool active);
  void Reclaim(const api::ObjectKey& key, const std::string& pod_set, std::int32_t count);
  // No effect if the workload lacks the check.
  void SetCheck(const api::ObjectKey& key, const std::string& check, api::CheckState state);

  bool HasHeads() const { return scheduler_.HasHeads(); }
  // Runs a cycle without performing its decisions: the objects stay unchanged.
  admission::CycleResult Decide() { return scheduler_.RunCycle(now_); }
  void Perform(const admission::CycleResult& result);
  admission::Scheduler::WokenWorkloads RunWakeUps() { return scheduler_.RunWakeUps(now_); }

  // Evicted workloads that hold quota; by key.
  std::vector<api::ObjectKey> Evicted() const;
  // Stops the job. Returns the eviction's reason; empty: not evicted.
  std::string Release(const api::ObjectKey& key);

  const admission::Scheduler& scheduler() const { return scheduler_; }
  admission::Scheduler& scheduler() { return scheduler_; }
  const api::Workload* Find(const api::ObjectKey& key) const;
  const std::map<api::ObjectKey, api::Workload>& workloads() const { return workloads_; }
  const std::map<std::string, api::ClusterQueue>& cluster_queues() const { return cluster_queues_; }
  const std::map<std::string, api::Cohort>& cohorts() const { return cohorts_; }
  const std::map<api::ObjectKey, api::LocalQueue>& local_queues() const { return local_queues_; }
  // The ClusterQueue in which `workload` waits or holds quota; empty: none.
  std::string ClusterQueueOf(const api::Workload& workload) const;

  // Applies all objects except topologies and nodes to a new scheduler, in the order of their
  // names.
  void Replay(admission::Scheduler& scheduler) const;

 private:
  WallTime Stamp() const { return CutToSeconds(now_); }
  void Store(const api::Workload& workload);  // tells the scheduler
  void React();                               // reconciles until nothing changes
  bool ReactTo(api::Workload& workload);
  void PerformOne(const admission::Decision& decision);

  admission::Scheduler scheduler_;
  WallTime now_;
  std::map<api::ObjectKey, api::Workload> workloads_;
  std::map<std::string, api::ClusterQueue> cluster_queues_;
  std::map<std::string, api::Cohort> cohorts_;
  std::map<api::ObjectKey, api::LocalQueue> local_queues_;
  std::map<std::string, api::Namespace> namespaces_;
  std::map<std::string, api::ResourceFlavor> flavors_;
  std::map<std::string, api::AdmissionCheck> checks_;
};

}  // namespace berth::support
