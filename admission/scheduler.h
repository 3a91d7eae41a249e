// admission/scheduler.h — the interface of the deciding part: apply objects, run a cycle, read
// decisions. Production, simulation, golden stories and benchmarks use no other class to
// decide.
//
//     Apply(object) ──▶ ┌ QueueSet: pending    ┐ ──RunCycle(now)──▶ CycleResult
//     Forget(key)   ──▶ └ ClusterState: quota  ┘ ──RunWakeUps(now)─▶ number of workloads woken
//
// The caller carries decisions out: it writes the admission of kAdmitted and kQuotaReserved
// decisions and the eviction of victims, and applies the objects that the API returns. Until then
// the scheduler assumes: an admitted workload holds quota at once, a victim is not evicted twice.
// Unassume takes back an assumption whose write failed.
//
// Changes only request wake-ups (retries of inadmissible workloads); RunWakeUps carries out all
// requested ones. The caller batches the calls (Kueue: one second).
//
// Threads: one. Errors: none; the API server validates objects.
// Source: Kueue pkg/scheduler, pkg/cache, pkg/controller/core/workload_controller.go (event
// handlers).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "admission/cluster_state.h"
#include "admission/cycle/cycle.h"
#include "admission/cycle/second_passes.h"
#include "admission/decision.h"
#include "admission/due_trees.h"
#include "admission/feature_gates.h"
#include "admission/flavors/claimed_devices.h"
#include "admission/flavors/flavor_scans.h"
#include "admission/own_rules.h"
#include "admission/policies/kept_places.h"
#include "admission/policies/new_victims.h"
#include "admission/policies/queue_past.h"
#include "admission/policies/queue_policies.h"
#include "admission/policies/user_shares.h"
#include "admission/policies/victim_rules.h"
#include "admission/preemption/kept_plans.h"
#include "admission/preemption/owner_kinds.h"
#include "admission/preemption/preemption.h"
#include "admission/preemption/preemption_plans.h"
#include "admission/quota/sharing_usage.h"
#include "admission/topology/node_inventory.h"
#include "admission/topology/topology_placer.h"
#include "admission/wake_requests.h"
#include "admission/workloads/pod_defaults.h"
#include "admission/workloads/slice_replacements.h"
#include "admission/workloads/workload_records.h"
#include "queue/queue_set.h"

namespace berth::admission {

struct SchedulerConfig {
  FeatureGates gates;
  std::optional<FairSharing> fair_sharing;  // nullopt: classical preemption
  std::vector<std::string> excluded_resource_prefixes;
  std::vector<queue::ResourceTransformation> transformations;
  queue::RequeuingTimestamp pods_ready_requeuing = queue::RequeuingTimestamp::kEviction;
  // resources.deviceClassMappings; empty: claims of devices are refused.
  DeviceClassMapping device_classes;
  DeviceCounters device_counters;  // counters of the classes that have sources
  // resources.quotaCheckStrategy IgnoreUndeclared: resources that no group covers are ignored.
  bool ignore_undeclared_resources = false;
  std::optional<AdmissionFairSharing> admission_fair_sharing;  // nullopt: off
  OwnRules own_rules;
  // The limits of OwnRules::preemptor_keeps_what_it_freed. A plan ends when none of its victims has
  // released quota for `plan_timeout`; the workload makes its next plan after a pause of the same
  // length, which doubles with each plan that ends without progress.
  Duration plan_timeout = std::chrono::minutes(5);
  // Workloads whose owner is of another kind are no candidates for preemption. nullopt: all kinds
  // are managed.
  std::optional<std::vector<OwnerKind>> managed_owners;
  // waitForPodsReady.blockAdmission: no admission while pods of a reservation are not ready.
  bool block_admission = false;
  // Waiting workloads are counted (Scheduler::TakePendingCounts).
  bool count_pending = false;
  // Which workloads parked in bulk are listed; kAll lists those woken in bulk, too.
  queue::Listing listing = queue::Listing::kNo;
  // Workloads are also counted by these values; null: by LocalQueue alone.
  queue::PendingCounts::ValuesOf pending_values;
};

class Scheduler {
 public:
  explicit Scheduler(const SchedulerConfig& config);
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // Creates or changes an object; applying an object twice changes nothing. The kinds are listed
  // below the class.
  template <typename Object>
  void Apply(const Object& object) = delete;
  template <typename Object>
  void Forget(const std::string& name) = delete;  // kinds of the cluster
  template <typename Object>
  void Forget(const api::ObjectKey& key) = delete;  // kinds of a namespace
  void ApplyWorkload(std::shared_ptr<const api::Workload> object, WallTime now);
  // The objects that change the requests of pods: LimitRanges and RuntimeClasses, devices and their
  // claims. Workloads applied earlier keep their requests: see Reconsider.
  PodDefaults& pod_defaults() { return pod_defaults_; }
  DeviceClaims& device_claims() { return device_claims_; }
  // Applies a waiting workload as new, if the pod defaults now give other requests; ignores
  // workloads that hold quota and forgotten ones.
  void Reconsider(const std::shared_ptr<const api::Workload>& object, WallTime now);
  // The API's reason to refuse the pods; empty: none. A refused workload is queued and never
  // nominated: it blocks a StrictFIFO queue, a BestEffortFIFO queue parks it.
  std::string PodProblem(const api::Workload& object) const;
  bool IsRefused(const api::ObjectKey& key) const;  // a pending workload with a PodProblem
  // A kind of owners begins or ceases to be managed (SchedulerConfig::managed_owners; nullopt
  // there: no effect).
  void ManageOwner(const OwnerKind& kind, bool managed);

