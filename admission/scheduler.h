// admission/scheduler.h — the interface of the deciding part: apply objects, run a cycle, read
// decisions. Production, simulation, golden stories and benchmarks use no other class to
// decide.
//
//     Apply…(object) ──▶ ┌ QueueSet: pending    ┐ ──RunCycle(now)──▶ CycleResult
//     Forget…        ──▶ └ ClusterState: quota  ┘ ──RunWakeUps(now)─▶ number of workloads woken
//
// The caller carries decisions out: it writes the admission of kAdmitted and kQuotaReserved
// decisions and the eviction of victims, and applies the objects that the API returns. Until then
// the scheduler assumes: an admitted workload holds quota at once, a victim is not evicted twice.
// Unassume takes an assumption back whose write failed.
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
#include <unordered_set>  // lookup only
#include <utility>
#include <vector>

#include "admission/cluster_state.h"
#include "admission/cycle.h"
#include "admission/decision.h"
#include "admission/device_claims.h"
#include "admission/feature_gates.h"
#include "admission/kept_plan.h"
#include "admission/own_rules.h"
#include "admission/pod_defaults.h"
#include "admission/preemption.h"
#include "admission/topology/node_inventory.h"
#include "admission/topology/topology_placer.h"
#include "admission/usage_ledger.h"
#include "queue/queue_set.h"

namespace berth::admission {

// A kind of object that owns Workloads, such as "batch", "Job".
struct OwnerKind {
  std::string group;
  std::string kind;
  friend bool operator==(const OwnerKind&, const OwnerKind&) = default;
};

struct SchedulerConfig {
  FeatureGates gates;
  std::optional<FairSharing> fair_sharing;  // nullopt: classical preemption
  std::vector<std::string> excluded_resource_prefixes;
  std::vector<queue::ResourceTransformation> transformations;
  queue::RequeuingTimestamp pods_ready_requeuing = queue::RequeuingTimestamp::kEviction;
  // resources.deviceClassMappings; empty: claims of devices are refused.
  DeviceClassMapping device_classes;
  DeviceCounters device_counters;    // counters of the classes that have sources
  DeviceClaims::ClaimsOf claims_of;  // reads the claims of a pod template
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

  // Creates or changes objects; applying an object twice changes nothing.
  void ApplyNamespace(const api::Namespace& object);
  void ForgetNamespace(const std::string& name);
  void ApplyResourceFlavor(const api::ResourceFlavor& object);
  void ForgetResourceFlavor(const std::string& name);
  void ApplyAdmissionCheck(const api::AdmissionCheck& object);
  void ForgetAdmissionCheck(const std::string& name);
  void ApplyTopology(const api::Topology& object);
  void ForgetTopology(const std::string& name);
  void ApplyCohort(const api::Cohort& object);
  void ForgetCohort(const std::string& name);
  void ApplyClusterQueue(const api::ClusterQueue& object);
  void ForgetClusterQueue(const std::string& name);
  void ApplyLocalQueue(const api::LocalQueue& object);
  void ForgetLocalQueue(const api::ObjectKey& key);
  void ApplyWorkload(std::shared_ptr<const api::Workload> object, WallTime now);
  void ForgetWorkload(const api::ObjectKey& key);
  // Objects that change the requests of pods. Workloads applied earlier keep their requests: see
  // Reconsider.
  void ApplyLimitRange(const api::LimitRange& object) { pod_defaults_.Set(object); }
  void ForgetLimitRange(const api::ObjectKey& key) { pod_defaults_.RemoveLimitRange(key); }
  void ApplyRuntimeClass(const api::RuntimeClass& object) { pod_defaults_.Set(object); }
  void ForgetRuntimeClass(const std::string& name) { pod_defaults_.RemoveRuntimeClass(name); }
  void ApplyClaimTemplate(const api::ResourceClaimTemplate& object) { device_claims_.Set(object); }
  void ForgetClaimTemplate(const api::ObjectKey& key) { device_claims_.Remove(key); }
  DevicePool& devices() { return device_claims_.pool(); }
  bool AsksForDevices(const api::Workload& object) const {
    return device_claims_.AsksForDevices(object);
  }
  // Applies a waiting workload as new, if the pod defaults now give other requests; ignores
  // workloads that hold quota and forgotten ones.
  void Reconsider(const std::shared_ptr<const api::Workload>& object, WallTime now);
  // The API's reason to refuse the pods; empty: none. A refused workload is queued and never
  // nominated: it blocks a StrictFIFO queue, a BestEffortFIFO queue parks it.
  std::string PodProblem(const api::Workload& object) const;
  bool IsRefused(const api::ObjectKey& key) const;  // a pending workload with a PodProblem
  // Nodes, and the pods on them; admission/topology/node_inventory.h says which pods count.
  void ApplyNode(const api::Node& object);
  void ForgetNode(const std::string& name);
  void ApplyPod(const api::Pod& object);
  void ForgetPod(const api::ObjectKey& key);

