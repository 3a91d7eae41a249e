#include "api/codec/codec.h"
#include "api/codec/parts.h"

namespace berth::api {
namespace {

constexpr Words<QueueingStrategy, 2> kStrategyWords{
    {{"BestEffortFIFO", QueueingStrategy::kBestEffortFifo},
     {"StrictFIFO", QueueingStrategy::kStrictFifo}}};
constexpr Words<StopPolicy, 3> kStopWords{{{"None", StopPolicy::kNone},
                                           {"Hold", StopPolicy::kHold},
                                           {"HoldAndDrain", StopPolicy::kHoldAndDrain}}};
constexpr Words<SearchPolicy, 2> kSearchWords{{{"MayStopSearch", SearchPolicy::kMayStopSearch},
                                               {"TryNextFlavor", SearchPolicy::kTryNextFlavor}}};
constexpr Words<FungibilityPreference, 2> kPreferenceWords{
    {{"BorrowingOverPreemption", FungibilityPreference::kBorrowingOverPreemption},
     {"PreemptionOverBorrowing", FungibilityPreference::kPreemptionOverBorrowing}}};
constexpr Words<PreemptionPolicy, 4> kPreemptionWords{
    {{"Never", PreemptionPolicy::kNever},
     {"LowerPriority", PreemptionPolicy::kLowerPriority},
     {"LowerOrNewerEqualPriority", PreemptionPolicy::kLowerOrNewerEqualPriority},
     {"Any", PreemptionPolicy::kAny}}};
constexpr Words<ProvisioningRequestConfig::MergePolicy, 2> kMergeWords{
    {{"IdenticalPodTemplates", ProvisioningRequestConfig::MergePolicy::kIdenticalPodTemplates},
     {"IdenticalWorkloadSchedulingRequirements",
      ProvisioningRequestConfig::MergePolicy::kIdenticalWorkloadSchedulingRequirements}}};

void ReadQuota(const Reader& in, ResourceQuota& out) {
  in.Field("name").Get(out.resource);
  in.Field("nominalQuota").GetAmount(out.resource, out.nominal_quota);
  in.Field("borrowingLimit").GetAmount(out.resource, out.borrowing_limit);
  in.Field("lendingLimit").GetAmount(out.resource, out.lending_limit);
}

void ReadGroup(const Reader& in, ResourceGroup& out) {
  in.Field("coveredResources").Get(out.covered_resources);
  in.Field("flavors").List(out.flavors, [](const Reader& item, FlavorQuotas& quotas) {
    item.Field("name").Get(quotas.flavor);
    item.Field("resources").List(quotas.resources, ReadQuota);
  });
}

void ReadWeight(const Reader& fair_sharing, std::int64_t& nano) {
  const Reader weight = fair_sharing.Field("weight");
  if (!weight.present()) return;
  Quantity quantity;
  weight.Get(quantity);
  nano = quantity.NanoValue();
}

void ReadUsage(const Reader& in, FlavorUsage& out) {
  in.Field("name").Get(out.flavor);
  in.Field("resources").List(out.resources, [](const Reader& item, FlavorUsage::Resource& usage) {
    item.Field("name").Get(usage.resource);
    item.Field("total").GetAmount(usage.resource, usage.total);
    item.Field("borrowed").GetAmount(usage.resource, usage.borrowed);
  });
}

void ReadQueueStatus(const Reader& in, QueueStatus& out) {
  ReadConditions(in.Field("conditions"), out.conditions);
  in.Field("flavorsReservation").List(out.flavors_reservation, ReadUsage);
  in.Field("flavorsUsage").List(out.flavors_usage, ReadUsage);
  in.Field("pendingWorkloads").Get(out.pending_workloads);
  in.Field("reservingWorkloads").Get(out.reserving_workloads);
  in.Field("admittedWorkloads").Get(out.admitted_workloads);
  const Reader fair_sharing = in.Field("fairSharing");
  fair_sharing.Field("weightedShare").Get(out.weighted_share);
  const Reader history = fair_sharing.Field("admissionFairSharingStatus");
  if (!history.present()) return;
  ConsumedUsage& usage = out.usage_history.emplace();
  history.Field("lastUpdate").Get(usage.last_update);
  const Reader consumed = history.Field("consumedResources");
  consumed.EachMember("a map of amounts", [&](const std::string& resource, const Reader& amount) {
    amount.Get(usage.consumed[resource]);
  });
}

void ReadPreemption(const Reader& in, QueuePreemption& out) {
  in.Field("reclaimWithinCohort").Get(out.reclaim_within_cohort, kPreemptionWords);
  in.Field("withinClusterQueue").Get(out.within_cluster_queue, kPreemptionWords);
  const Reader borrow = in.Field("borrowWithinCohort");
  borrow.Field("policy").Get(out.borrow_within_cohort, kPreemptionWords);
  borrow.Field("maxPriorityThreshold").Get(out.borrow_max_priority_threshold);
}

void ReadClusterQueueSpec(const Reader& in, ClusterQueueSpec& out) {
  in.Field("resourceGroups").List(out.resource_groups, ReadGroup);
  in.Field("cohortName").Get(out.cohort_name);
  in.Field("queueingStrategy").Get(out.queueing_strategy, kStrategyWords);
  const Reader selector = in.Field("namespaceSelector");
  if (selector.present()) Read(selector, out.namespace_selector.emplace());
  const Reader fungibility = in.Field("flavorFungibility");
  fungibility.Field("whenCanBorrow").Get(out.flavor_fungibility.when_can_borrow, kSearchWords);
  fungibility.Field("whenCanPreempt").Get(out.flavor_fungibility.when_can_preempt, kSearchWords);
  fungibility.Field("preference").Get(out.flavor_fungibility.preference, kPreferenceWords);
  ReadPreemption(in.Field("preemption"), out.preemption);
  const Reader checks = in.Field("admissionChecksStrategy");
  checks.Field("admissionChecks")
      .List(out.admission_checks, [](const Reader& item, AdmissionCheckRule& rule) {
        item.Field("name").Get(rule.check);
        item.Field("onFlavors").Get(rule.on_flavors);
      });
  in.Field("stopPolicy").Get(out.stop_policy, kStopWords);
  ReadWeight(in.Field("fairSharing"), out.fair_weight_nano);
  const Reader scope = in.Field("admissionScope");
  std::string mode;
  scope.Field("admissionMode").Get(mode);
  out.usage_based_admission_fair_sharing = mode == "UsageBasedAdmissionFairSharing";
}

void ReadProvisioningConfig(const Reader& in, ProvisioningRequestConfig& out) {
  Read(in.Field("metadata"), out.meta);
  const Reader spec = in.Field("spec");
  spec.Field("provisioningClassName").Get(out.provisioning_class_name);
  spec.Field("parameters").Get(out.parameters);
  spec.Field("managedResources").Get(out.managed_resources);
  const Reader retry = spec.Field("retryStrategy");
  retry.Field("backoffLimitCount").Get(out.backoff_limit_count);
  retry.Field("backoffBaseSeconds").Get(out.backoff_base_seconds);
  retry.Field("backoffMaxSeconds").Get(out.backoff_max_seconds);
  const Reader updates = spec.Field("podSetUpdates");
  updates.Field("nodeSelector")
      .List(out.node_selector_updates,
            [](const Reader& item, ProvisioningRequestConfig::NodeSelectorUpdate& update) {
              item.Field("key").Get(update.key);
              item.Field("valueFromProvisioningClassDetail")
                  .Get(update.value_from_provisioning_class_detail);
            });
  spec.Field("podSetMergePolicy").Get(out.pod_set_merge_policy, kMergeWords);
}

}  // namespace

template <>
Result<ClusterQueue> Decode<ClusterQueue>(const JsonSource& object) {
  return ReadAs<ClusterQueue>(object, [](const Reader& in, ClusterQueue& out) {
    Read(in.Field("metadata"), out.meta);
    ReadClusterQueueSpec(in.Field("spec"), out.spec);
    ReadQueueStatus(in.Field("status"), out.status);
  });
}

template <>
Result<Cohort> Decode<Cohort>(const JsonSource& object) {
  return ReadAs<Cohort>(object, [](const Reader& in, Cohort& out) {
    Read(in.Field("metadata"), out.meta);
    const Reader spec = in.Field("spec");
    spec.Field("parentName").Get(out.spec.parent_name);
    spec.Field("resourceGroups").List(out.spec.resource_groups, ReadGroup);
    ReadWeight(spec.Field("fairSharing"), out.spec.fair_weight_nano);
    const Reader status = in.Field("status");
    const Reader fair_sharing = status.Field("fairSharing");
    fair_sharing.Field("weightedShare").Get(out.weighted_share);
  });
}

template <>
Result<LocalQueue> Decode<LocalQueue>(const JsonSource& object) {
  return ReadAs<LocalQueue>(object, [](const Reader& in, LocalQueue& out) {
    Read(in.Field("metadata"), out.meta);
    const Reader spec = in.Field("spec");
    spec.Field("clusterQueue").Get(out.cluster_queue);
    spec.Field("stopPolicy").Get(out.stop_policy, kStopWords);
    ReadWeight(spec.Field("fairSharing"), out.fair_weight_nano);
    ReadQueueStatus(in.Field("status"), out.status);
  });
}

template <>
Result<ResourceFlavor> Decode<ResourceFlavor>(const JsonSource& object) {
  return ReadAs<ResourceFlavor>(object, [](const Reader& in, ResourceFlavor& out) {
    Read(in.Field("metadata"), out.meta);
    const Reader spec = in.Field("spec");
    spec.Field("nodeLabels").Get(out.node_labels);
    spec.Field("nodeTaints").List(out.node_taints, [](const Reader& item, Taint& taint) {
      Read(item, taint);
    });
    spec.Field("tolerations").List(out.tolerations, [](const Reader& item, Toleration& toleration) {
      Read(item, toleration);
    });
    spec.Field("topologyName").Get(out.topology_name);
  });
}

template <>
Result<Topology> Decode<Topology>(const JsonSource& object) {
  return ReadAs<Topology>(object, [](const Reader& in, Topology& out) {
    Read(in.Field("metadata"), out.meta);
    const Reader spec = in.Field("spec");
    spec.Field("levels").List(out.levels, [](const Reader& item, std::string& label) {
      item.Field("nodeLabel").Get(label);
    });
  });
}

template <>
Result<AdmissionCheck> Decode<AdmissionCheck>(const JsonSource& object) {
  return ReadAs<AdmissionCheck>(object, [](const Reader& in, AdmissionCheck& out) {
    Read(in.Field("metadata"), out.meta);
    const Reader spec = in.Field("spec");
    spec.Field("controllerName").Get(out.controller_name);
    const Reader parameters = spec.Field("parameters");
    if (parameters.present()) {
      ParametersReference& reference = out.parameters.emplace();
      parameters.Field("apiGroup").Get(reference.api_group);
      parameters.Field("kind").Get(reference.kind);
      parameters.Field("name").Get(reference.name);
    }
    const Reader status = in.Field("status");
    ReadConditions(status.Field("conditions"), out.conditions);
  });
}

template <>
Result<ProvisioningRequestConfig> Decode<ProvisioningRequestConfig>(const JsonSource& object) {
  return ReadAs<ProvisioningRequestConfig>(object, ReadProvisioningConfig);
}

}  // namespace berth::api