  // Whether a cycle would take heads from the queues.
  bool HasHeads() const { return queues_.HasHeads(); }
  // When a cycle is due although no object changes; nullopt: never. Either the second pass of a
  // workload that has quota and lacks nodes is due then, or the time that a rule on victims has set
  // for a workload ends (policies/victim_rules.h). A cycle, or RunWakeUps, at that instant tries
  // the workload.
  std::optional<WallTime> NextTurn() const;
  // kOfDueTrees: the heads of trees in which a workload changed or moved since the last cycle took
  // the tree's heads (due_trees.h). Cycles that the caller runs after changes of other objects, and
  // from time to time, take all heads.
  enum class Heads : std::uint8_t { kAll, kOfDueTrees };
  // The result is valid until the next cycle.
  const CycleResult& RunCycle(WallTime now, Heads heads = Heads::kAll);
  // An admission could not be written: releases the quota and requeues the workload.
  void Unassume(const api::ObjectKey& key, WallTime now);

  struct WokenWorkloads {
    std::int64_t count = 0;
    std::vector<WorkloadId> listed;  // woken workloads, with Listing::kAll
  };
  // kNew: requested since the last RunWakeUps, from whatever priority that one woke.
  enum class WakeUps : std::uint8_t { kAll, kNew };
  bool HasWakeUps(WakeUps which = WakeUps::kAll) const {
    return which == WakeUps::kAll ? !wakes_.empty() : wakes_.HasNew();
  }
  // `from`: workloads of a lower priority stay parked, and their wake-ups requested.
  WokenWorkloads RunWakeUps(WallTime now, std::int64_t from = queue::kEveryPriority);

  // The plans of preemptors as they are written on Workloads.
  KeptPlans& kept_plans() { return kept_plans_; }
  const KeptPlans& kept_plans() const { return kept_plans_; }
  const KeptPlaces& kept_places() const { return kept_places_; }
  // What the policies of queues know of past workloads.
  QueuePast& past() { return past_; }
  const VictimRules& victim_rules() const { return victim_rules_; }
  // Admission fair sharing.
  SharingUsage& sharing() { return sharing_; }
  // The dominant shares of queues and cohorts, as fair sharing compares them.
  DominantShares& shares() { return search_.shares(); }

  // Read access.
  const ClusterState& state() const { return state_; }
  const queue::QueueSet& queues() const { return queues_; }
  const WorkloadRecords& workloads() const { return records_; }
  const SchedulerConfig& config() const { return config_; }
  // The numbers of waiting workloads that changed since the last call, with config.count_pending.
  std::vector<queue::PendingCounts::Count> TakePendingCounts() {
    return queues_.counts().TakeChanged();
  }

 private:
  using Record = WorkloadRecord;
  using Phase = WorkloadRecord::Phase;