  // Whether a cycle would take heads from the queues.
  bool HasHeads() const { return queues_.HasHeads(); }
  // When the next second pass is due (a workload that has quota and lacks nodes); nullopt: none. A
  // cycle at or after that instant takes the workload as a head.
  std::optional<WallTime> NextSecondPass() const;
  // The result is valid until the next cycle.
  const CycleResult& RunCycle(WallTime now);

  // An admission could not be written: releases the quota and requeues the workload.
  void Unassume(const api::ObjectKey& key, WallTime now);

  struct WokenWorkloads {
    std::int64_t count = 0;
    std::vector<WorkloadId> listed;  // woken workloads, with Listing::kAll
  };
  // The part of the workload's plan to write on the Workload, for the next scheduler; nullopt:
  // none. `object`: the Workload as written now.
  std::optional<KeptPlan> PlanToKeep(const api::Workload& object) const;
  // nullopt: PlanToKeep returns nullopt.
  std::optional<PlanStamp> StampOfPlan(const api::Workload& object) const;
  // Continues plans that another scheduler has written, as far as they are consistent with the
  // state. Call after all objects have been applied, before the first cycle.
  void RestorePlans(const std::vector<std::pair<api::ObjectKey, KeptPlan>>& kept, WallTime now);

  bool HasWakeUps() const { return !wake_ups_.empty() || !freed_flavors_.empty(); }
  WokenWorkloads RunWakeUps(WallTime now);

  // Read access.
  const ClusterState& state() const { return state_; }
  const queue::QueueSet& queues() const { return queues_; }
  const SchedulerConfig& config() const { return config_; }
  // A kind of owners becomes managed, or is managed no longer: its workloads are candidates for
  // preemption, or are not (SchedulerConfig::managed_owners; nullopt there: no effect).
  void ManageOwner(const OwnerKind& kind, bool managed);
  const Vocabulary& vocabulary() const { return state_.vocabulary(); }
  // The numbers of waiting workloads that changed since the last call, with config.count_pending.
  std::vector<queue::PendingCounts::Count> TakePendingCounts() {
    return queues_.TakePendingCounts();
  }
  // Null: the number is unknown, or its workload is forgotten.
  const api::Workload* workload(WorkloadId id) const { return object(id).get(); }
  const std::shared_ptr<const api::Workload>& object(WorkloadId id) const;
  std::optional<WorkloadId> Find(const api::ObjectKey& key) const;
  // Equal for workloads that decisions treat alike (WorkloadInfo::shape). `id` must be known.
  std::uint64_t ShapeOf(WorkloadId id) const {
    return records_[static_cast<std::size_t>(id)]->info.shape;
  }
  // Numbers are reused: returns whether `id`, known when forgotten_count() was `count`, is the same
  // workload today.
  std::int64_t forgotten_count() const { return forgotten_count_; }
  bool IsSameSince(WorkloadId id, std::int64_t count) const {
    return records_[static_cast<std::size_t>(id)]->forgotten_at <= count;
  }
  // The share of a queue or cohort, as in status.
  std::int64_t WeightedShareOf(NodeId node);
  // The share is not rounded; NaN: infinite, as in metrics.
  double ExactShareOf(NodeId node);
  // If admission fair sharing is on: the usage history of a LocalQueue whose ClusterQueue exists,
  // sampled if a sample is due, and the usage that orders LocalQueues; else nullopt.
  std::optional<UsageHistory> SampleUsage(const api::ObjectKey& local_queue, WallTime now);
  std::optional<double> SharingUsageOf(const api::ObjectKey& local_queue) const;
  // The path of the queue: "/root/…/queue".
  std::string PathOf(ClusterQueueId queue) const;

