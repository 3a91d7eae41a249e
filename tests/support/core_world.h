// tests/support/core_world.h — a cluster in miniature around one Scheduler, in virtual time:
// objects in memory, every write delivered at once, times cut to whole seconds, the workload
// reconciler (admission/lifecycle) at work after each change, and a job controller that stops
// evicted workloads when told. The golden stories read their JSON into the same world
// (tests/golden/world.h).
//
// Threads: one. Errors: none; events on workloads that are not there do nothing.
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
  // Its generation becomes 1, its creation now, its UID its name where they are not set.
  void Apply(api::Workload object);

  void DeleteWorkload(const api::ObjectKey& key);
  void DeleteLocalQueue(const api::ObjectKey& key);
  void DeleteCohort(const std::string& name);
  void Finish(const api::ObjectKey& key);
  void SetPriority(const api::ObjectKey& key, std::int32_t priority);
  void SetActive(const api::ObjectKey& key, bool active);
  void Reclaim(const api::ObjectKey& key, const std::string& pod_set, std::int32_t count);
  // Nothing happens where it does not have the check.
  void SetCheck(const api::ObjectKey& key, const std::string& check, api::CheckState state);

  bool HasHeads() const { return scheduler_.HasHeads(); }
  // Decides only: what the caller sees in between is the world as it was decided on.
  admission::CycleResult Decide() { return scheduler_.RunCycle(now_); }
  void Perform(const admission::CycleResult& result);
  admission::Scheduler::WokenWorkloads RunWakeUps() { return scheduler_.RunWakeUps(now_); }

  // Told to stop, still holding quota; by key.
  std::vector<api::ObjectKey> Evicted() const;
  // Its job has stopped; the reason of its eviction, empty if it was not evicted.
  std::string Release(const api::ObjectKey& key);

  const admission::Scheduler& scheduler() const { return scheduler_; }
  admission::Scheduler& scheduler() { return scheduler_; }
  const api::Workload* Find(const api::ObjectKey& key) const;
  const std::map<api::ObjectKey, api::Workload>& workloads() const { return workloads_; }
  const std::map<std::string, api::ClusterQueue>& cluster_queues() const { return cluster_queues_; }
  const std::map<std::string, api::Cohort>& cohorts() const { return cohorts_; }
  const std::map<api::ObjectKey, api::LocalQueue>& local_queues() const { return local_queues_; }
  // The ClusterQueue it waits for or holds quota in; empty: none.
  std::string ClusterQueueOf(const api::Workload& workload) const;

  // A scheduler that hears of all objects but topologies and nodes now, for the first time, in the
  // order of their names.
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