  Record& record(WorkloadId id) { return records_.at(id); }
  // Returns a copy of `object` with pod defaults (LimitRange, RuntimeClass) and the resources of
  // its device claims filled in.
  std::shared_ptr<const api::Workload> Completed(std::shared_ptr<const api::Workload> object) const;
  void ForgetScans(const api::ObjectKey& local_queue);
  // Run times and waits: policies of queues read them.
  void EstimateRun(queue::WorkloadInfo& info) const;
  void NoteEnd(WorkloadId id, const queue::WorkloadInfo& info);  // may have finished just now
  struct EndedRun {
    ClusterQueueId queue = -1;
    Duration ran{};
  };
  std::optional<EndedRun> RunOf(const queue::WorkloadInfo& finished);  // nullopt: did not run
  void AddRun(const EndedRun& run, const queue::WorkloadInfo& info);
  void AddWait(ClusterQueueId queue, const queue::WorkloadInfo& finished);
  void ReadPast(WallTime now);
  void EstimateRunsAgain();
  void StopEstimating(WorkloadId id);
  void StopWaiting(WorkloadId id);
  void ApplyPolicies(const std::vector<std::string>& cluster_queues);
  void SetPolicy(ClusterQueueId queue, const api::QueuePolicy& policy);
  // Transitions of a workload.
  void CountUsage(const Reservation& reservation, int sign);
  void ReleaseQuota(WorkloadId id);
  void MakePending(WorkloadId id, queue::WorkloadInfo info, WallTime now);
  void MakeReserved(WorkloadId id, queue::WorkloadInfo info, WallTime now);
  void MakeOutside(WorkloadId id, queue::WorkloadInfo info);
  Usage UsageOf(const api::Workload& object);
  std::unique_ptr<Reservation> NewReservation(WorkloadId id, const queue::WorkloadInfo& info,
                                              WallTime now);
  void Assume(const Decision& decision, WallTime now);
  // Computes the reservation of `slice` again after another slice has begun or ceased to replace
  // it. nullopt: no slice is concerned.
  void Recharge(const std::optional<api::ObjectKey>& slice);
  void WakeDue(WallTime now);
  void TakeInputs(CycleResult& result, Heads which, WallTime now);
  void AddSecondPasses(WallTime now);
  void FinishSecondPass(const Decision& decision, WallTime now);
  void Requeue(Decision& decision, std::size_t index, CycleResult& result, WallTime now);

  const SchedulerConfig config_;
  queue::InfoOptions info_options_;
  queue::QueueSet queues_;
  std::set<WorkloadId> refused_;  // pending workloads with a PodProblem
  std::map<std::string, api::StringMap> namespace_labels_;
  SecondPasses second_passes_;
  PreemptionHistory history_;
  std::int64_t cycle_ = 0;
  std::vector<queue::Head> heads_;  // each cycle reuses the memory
  ClusterState state_;              // aligned to cache lines: the members above fill whole ones
  PreemptionSearch search_;
  PodDefaults pod_defaults_;
  DeviceClaims device_claims_;
  OwnerKinds owners_;
  WorkloadRecords records_;
  WakeRequests wakes_;
  DueTrees due_trees_;
  FlavorScans scans_;
  PreemptionPlans plans_;
  KeptPlans kept_plans_;
  QueuePolicies policies_;
  QueuePast past_;
  KeptPlaces kept_places_;
  RestartCosts restart_costs_;
  VictimRules victim_rules_{restart_costs_};
  NewVictims new_victims_;
  SliceReplacements slices_;
  SharingUsage sharing_;
  UserShares user_shares_;
  Cycle cycle_runner_;
  // Memory that every cycle reuses, like heads_.
  std::vector<HeadInput> inputs_;
  CycleResult result_;
};

template <>
void Scheduler::Apply(const api::Namespace& object);
template <>
void Scheduler::Apply(const api::ResourceFlavor& object);
template <>
void Scheduler::Apply(const api::AdmissionCheck& object);
template <>
void Scheduler::Apply(const api::Topology& object);
template <>
void Scheduler::Apply(const api::Cohort& object);
template <>
void Scheduler::Apply(const api::ClusterQueue& object);
template <>
void Scheduler::Apply(const api::LocalQueue& object);
// Nodes, and the pods on them; admission/topology/node_inventory.h says which pods count.
template <>
void Scheduler::Apply(const api::Node& object);
template <>
void Scheduler::Apply(const api::Pod& object);

template <>
void Scheduler::Forget<api::Namespace>(const std::string& name);
template <>
void Scheduler::Forget<api::ResourceFlavor>(const std::string& name);
template <>
void Scheduler::Forget<api::AdmissionCheck>(const std::string& name);
template <>
void Scheduler::Forget<api::Topology>(const std::string& name);
template <>
void Scheduler::Forget<api::Cohort>(const std::string& name);
template <>
void Scheduler::Forget<api::ClusterQueue>(const std::string& name);
template <>
void Scheduler::Forget<api::Node>(const std::string& name);
template <>
void Scheduler::Forget<api::LocalQueue>(const api::ObjectKey& key);
template <>
void Scheduler::Forget<api::Pod>(const api::ObjectKey& key);
template <>
void Scheduler::Forget<api::Workload>(const api::ObjectKey& key);

}  // namespace berth::admission