 private:
  enum class Phase : std::uint8_t { kFree, kOutside, kPending, kAssumed, kReserved };
  // The interval in which a workload makes no plan.
  struct PlanPause {
    WallTime from{};
    WallTime until{};
    int count = 0;  // plans in a row that ended without progress
  };
  struct Record {
    queue::WorkloadInfo info;
    std::unique_ptr<ScanState> scan;
    std::unique_ptr<PreemptionPlan> plan;  // null: the workload has no plan
    std::unique_ptr<PlanPause> pause;      // not null: its last plan ended without progress
    std::uint64_t plan_version = 0;  // counts changes of `plan` and `pause` that PlanToKeep shows
    std::unique_ptr<Spending> penalty;  // on its LocalQueue, until settled
    std::int64_t forgotten_at = 0;      // forgotten_count_ when the number became free
    Phase phase = Phase::kFree;
  };
  // Numbers are found by the object's key, which the record holds already.
  struct ByKey {
    using is_transparent = void;
    const std::vector<std::unique_ptr<Record>>* records;

    const api::ObjectMeta& MetaOf(WorkloadId id) const {
      return (*records)[static_cast<std::size_t>(id)]->info.object->meta;
    }
  };
  struct KeyHash : ByKey {
    static std::size_t Of(const std::string& namespace_name, const std::string& name) {
      return std::hash<std::string>()(name) * 31 + std::hash<std::string>()(namespace_name);
    }
    std::size_t operator()(const api::ObjectKey& key) const {
      return Of(key.namespace_name, key.name);
    }
    std::size_t operator()(WorkloadId id) const {
      return Of(MetaOf(id).namespace_name, MetaOf(id).name);
    }
  };
  struct KeyEqual : ByKey {
    bool operator()(WorkloadId a, WorkloadId b) const { return a == b; }
    bool operator()(const api::ObjectKey& key, WorkloadId id) const {
      return key.name == MetaOf(id).name && key.namespace_name == MetaOf(id).namespace_name;
    }
    bool operator()(WorkloadId id, const api::ObjectKey& key) const { return (*this)(key, id); }
  };

  Record& record(WorkloadId id) { return *records_[static_cast<std::size_t>(id)]; }
  void SetInfo(WorkloadId id, queue::WorkloadInfo info);
  // Returns a copy of `object` with pod defaults (LimitRange, RuntimeClass) and the resources of
  // its device claims filled in.
  std::shared_ptr<const api::Workload> Completed(std::shared_ptr<const api::Workload> object) const;
  void Request(const Wakes& wakes);
  void RequestFor(ClusterQueueId queue);
  std::optional<WakeTarget> TreeOfCohort(const std::string& name) const;
  void RequestLeft(const std::optional<WakeTarget>& before, const std::optional<WakeTarget>& after);
  // Transitions of a workload (scheduler_workloads.cc).
  WorkloadId NewNumber();
  // Requests wake-ups of the tree where `object` released quota, or which it left.
  void RequestAround(const api::Workload& object);
  // Requests wake-ups of the queues that use the reservation's nodes.
  void RequestForNodesOf(const Reservation& held);
  void ReleaseQuota(WorkloadId id);
  void MakePending(WorkloadId id, queue::WorkloadInfo info, WallTime now);
  void MakeReserved(WorkloadId id, queue::WorkloadInfo info, WallTime now);
  void MakeOutside(WorkloadId id, queue::WorkloadInfo info);
  Usage UsageOf(const api::Workload& object);
  std::unique_ptr<Reservation> NewReservation(WorkloadId id, const queue::WorkloadInfo& info,
                                              WallTime now);
  void Assume(const Decision& decision, WallTime now);
  // Workload slices (scheduler_slices.cc).
  const Reservation* SliceReplacedBy(const api::Workload& slice, ClusterQueueId queue) const;
  bool IsReplaced(const api::Workload& slice, ClusterQueueId queue) const;
  void TakeOver(WorkloadId id);
  void GiveUpSlice(WorkloadId id, const api::Workload& object);
  void Recharge(const api::ObjectKey& slice);
  // The second pass (scheduler_nodes.cc).
  void NoteSecondPass(WorkloadId id, WallTime now);
  void AddSecondPasses(std::vector<HeadInput>& heads, WallTime now);
  void FinishSecondPass(const Decision& decision, WallTime now);
  // Admission fair sharing; no effect where that is off.
  bool KeepsHistory(ClusterQueueId queue) const;
  Spending SpendingOf(const Usage& usage) const;
  void CountAdmitted(const Reservation& reservation, int sign);
  void Penalise(Record& admitted, const Decision& decision);
  void Settle(Record& reserved, WallTime now);
  void TakePenaltyBack(Record& released);
  void UsageChanged(const api::ObjectKey& local_queue);

