#include "view/screens/items.h"

#include <algorithm>
#include <limits>
#include <set>

#include <nlohmann/json.hpp>

#include "api/reasons.h"
#include "base/rfc3339.h"
#include "view/screens/capacity.h"
#include "view/screens/eta_cell.h"
#include "view/screens/reason.h"

namespace berth::view {
namespace {

using Json = nlohmann::json;

// The requests of all its pods: the admitted ones, or those of the spec.
Json RequestsJson(const api::Workload& workload) {
  api::ResourceAmounts sums;
  const auto add = [&sums](const api::ResourceAmounts& amounts, std::int64_t times) {
    for (const auto& [resource, amount] : amounts) {
      sums[resource] = api::AddAmounts(sums[resource], api::MultiplyAmounts(amount, times));
    }
  };
  if (workload.status.admission) {
    for (const auto& assigned : workload.status.admission->pod_set_assignments) {
      add(assigned.resource_usage, 1);
    }
  } else {
    for (const api::PodSet& pods : workload.spec.pod_sets) {
      add(api::PodRequests(pods.pod_template.spec), pods.count);
    }
  }
  Json out = Json::array();
  for (const auto& [resource, amount] : sums) {
    out.push_back({{"resource", resource}, {"unit", UnitOf(resource)}, {"amount", amount}});
  }
  return out;
}

// The name of the Workload that owns the object; empty: none.
std::string OwningWorkload(const api::ObjectMeta& meta) {
  for (const api::OwnerReference& owner : meta.owner_references) {
    if (owner.kind == "Workload") return owner.name;
  }
  return "";
}

const char* StopPolicyName(api::StopPolicy policy) {
  switch (policy) {
    case api::StopPolicy::kNone: return "None";
    case api::StopPolicy::kHold: return "Hold";
    case api::StopPolicy::kHoldAndDrain: return "HoldAndDrain";
  }
  return "";
}

// The turn of a Workload whose queue has no order of its own.
Json TurnOf(const api::Workload& workload) {
  if (!IsWaiting(workload) || api::IsTrue(workload.status.conditions, api::kQuotaReserved)) {
    return {};
  }
  return TurnNumber(PriorityOf(workload), OrderedBy(workload));
}

Json MaybeAmount(const std::optional<api::Amount>& amount) {
  return amount ? Json(*amount) : Json();
}

Json FlavorsOf(const std::vector<api::ResourceGroup>& groups) {
  Json list = Json::array();
  for (const api::ResourceGroup& group : groups) {
    for (const api::FlavorQuotas& flavor : group.flavors) {
      for (const api::ResourceQuota& quota : flavor.resources) {
        list.push_back({{"flavor", flavor.flavor},
                        {"resource", quota.resource},
                        {"unit", UnitOf(quota.resource)},
                        {"nominal", quota.nominal_quota},
                        {"borrowingLimit", MaybeAmount(quota.borrowing_limit)},
                        {"lendingLimit", MaybeAmount(quota.lending_limit)}});
      }
    }
  }
  return list;
}

// The quota of the queue with what its status says is in use.
Json FlavorsOf(const api::ClusterQueue& queue) {
  Json list = FlavorsOf(queue.spec.resource_groups);
  for (Json& quota : list) {
    quota["used"] = 0;
    for (const api::FlavorUsage& flavor : queue.status.flavors_reservation) {
      if (quota["flavor"] != flavor.flavor) continue;
      for (const auto& each : flavor.resources) {
        if (quota["resource"] == each.resource) quota["used"] = each.total;
      }
    }
  }
  return list;
}

Json UsesJson(const std::map<std::string, ResourceUse>& uses) {
  Json list = Json::array();
  for (const auto& [resource, amounts] : uses) {
    list.push_back({{"resource", resource},
                    {"unit", UnitOf(resource)},
                    {"used", amounts.used},
                    {"nominal", amounts.nominal},
                    {"borrowed", amounts.borrowed},
                    {"lent", amounts.lent}});
  }
  return list;
}

std::string WhyInactive(const api::ClusterQueue& queue) {
  const api::Condition* active = api::FindCondition(queue.status.conditions, api::kActive);
  if (active == nullptr || active->status != api::ConditionStatus::kFalse) return "";
  return active->message.empty() ? active->reason : active->message;
}

}  // namespace

std::int64_t TurnNumber(std::int64_t priority, WallTime since) {
  constexpr std::int64_t kSeconds = std::int64_t{1} << 32;
  const auto seconds = std::chrono::floor<std::chrono::seconds>(since.time_since_epoch()).count();
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  return -std::clamp(priority, -kMost, kMost) * kSeconds +
         std::clamp(seconds, std::int64_t{0}, kSeconds - 1);
}

std::string WorkloadStateOf(const ClusterView& view, const api::Workload& workload) {
  const auto& conditions = workload.status.conditions;
  if (IsFinished(workload)) {
    const api::Condition* finished = api::FindCondition(conditions, api::kFinished);
    return finished->reason == api::kSucceeded ? "succeeded" : "failed";
  }
  if (!workload.spec.active) return "deactivated";
  if (IsRunning(workload)) return IsWithoutPods(view, workload) ? "admitted" : "running";
  if (api::IsTrue(conditions, api::kEvicted) && api::IsTrue(conditions, api::kQuotaReserved)) {
    return "stopping";
  }
  return api::IsTrue(conditions, api::kQuotaReserved) ? "reserved" : "waiting";
}

std::string RemarkOf(const ClusterView& view, const api::Workload& workload,
                     const TextStyle& style) {
  if (IsFinished(workload)) return FinishedResult(view, workload);
  if (IsRunning(workload)) return RunningPlace(view, workload);
  if (workload.spec.active) return WaitingReason(view, workload, style).Line();
  const api::Condition* evicted = api::FindCondition(workload.status.conditions, api::kEvicted);
  return evicted == nullptr ? "deactivated: set spec.active: true on its Workload to queue it again"
                            : evicted->message;
}

std::string NameWithoutNamespace(const api::Workload& workload) {
  return DisplayName(workload).substr(workload.meta.namespace_name.size() + 1);
}

Json WorkloadItem(const ClusterView& view, const api::Workload& workload) {
  Json item = {{"namespace", workload.meta.namespace_name},
               {"workload", workload.meta.name},
               {"name", NameWithoutNamespace(workload)},
               {"kind", OwnerKind(workload)},
               {"localQueue", workload.spec.queue_name},
               {"clusterQueue", ClusterQueueOf(view, workload)},
               {"priority", PriorityOf(workload)},
               {"state", WorkloadStateOf(view, workload)},
               {"cause", ""},
               {"createdAt", FormatTime(workload.meta.creation_timestamp)},
               {"waitingSince", nullptr},
               {"turn", TurnOf(workload)},
               {"eta", nullptr},
               {"requests", RequestsJson(workload)},
               {"remark", RemarkOf(view, workload, kJsonStyle)},
               {"reason", nullptr}};
  if (IsWaiting(workload)) {
    const Reason reason = WaitingReason(view, workload, kJsonStyle);
    item["cause"] = reason.kind;
    item["waitingSince"] = FormatTime(WaitingSince(workload));
    item["reason"] = ReasonJson(reason);
  }
  if (const auto eta = ForecastOf(view, workload)) item["eta"] = ForecastJson(*eta);
  return item;
}

std::vector<std::string> ParentsOf(
    const std::string& cohort, const std::function<std::string(const std::string&)>& parent_of) {
  std::vector<std::string> parents;
  std::set<std::string> seen{cohort};
  std::string parent = cohort.empty() ? "" : parent_of(cohort);
  while (!parent.empty() && seen.insert(parent).second) {
    parents.push_back(parent);
    parent = parent_of(parent);
  }
  return parents;
}

Json QueueItem(const QueueUse& use, const std::vector<std::string>& parents) {
  const api::ClusterQueue& queue = *use.queue;
  const bool strict = queue.spec.queueing_strategy == api::QueueingStrategy::kStrictFifo;
  return {
      {"name", queue.meta.name},
      {"cohort", queue.spec.cohort_name},
      {"parents", parents},
      {"waiting", use.waiting},
      {"running", use.running},
      {"strategy", strict ? "StrictFIFO" : "BestEffortFIFO"},
      {"stopPolicy", StopPolicyName(queue.spec.stop_policy)},
      {"inactive", WhyInactive(queue)},
      {"fairWeightBillionths", queue.spec.fair_weight_nano},
      {"weightedShare", queue.status.weighted_share ? Json(*queue.status.weighted_share) : Json()},
      {"resources", UsesJson(use.resources)},
      {"flavors", FlavorsOf(queue)}};
}

Json CohortItem(const std::string& name, const api::Cohort* cohort,
                const std::vector<std::string>& parents,
                const std::map<std::string, ResourceUse>& uses) {
  const api::CohortSpec spec = cohort == nullptr ? api::CohortSpec() : cohort->spec;
  const bool has_share = cohort != nullptr && cohort->weighted_share;
  return {{"name", name},
          {"parents", parents},
          {"fairWeightBillionths", spec.fair_weight_nano},
          {"weightedShare", has_share ? Json(*cohort->weighted_share) : Json()},
          {"resources", UsesJson(uses)},
          {"flavors", FlavorsOf(spec.resource_groups)}};
}

Json LocalQueueItem(const api::LocalQueue& local) {
  return {{"namespace", local.meta.namespace_name},
          {"name", local.meta.name},
          {"clusterQueue", local.cluster_queue},
          {"waiting", local.status.pending_workloads},
          {"running", local.status.admitted_workloads},
          {"stopPolicy", StopPolicyName(local.stop_policy)}};
}

Json CapacityRequestItem(const api::ProvisioningRequest& request) {
  const std::string state = RequestStateWord(request);
  const api::Condition* condition = api::FindCondition(request.conditions, state);
  return {{"namespace", request.meta.namespace_name},
          {"name", request.meta.name},
          {"class", request.provisioning_class_name},
          {"state", state},
          {"stateSince",
           condition == nullptr ? Json() : Json(FormatTime(condition->last_transition_time))},
          {"createdAt", FormatTime(request.meta.creation_timestamp)},
          {"workload", OwningWorkload(request.meta)},
          {"message", condition == nullptr ? "" : condition->message}};
}

}  // namespace berth::view
