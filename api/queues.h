// api/queues.h — the kinds that define quota and access to quota: ClusterQueue, Cohort, LocalQueue,
// ResourceFlavor, Topology, AdmissionCheck, ProvisioningRequestConfig (kueue.x-k8s.io, v1beta2).
//
// Units: quotas are Amounts (api/quantity.h). Fair-sharing weights are in billionths.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/condition.h"
#include "api/object_meta.h"
#include "api/pod.h"
#include "api/quantity.h"

namespace berth::api {

struct ResourceQuota {
  ResourceName resource;
  Amount nominal_quota = 0;
  std::optional<Amount> borrowing_limit;  // nullopt: no limit
  std::optional<Amount> lending_limit;    // nullopt: all may be lent
  friend bool operator==(const ResourceQuota&, const ResourceQuota&) = default;
};

struct FlavorQuotas {
  std::string flavor;
  std::vector<ResourceQuota> resources;
  friend bool operator==(const FlavorQuotas&, const FlavorQuotas&) = default;
};

struct ResourceGroup {
  std::vector<ResourceName> covered_resources;
  std::vector<FlavorQuotas> flavors;  // in the order in which Kueue tries them
  friend bool operator==(const ResourceGroup&, const ResourceGroup&) = default;
};

enum class QueueingStrategy : std::uint8_t { kBestEffortFifo, kStrictFifo };
enum class StopPolicy : std::uint8_t { kNone, kHold, kHoldAndDrain };
enum class SearchPolicy : std::uint8_t { kMayStopSearch, kTryNextFlavor };
enum class FungibilityPreference : std::uint8_t {
  kBorrowingOverPreemption,
  kPreemptionOverBorrowing
};
enum class PreemptionPolicy : std::uint8_t {
  kNever,
  kLowerPriority,
  kLowerOrNewerEqualPriority,
  kAny
};

struct FlavorFungibility {
  SearchPolicy when_can_borrow = SearchPolicy::kMayStopSearch;
  SearchPolicy when_can_preempt = SearchPolicy::kTryNextFlavor;
  FungibilityPreference preference = FungibilityPreference::kBorrowingOverPreemption;
  friend bool operator==(const FlavorFungibility&, const FlavorFungibility&) = default;
};

struct QueuePreemption {
  PreemptionPolicy reclaim_within_cohort = PreemptionPolicy::kNever;  // Never, LowerPriority, Any
  PreemptionPolicy borrow_within_cohort = PreemptionPolicy::kNever;   // Never, LowerPriority
  std::optional<std::int32_t> borrow_max_priority_threshold;
  PreemptionPolicy within_cluster_queue = PreemptionPolicy::kNever;  // any policy but kAny
  friend bool operator==(const QueuePreemption&, const QueuePreemption&) = default;
};

struct AdmissionCheckRule {
  std::string check;
  std::vector<std::string> on_flavors;  // empty: all
  friend bool operator==(const AdmissionCheckRule&, const AdmissionCheckRule&) = default;
};

inline constexpr std::int64_t kDefaultWeightNano = 1'000'000'000;

struct ClusterQueueSpec {
  std::vector<ResourceGroup> resource_groups;
  std::string cohort_name;  // empty: no cohort
  QueueingStrategy queueing_strategy = QueueingStrategy::kBestEffortFifo;
  std::optional<LabelSelector> namespace_selector;  // nullopt: no namespace; empty: all
  FlavorFungibility flavor_fungibility;
  QueuePreemption preemption;
  std::vector<AdmissionCheckRule> admission_checks;
  StopPolicy stop_policy = StopPolicy::kNone;
  std::int64_t fair_weight_nano = kDefaultWeightNano;
  bool usage_based_admission_fair_sharing = false;  // admissionScope.admissionMode
  friend bool operator==(const ClusterQueueSpec&, const ClusterQueueSpec&) = default;
};

// Usage per flavor and resource, as in status.
struct FlavorUsage {
  struct Resource {
    ResourceName resource;
    Amount total = 0;
    Amount borrowed = 0;  // ClusterQueue only
    friend bool operator==(const Resource&, const Resource&) = default;
  };
  std::string flavor;
  std::vector<Resource> resources;
  friend bool operator==(const FlavorUsage&, const FlavorUsage&) = default;
};

// The recent usage of a LocalQueue (status.fairSharing.admissionFairSharingStatus).
struct ConsumedUsage {
  std::map<ResourceName, Quantity> consumed;
  WallTime last_update{};
  friend bool operator==(const ConsumedUsage&, const ConsumedUsage&) = default;
};

struct QueueStatus {
  std::vector<Condition> conditions;
  std::vector<FlavorUsage> flavors_reservation;
  std::vector<FlavorUsage> flavors_usage;
  std::int32_t pending_workloads = 0;
  std::int32_t reserving_workloads = 0;
  std::int32_t admitted_workloads = 0;
  std::optional<std::int64_t> weighted_share;  // fair sharing only
  std::optional<ConsumedUsage> usage_history;  // LocalQueues only; admission fair sharing only
  friend bool operator==(const QueueStatus&, const QueueStatus&) = default;
};

struct ClusterQueue {
  ObjectMeta meta;
  ClusterQueueSpec spec;
  QueueStatus status;
};

struct CohortSpec {
  std::string parent_name;  // empty: a root
  std::vector<ResourceGroup> resource_groups;
  std::int64_t fair_weight_nano = kDefaultWeightNano;
  friend bool operator==(const CohortSpec&, const CohortSpec&) = default;
};

struct Cohort {
  ObjectMeta meta;
  CohortSpec spec;
  std::optional<std::int64_t> weighted_share;
};

struct LocalQueue {
  ObjectMeta meta;
  std::string cluster_queue;
  StopPolicy stop_policy = StopPolicy::kNone;
  std::int64_t fair_weight_nano = kDefaultWeightNano;
  QueueStatus status;
};

struct ResourceFlavor {
  ObjectMeta meta;
  StringMap node_labels;
  std::vector<Taint> node_taints;
  std::vector<Toleration> tolerations;
  std::string topology_name;  // empty: none
};

struct Topology {
  ObjectMeta meta;
  std::vector<std::string> levels;  // node labels, widest first
};

struct ParametersReference {
  std::string api_group;
  std::string kind;
  std::string name;
  friend bool operator==(const ParametersReference&, const ParametersReference&) = default;
};

struct AdmissionCheck {
  ObjectMeta meta;
  std::string controller_name;
  std::optional<ParametersReference> parameters;
  std::vector<Condition> conditions;
};

struct ProvisioningRequestConfig {
  enum class MergePolicy : std::uint8_t {
    kNone,
    kIdenticalPodTemplates,
    kIdenticalWorkloadSchedulingRequirements
  };
  struct NodeSelectorUpdate {
    std::string key;
    std::string value_from_provisioning_class_detail;
  };
  ObjectMeta meta;
  std::string provisioning_class_name;
  StringMap parameters;
  std::vector<ResourceName> managed_resources;  // empty: every workload needs a request
  std::int32_t backoff_limit_count = 3;
  std::int32_t backoff_base_seconds = 60;
  std::int32_t backoff_max_seconds = 1800;
  std::vector<NodeSelectorUpdate> node_selector_updates;
  MergePolicy pod_set_merge_policy = MergePolicy::kNone;
};

}  // namespace berth::api