  void ForgetScans(const api::ObjectKey& local_queue);
  const ScanState* CurrentScan(const Record& asked, ClusterQueueId queue) const;
  void KeepScan(Record& kept, const Decision& decision);
  bool EndsScan(const Record& kept, const Decision& decision) const;
  bool HasMissedChanges(const Record& kept, const Decision& decision) const;
  // Preemption plans (scheduler_plans.cc).
  void KeepPlan(Record& kept, const Decision& decision, WallTime now);
  void MakePlan(Record& kept, const Decision& decision, WallTime now);
  void EndPlanWithoutProgress(Record& head, ClusterQueueId queue, WallTime now);
  // The pause after a plan without progress, preceded by `count` such plans.
  Duration PauseAfter(int count) const;
  Amount HeldByVictims(const PreemptionPlan& plan) const;
  static void ForgetPlan(Record& changed);
  void PlanChanged(Record& changed) { changed.plan_version = ++plan_versions_; }
  bool HasForeignOwner(const api::Workload& object) const;
  // Restored plans (scheduler_restore.cc).
  void RestorePlan(WorkloadId id, const KeptPlan& kept, const std::vector<WorkloadId>& victims,
                   WallTime now);
  void RestorePause(Record& restored, const KeptPlan& kept, WallTime now);
  std::optional<Assignment> AssignmentOf(const KeptPlan& kept, const queue::WorkloadInfo& info,
                                         ClusterQueueId queue) const;
  void RestoreFreed(PreemptionPlan& plan, const KeptPlan& kept, WorkloadId victim,
                    Usage& unproven) const;

  SchedulerConfig config_;
  queue::InfoOptions info_options_;
  queue::QueueSet queues_;
  std::set<WorkloadId> refused_;  // pending workloads with a PodProblem
  ClusterState state_;
  PreemptionSearch search_;
  PreemptionHistory history_;
  PodDefaults pod_defaults_;
  DeviceClaims device_claims_;
  std::optional<UsageLedger> ledger_;
  std::vector<std::unique_ptr<Record>> records_;
  std::vector<WorkloadId> free_records_;
  // Looked up, never walked; the numbers whose records have an object.
  std::unordered_set<WorkloadId, KeyHash, KeyEqual> numbers_{0, KeyHash{{&records_}},
                                                             KeyEqual{{&records_}}};
  std::map<std::string, api::StringMap> namespace_labels_;
  std::set<WakeTarget> wake_ups_;
  std::set<FlavorId> freed_flavors_;  // flavors with room released on their nodes
  // A workload that has quota and lacks nodes.
  struct SecondPass {
    WallTime due{};
    int attempts = 0;
  };
  std::map<WorkloadId, SecondPass> second_passes_;
  // The slices with quota that replace another one, by the key of that one.
  std::map<api::ObjectKey, WorkloadId> replacements_;
  std::int64_t cycle_ = 0;
  std::int64_t forgotten_count_ = 0;
  std::uint64_t plan_versions_ = 0;
  Cycle cycle_runner_;
  // Memory that every cycle reuses.
  std::vector<queue::Head> heads_;
  std::vector<HeadInput> inputs_;
  CycleResult result_;
};

}  // namespace berth::admission
