#include "view/screens/levers.h"

#include <algorithm>

#include "api/labels.h"
#include "api/reasons.h"
#include "base/rfc3339.h"
#include "base/seconds.h"
#include "base/strings.h"
#include "view/screens/find_named.h"
#include "view/screens/reason.h"

namespace berth::view {
namespace {

const char* PolicyName(api::StopPolicy policy) {
  return policy == api::StopPolicy::kHoldAndDrain ? "HoldAndDrain" : "Hold";
}

QueueTrouble NoLocalQueue(const ClusterView& view, const api::ObjectKey& key) {
  QueueTrouble trouble{.fact = "LocalQueue " + key.ToString() + " does not exist"};
  trouble.levers.push_back("LocalQueue " + key.name + " existed in namespace " +
                           key.namespace_name);
  std::vector<std::string> here;
  for (const api::LocalQueue& queue : view.local_queues) {
    if (queue.meta.namespace_name == key.namespace_name) here.push_back(queue.meta.name);
  }
  constexpr std::size_t kShown = 5;
  if (here.empty()) return trouble;
  if (here.size() > kShown) here.resize(kShown);
  trouble.levers.push_back(std::string("its label ") + api::kQueueLabel +
                           " named a queue of this namespace: " + Join(here, ", "));
  return trouble;
}

// The missing flavors and checks of a ClusterQueue.
std::vector<std::string> MissingParts(const ClusterView& view, const api::ClusterQueue& queue) {
  std::vector<std::string> levers;
  for (const api::ResourceGroup& group : queue.spec.resource_groups) {
    for (const api::FlavorQuotas& flavor : group.flavors) {
      if (IsKnown(view, "resourceflavors") && FindNamed(view.flavors, flavor.flavor) == nullptr) {
        levers.push_back("ResourceFlavor " + flavor.flavor + " existed");
      }
    }
  }
  if (!IsKnown(view, "admissionchecks")) return levers;
  for (const api::AdmissionCheckRule& rule : queue.spec.admission_checks) {
    const api::AdmissionCheck* check = FindNamed(view.admission_checks, rule.check);
    if (check == nullptr) {
      levers.push_back("AdmissionCheck " + rule.check + " existed");
      continue;
    }
    const api::Condition* active = api::FindCondition(check->conditions, api::kActive);
    if (active != nullptr && active->status == api::ConditionStatus::kTrue) continue;
    levers.push_back("AdmissionCheck " + rule.check + " became active: " +
                     (active == nullptr || active->message.empty()
                          ? "no controller " + check->controller_name + " has answered for it"
                          : active->message));
  }
  return levers;
}

std::vector<std::string> CapacityLevers(const ClusterView& view, const api::Workload& workload) {
  std::vector<std::string> levers;
  const NodePoolView* wanted = WantedPool(view, workload);
  if (wanted != nullptr && wanted->stock && *wanted->stock == 0) {
    levers.push_back("one " + wanted->machine_type + " came into stock for pool " + wanted->name);
  }
  for (const NodePoolView& pool : view.node_pools) {
    if (wanted == nullptr || &pool == wanted || !pool.queued_provisioning) continue;
    if (pool.stock.value_or(1) <= 0 || pool.accelerator_count == 0) continue;
    levers.push_back("it asked for " + std::to_string(pool.accelerator_count) + " × " +
                     pool.accelerator_type + " and selected pool " + pool.name +
                     ", which has machines in stock");
  }
  return levers;
}

std::string Pairs(const api::StringMap& map) {
  std::vector<std::string> pairs;
  for (const auto& [key, value] : map) pairs.push_back(key + "=" + value);
  return Join(pairs, ", ");
}

// Adds the change that a refused flavor, or a resource without a flavor, needs.
void AddFlavorLevers(const ClusterView& view, const api::Workload& workload,
                     const TriedFlavor& tried, std::vector<std::string>& levers) {
  if (tried.flavor.empty()) {
    constexpr std::string_view kNotCovered = " unavailable in ClusterQueue";
    const std::size_t end = tried.message.find(kNotCovered);
    if (end == std::string::npos || !tried.message.starts_with("resource ")) return;
    constexpr std::size_t kBegin = std::string_view("resource ").size();
    levers.push_back("ClusterQueue " + ClusterQueueOf(view, workload) + " had quota for " +
                     tried.message.substr(kBegin, end - kBegin));
    return;
  }
  const api::ResourceFlavor* flavor = FindNamed(view.flavors, tried.flavor);
  if (flavor == nullptr) return;
  if (tried.message.starts_with("untolerated taint")) {
    for (const api::Taint& taint : flavor->node_taints) {
      const std::string text = taint.key + "=" + taint.value + ":" + taint.effect;
      if (tried.message.find("{" + taint.key + " ") == std::string::npos) continue;
      levers.push_back("it tolerated the taint " + text + " of flavor " + tried.flavor);
    }
  } else if (tried.message.find("doesn't match node affinity") != std::string::npos) {
    levers.push_back("its node selector and affinity matched flavor " + tried.flavor + " (" +
                     Pairs(flavor->node_labels) + ")");
  }
}

void AddQuotaLevers(const ClusterView& view, const api::Workload& workload,
                    const TriedFlavor& tried, std::vector<std::string>& levers) {
  if (*tried.available >= *tried.asked) return;
  const std::string of_flavor = tried.resource + " in flavor " + tried.flavor;
  if (tried.limit.starts_with("never more than")) {
    levers.push_back("ClusterQueue " + ClusterQueueOf(view, workload) + " could get " +
                     ShowFinite(tried.resource, *tried.asked) + " " + of_flavor);
  } else {
    const api::Amount missing =
        api::SubtractAmounts(*tried.asked, std::max<api::Amount>(*tried.available, 0));
    levers.push_back(ShowFinite(tried.resource, missing) + " more " + tried.resource +
                     " became free in flavor " + tried.flavor);
  }
  if (*tried.available > 0) {
    levers.push_back("it asked for " + ShowFinite(tried.resource, *tried.available) + " " +
                     of_flavor + " or less");
  }
}

// Names the workload whose pods block all admissions (waitForPodsReady.blockAdmission).
void AddReadinessLevers(const ClusterView& view, std::vector<std::string>& levers) {
  constexpr std::size_t kShown = 3;
  for (const api::Workload& other : view.workloads) {
    const auto& conditions = other.status.conditions;
    if (IsFinished(other) || !api::IsTrue(conditions, api::kAdmitted) ||
        api::IsTrue(conditions, api::kPodsReady)) {
      continue;
    }
    if (levers.size() == kShown) return levers.push_back("those of others too");
    levers.push_back("the pods of " + DisplayName(other) + " became ready");
  }
}

void AddNamespaceLevers(const ClusterView& view, const api::Workload& workload,
                        std::vector<std::string>& levers) {
  const api::ClusterQueue* queue = FindClusterQueue(view, ClusterQueueOf(view, workload));
  if (queue == nullptr) return;
  std::vector<std::string> wanted;
  if (const auto& selector = queue->spec.namespace_selector) {
    if (!selector->match_labels.empty()) wanted.push_back(Pairs(selector->match_labels));
    for (const api::LabelSelectorRequirement& each : selector->match_expressions) {
      wanted.push_back(each.key + " " + each.op +
                       (each.values.empty() ? "" : " (" + Join(each.values, ", ") + ")"));
    }
  }
  levers.push_back(wanted.empty() ? "ClusterQueue " + queue->meta.name + " had a namespaceSelector"
                                  : "namespace " + workload.meta.namespace_name +
                                        " had the labels that ClusterQueue " + queue->meta.name +
                                        " asks for: " + Join(wanted, ", "));
}

}  // namespace

const api::Workload* StrictHead(const ClusterView& view, const api::Workload& workload) {
  const std::string name = ClusterQueueOf(view, workload);
  const api::ClusterQueue* queue = FindClusterQueue(view, name);
  if (queue == nullptr || queue->spec.queueing_strategy != api::QueueingStrategy::kStrictFifo) {
    return nullptr;
  }
  for (const api::Workload* first : InQueueOrder(view)) {
    if (ClusterQueueOf(view, *first) != name ||
        api::IsTrue(first->status.conditions, api::kQuotaReserved)) {
      continue;
    }
    return first == &workload ? nullptr : first;
  }
  return nullptr;
}

std::vector<QueueTrouble> QueueTroubles(const ClusterView& view, const api::Workload& workload) {
  std::vector<QueueTrouble> troubles;
  const api::ObjectKey key{workload.meta.namespace_name, workload.spec.queue_name};
  if (!IsKnown(view, "localqueues")) return troubles;
  const api::LocalQueue* local = FindLocalQueue(view, key);
  if (local == nullptr) return {NoLocalQueue(view, key)};
  if (local->stop_policy != api::StopPolicy::kNone) {
    troubles.push_back(
        {"LocalQueue " + key.ToString() + " has stopPolicy " + PolicyName(local->stop_policy),
         {"LocalQueue " + key.ToString() + " had stopPolicy None"}});
  }
  if (!IsKnown(view, "clusterqueues")) return troubles;
  const api::ClusterQueue* queue = FindClusterQueue(view, local->cluster_queue);
  if (queue == nullptr) {
    troubles.push_back({"ClusterQueue " + local->cluster_queue + ", to which LocalQueue " +
                            key.ToString() + " points, does not exist",
                        {"ClusterQueue " + local->cluster_queue + " existed"}});
    return troubles;
  }
  if (queue->spec.stop_policy != api::StopPolicy::kNone) {
    troubles.push_back({"ClusterQueue " + queue->meta.name + " has stopPolicy " +
                            PolicyName(queue->spec.stop_policy),
                        {"ClusterQueue " + queue->meta.name + " had stopPolicy None"}});
    return troubles;
  }
  const api::Condition* active = api::FindCondition(queue->status.conditions, api::kActive);
  if (active != nullptr && active->status == api::ConditionStatus::kFalse) {
    troubles.push_back({"ClusterQueue " + queue->meta.name + " is inactive (" + active->reason +
                            "): " + active->message,
                        MissingParts(view, *queue)});
  }
  return troubles;
}

std::vector<std::string> Levers(const ClusterView& view, const api::Workload& workload,
                                const TextStyle& style) {
  if (!workload.spec.active) return {"spec.active of its Workload were true again"};
  if (api::IsTrue(workload.status.conditions, api::kQuotaReserved)) {
    return CapacityLevers(view, workload);
  }
  std::vector<std::string> levers;
  for (const QueueTrouble& trouble : QueueTroubles(view, workload)) {
    levers.insert(levers.end(), trouble.levers.begin(), trouble.levers.end());
  }
  // While the queue is closed, amounts of an earlier decision would mislead.
  if (!levers.empty()) return levers;
  const Reason reason = WaitingReason(view, workload, style);
  if (reason.kind == "pods not ready") AddReadinessLevers(view, levers);
  if (reason.kind == "misconfigured" && reason.summary.find("namespace") != std::string::npos) {
    AddNamespaceLevers(view, workload, levers);
  }
  for (const TriedFlavor& tried : reason.tried) {
    if (tried.asked && tried.available) {
      AddQuotaLevers(view, workload, tried, levers);
    } else {
      AddFlavorLevers(view, workload, tried, levers);
    }
  }
  if (const api::Workload* head = StrictHead(view, workload)) {
    levers.push_back(DisplayName(*head) + ", which is ahead of it, were admitted or withdrawn");
  }
  return levers;
}

std::string GivesUp(const ClusterView& view, const api::Workload& workload) {
  const api::ProvisioningRequest* request = FindProvisioningRequest(view, workload);
  if (request == nullptr || IsRunning(workload) ||
      !api::IsTrue(workload.status.conditions, api::kQuotaReserved)) {
    return "";
  }
  const std::string* valid = api::FindValue(request->parameters, "ValidUntilSeconds");
  if (valid == nullptr) {
    return std::string("never (set ") + api::kProvisioningParameterPrefix +
           "ValidUntilSeconds to bound the wait)";
  }
  const auto seconds = ParseInt64(*valid);
  if (!seconds) return "";
  return FormatTime(request->meta.creation_timestamp + BoundedSeconds(*seconds)) +
         " (ValidUntilSeconds " + *valid + ")";
}

}  // namespace berth::view
