#include "view/screens/reason.h"

#include <algorithm>
#include <limits>
#include <map>

#include <nlohmann/json.hpp>

#include "api/codec/json_tree.h"
#include "api/labels.h"
#include "api/reasons.h"
#include "base/rfc3339.h"
#include "base/strings.h"
#include "queue/ordering.h"
#include "view/screens/place_in_queue.h"
#include "view/screens/pods_of_job.h"

namespace berth::view {
namespace {

using Json = nlohmann::json;

std::string Lower(std::string text) {
  if (!text.empty() && text[0] >= 'A' && text[0] <= 'Z' &&
      (text.size() < 2 || text[1] < 'A' || text[1] > 'Z')) {
    text[0] = static_cast<char>(text[0] - 'A' + 'a');
  }
  return text;
}

std::optional<api::Amount> AmountOf(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return std::nullopt;
  return found->get<api::Amount>();
}

std::string TextOf(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

// Reads Berth's annotation; other controllers write none.
void ReadExplanation(const api::Workload& workload, Reason& reason) {
  const std::string* text = api::FindValue(workload.meta.annotations, api::kExplanationAnnotation);
  if (text == nullptr) return;
  const Json explanation = api::ParseJsonOrNull(*text);
  if (!explanation.is_object()) return;
  const auto tried = explanation.find("tried");
  if (tried != explanation.end() && tried->is_array()) {
    for (const Json& item : *tried) {
      if (!item.is_object()) continue;
      reason.tried.push_back({TextOf(item, "podSet"), TextOf(item, "flavor"),
                              TextOf(item, "resource"), AmountOf(item, "asked"),
                              AmountOf(item, "available"), AmountOf(item, "nominal"),
                              TextOf(item, "limit"), TextOf(item, "message")});
    }
  }
  const auto victims = explanation.find("victims");
  if (victims != explanation.end() && victims->is_array()) {
    for (const Json& item : *victims) {
      if (item.is_object()) {
        reason.victims.push_back({TextOf(item, "workload"), TextOf(item, "whyNot")});
      }
    }
  }
  const auto policy = explanation.find("mayPreempt");
  if (policy != explanation.end() && policy->is_object()) {
    for (const char* field : {"withinClusterQueue", "reclaimWithinCohort"}) {
      const std::string word = TextOf(*policy, field);
      if (word.empty()) continue;
      reason.may_preempt += (reason.may_preempt.empty() ? "" : ", ") + (field + (": " + word));
    }
  }
  const auto stops = explanation.find("stops");
  if (stops != explanation.end() && stops->is_object()) {
    const auto lost = AmountOf(*stops, "lostSeconds");
    if (lost && *lost >= 0 && *lost <= INT32_MAX) {  // anybody may have written it
      reason.stops = {std::chrono::seconds(*lost), AmountOf(*stops, "count").value_or(0)};
    }
  }
  const auto history = explanation.find("history");
  if (history != explanation.end() && history->is_array()) {
    for (const Json& item : *history) {
      if (!item.is_object()) continue;
      reason.history.push_back({TextOf(item, "reason"), TextOf(item, "message"),
                                ParseTime(TextOf(item, "first")), ParseTime(TextOf(item, "last")),
                                AmountOf(item, "count").value_or(0)});
    }
  }
}

std::string Briefly(const TriedFlavor& tried, const TextStyle& style) {
  if (tried.resource.empty() || !tried.asked) {
    return tried.flavor.empty() ? tried.message : "flavor " + tried.flavor + ": " + tried.message;
  }
  std::string text = tried.resource + " in flavor " + tried.flavor + ": needs " +
                     ShowFinite(tried.resource, *tried.asked);
  if (tried.available) {
    text += ", " + ShowFinite(tried.resource, std::max<api::Amount>(*tried.available, 0)) + " free";
    if (tried.nominal) text += " of " + ShowAmount(tried.resource, *tried.nominal, style);
  }
  if (!tried.limit.empty()) text += " (" + tried.limit + ")";
  return text;
}

const api::Condition* Find(const std::vector<api::Condition>& conditions, const char* type) {
  return api::FindCondition(conditions, type);
}

std::string PoolState(const NodePoolView& pool) {
  std::string text = "pool " + pool.name + " " + std::to_string(pool.node_count);
  if (pool.max_nodes) text += "/" + std::to_string(*pool.max_nodes);
  return text + " nodes";
}

// Describes a ProvisioningRequest's conditions, latest state first.
std::string RequestState(const api::ProvisioningRequest& request, const ClusterView& view,
                         const TextStyle& style) {
  const WallTime asked = request.meta.creation_timestamp;
  std::string text = style.absolute_times ? "asked at " + FormatTime(asked)
                                          : "asked " + HumanDuration(view.now - asked) + " ago";
  for (const char* type :
       {"Failed", "CapacityRevoked", "BookingExpired", "Provisioned", "Accepted"}) {
    const api::Condition* condition = Find(request.conditions, type);
    if (condition == nullptr) continue;
    if (!condition->message.empty()) text += ", \"" + condition->message + "\"";
    return text;
  }
  return text + ", no controller has answered for class " + request.provisioning_class_name +
         " yet";
}

// Whether the second pass of scheduling has not placed its pods yet.
bool IsWaitingForNodes(const api::Workload& workload) {
  if (!workload.status.admission) return false;
  const auto& assignments = workload.status.admission->pod_set_assignments;
  return std::any_of(assignments.begin(), assignments.end(), [](const auto& assignment) {
    return assignment.delayed_topology_request == "Pending";
  });
}

Reason CheckReason(const ClusterView& view, const api::Workload& workload, const TextStyle& style) {
  for (const api::AdmissionCheckState& check : workload.status.admission_checks) {
    if (check.state == api::CheckState::kReady) continue;
    const api::ProvisioningRequest* request = FindProvisioningRequest(view, workload, check);
    if (request != nullptr) {
      Reason reason{.kind = "capacity", .summary = RequestState(*request, view, style)};
      const NodePoolView* pool = WantedPool(view, workload);
      if (pool != nullptr) reason.summary += "; " + PoolState(*pool);
      return reason;
    }
    Reason reason{.kind = "check " + check.name};
    reason.summary = check.message.empty() ? "waits for its controller" : Lower(check.message);
    return reason;
  }
  if (IsWaitingForNodes(workload)) {
    return {.kind = "topology",
            .summary =
                "quota is reserved, every check is ready; nodes are being chosen for its "
                "pods"};
  }
  return {.kind = "admitting", .summary = "quota is reserved, every check is ready"};
}

Reason MissingQueueReason(const ClusterView& view, const api::Workload& workload) {
  const api::ObjectKey key{workload.meta.namespace_name, workload.spec.queue_name};
  const api::LocalQueue* queue = FindLocalQueue(view, key);
  if (queue == nullptr && !IsKnown(view, "localqueues")) {
    return {.kind = "queued", .summary = "not looked at yet"};
  }
  if (queue == nullptr) {
    Reason reason{.kind = "misconfigured"};
    reason.summary = "LocalQueue " + key.ToString() +
                     " does not exist; create it, or change label " + api::kQueueLabel;
    return reason;
  }
  if (IsKnown(view, "clusterqueues") && FindClusterQueue(view, queue->cluster_queue) == nullptr) {
    return {.kind = "misconfigured",
            .summary = "LocalQueue " + key.ToString() + " points to ClusterQueue " +
                       queue->cluster_queue + ", which does not exist"};
  }
  return {.kind = "queued", .summary = "not looked at yet"};
}

// The nodes and states of a workload's pods.
struct PodLocations {
  std::vector<std::string> nodes;  // nodes of running pods
  std::size_t starting = 0;        // bound, not running yet
  std::size_t without_node = 0;
  std::string obstacle;  // why a pod makes no progress: an image, no node
};

PodLocations LocationsOf(const ClusterView& view, const api::Workload& workload) {
  PodLocations locations;
  const PodMarks marks = PodMarksOf(workload);
  for (const PodView& pod : view.pods) {
    if (!IsPodOf(pod, workload, marks)) continue;
    if (pod.phase == "Succeeded" || pod.phase == "Failed") continue;
    const bool is_stuck = !pod.waiting_reason.empty() && pod.waiting_reason != "ContainerCreating";
    if (is_stuck && locations.obstacle.empty()) {
      locations.obstacle = pod.waiting_reason + ": " + pod.waiting_message;
    }
    if (pod.node_name.empty()) {
      ++locations.without_node;
      if (locations.obstacle.empty()) locations.obstacle = pod.unschedulable_message;
    } else if (pod.phase != "Running") {
      ++locations.starting;
    } else if (std::find(locations.nodes.begin(), locations.nodes.end(), pod.node_name) ==
               locations.nodes.end()) {
      locations.nodes.push_back(pod.node_name);
    }
  }
  return locations;
}

// The object whose pods the workload is made of.
const api::OwnerReference* MakerOf(const api::Workload& workload) {
  const api::OwnerReference* owner = api::ControllerOf(workload.meta);
  const auto& owners = workload.meta.owner_references;
  return owner == nullptr && !owners.empty() ? &owners.front() : owner;
}

// Whether the object is the workload's, or one that its operator makes for it.
bool IsOfMaker(const api::OwnerReference& maker, const std::string& kind, const std::string& name) {
  return name == maker.name || (kind != maker.kind && name.starts_with(maker.name + "-"));
}

struct MadePods {
  std::int64_t wanted = 0;
  std::int64_t made = 0;
  const RefusedPod* refused = nullptr;  // the last one since the admission
};

MadePods MadePodsOf(const ClusterView& view, const api::Workload& workload) {
  MadePods pods;
  const api::OwnerReference* maker = MakerOf(workload);
  const api::Condition* admitted = Find(workload.status.conditions, api::kAdmitted);
  if (!IsRunning(workload) || maker == nullptr || admitted == nullptr) return pods;
  for (const RefusedPod& each : view.refused_pods) {
    if (each.namespace_name != workload.meta.namespace_name ||
        each.last < admitted->last_transition_time ||
        !IsOfMaker(*maker, each.owner_kind, each.owner_name)) {
      continue;
    }
    if (pods.refused == nullptr || pods.refused->last < each.last) pods.refused = &each;
  }
  if (pods.refused == nullptr) return pods;
  for (const PodView& pod : view.pods) {
    if (pod.namespace_name != workload.meta.namespace_name || pod.phase == "Failed") continue;
    const bool is_own =
        pod.workload == workload.meta.name ||
        (!pod.job_name.empty() && IsOfMaker(*maker, "Job", pod.job_name)) ||
        (!pod.owner_name.empty() && IsOfMaker(*maker, pod.owner_kind, pod.owner_name));
    if (is_own) ++pods.made;
  }
  if (workload.status.admission) {
    for (const auto& each : workload.status.admission->pod_set_assignments) {
      pods.wanted += each.count;
    }
  }
  if (pods.wanted == 0) {
    for (const api::PodSet& each : workload.spec.pod_sets) pods.wanted += each.count;
  }
  return pods;
}

Json OrNull(const std::optional<api::Amount>& amount) { return amount ? Json(*amount) : Json(); }
Json OrNull(const std::optional<WallTime>& time) { return time ? Json(FormatTime(*time)) : Json(); }

Json TriedJson(const TriedFlavor& tried) {
  Json out = {{"podSet", tried.pod_set}, {"flavor", tried.flavor}};
  if (!tried.message.empty()) out["message"] = tried.message;
  if (tried.resource.empty()) return out;
  out["resource"] = tried.resource;
  out["unit"] = UnitOf(tried.resource);
  out["asked"] = OrNull(tried.asked);
  out["available"] = OrNull(tried.available);
  out["nominal"] = OrNull(tried.nominal);
  if (!tried.limit.empty()) out["limit"] = tried.limit;
  return out;
}

// The hosts to which a topology has assigned the pods of the workload.
std::vector<std::string> AssignedHosts(const api::Workload& workload) {
  std::vector<std::string> hosts;
  if (!workload.status.admission) return hosts;
  for (const auto& assignment : workload.status.admission->pod_set_assignments) {
    const auto& topology = assignment.topology_assignment;
    if (!topology || topology->levels.empty() || topology->levels.back() != api::kHostnameLabel) {
      continue;
    }
    for (const auto& domain : topology->domains) {
      if (!domain.values.empty()) hosts.push_back(domain.values.back());
    }
  }
  std::sort(hosts.begin(), hosts.end());
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  return hosts;
}

bool IsLackOfQuota(const std::string& kind) { return kind == "quota" || kind == "too large"; }

}  // namespace

std::string CauseOf(const std::string& condition_reason) {
  static const std::map<std::string, std::string> kKinds = {
      {api::kWaitingForQuota, "quota"},
      {api::kExceedsMaxQuota, "too large"},
      {api::kWaitingForPreemptedWorkloads, "preempting"},
      {api::kNoMatchingFlavor, "flavor"},
      {api::kTopologyPlacementFailed, "topology"},
      {api::kMisconfigured, "misconfigured"},
      {api::kSuspended, "stopped"},
      {api::kOnHold, "held"},
      {api::kAdmissionGated, "gated"},
      {api::kWaitingForPodsReady, "pods not ready"},
      {api::kPendingEvaluation, "queued"}};
  const auto found = kKinds.find(condition_reason);
  return found == kKinds.end() ? "waiting" : found->second;
}

Json ReasonJson(const Reason& reason) {
  Json out = {{"kind", reason.kind}, {"message", reason.summary}};
  for (const TriedFlavor& tried : reason.tried) out["tried"].push_back(TriedJson(tried));
  for (const ConsideredVictim& victim : reason.victims) {
    out["notPreempted"].push_back({{"workload", victim.workload}, {"because", victim.why_not}});
  }
  if (!reason.may_preempt.empty()) out["mayPreempt"] = reason.may_preempt;
  for (const PastReason& past : reason.history) {
    out["history"].push_back({{"reason", past.reason},
                              {"message", past.message},
                              {"first", OrNull(past.first)},
                              {"last", OrNull(past.last)},
                              {"count", past.count}});
  }
  if (reason.stops) {
    out["stops"] = {
        {"lostSeconds", std::chrono::floor<std::chrono::seconds>(reason.stops->lost).count()},
        {"count", reason.stops->count}};
  }
  return out;
}

const NodePoolView* WantedPool(const ClusterView& view, const api::Workload& workload) {
  for (const api::PodSet& pod_set : workload.spec.pod_sets) {
    const std::string* pool =
        api::FindValue(pod_set.pod_template.spec.node_selector, api::kGkeNodePoolLabel);
    if (pool != nullptr) return FindNodePool(view, *pool);
  }
  return nullptr;
}

Reason WaitingReason(const ClusterView& view, const api::Workload& workload,
                     const TextStyle& style) {
  const auto& conditions = workload.status.conditions;
  if (api::IsTrue(conditions, api::kEvicted) && !api::IsTrue(conditions, api::kQuotaReserved)) {
    if (workload.status.requeue_state && workload.status.requeue_state->requeue_at &&
        *workload.status.requeue_state->requeue_at > view.now) {
      const WallTime at = *workload.status.requeue_state->requeue_at;
      return {.kind = "backoff",
              .summary = "tried again " +
                         (style.absolute_times ? "at " + FormatTime(at)
                                               : "in " + HumanDuration(at - view.now)) +
                         ", after: " + Lower(Find(conditions, api::kEvicted)->message)};
    }
  }
  if (api::IsTrue(conditions, api::kQuotaReserved)) {
    if (api::IsTrue(conditions, api::kEvicted)) {
      const api::Condition* evicted = Find(conditions, api::kEvicted);
      return {.kind = "stopping", .summary = Lower(evicted->message)};
    }
    return CheckReason(view, workload, style);
  }
  const api::Condition* reserved = Find(conditions, api::kQuotaReserved);
  if (reserved == nullptr) return MissingQueueReason(view, workload);
  Reason reason{.kind = CauseOf(reserved->reason), .summary = Lower(reserved->message)};
  ReadExplanation(workload, reason);
  if (WasBypassed(workload)) {
    reason.summary = "waits behind a workload with equal requests";
  } else if (IsLackOfQuota(reason.kind) && !reason.tried.empty()) {
    std::vector<std::string> parts;
    for (const TriedFlavor& tried : reason.tried) parts.push_back(Briefly(tried, style));
    reason.summary = Join(parts, "; ");
  }
  return reason;
}

std::string LackOfPods(const ClusterView& view, const api::Workload& workload) {
  const MadePods pods = MadePodsOf(view, workload);
  if (pods.refused == nullptr) return "";
  if (!IsKnown(view, "pods")) return "a pod was not made: " + pods.refused->message;
  if (pods.made >= pods.wanted) return "";
  if (pods.made == 0) return "no pod was made: " + pods.refused->message;
  return std::to_string(pods.made) + " of " + std::to_string(pods.wanted) + " pods " +
         (pods.made == 1 ? "was" : "were") + " made: " + pods.refused->message;
}

bool IsWithoutPods(const ClusterView& view, const api::Workload& workload) {
  const MadePods pods = MadePodsOf(view, workload);
  return pods.refused != nullptr && IsKnown(view, "pods") && pods.made == 0;
}

std::string RunningPlace(const ClusterView& view, const api::Workload& workload) {
  std::vector<std::string> flavors;
  if (workload.status.admission) {
    for (const auto& assignment : workload.status.admission->pod_set_assignments) {
      for (const auto& [resource, flavor] : assignment.flavors) {
        if (std::find(flavors.begin(), flavors.end(), flavor) == flavors.end()) {
          flavors.push_back(flavor);
        }
      }
    }
  }
  PodLocations locations = LocationsOf(view, workload);
  const bool has_pods =
      !locations.nodes.empty() || locations.starting > 0 || locations.without_node > 0;
  std::string lack = LackOfPods(view, workload);
  if (!has_pods && lack.empty()) locations.nodes = AssignedHosts(workload);
  std::vector<std::string> parts;
  if (!locations.nodes.empty()) {
    constexpr std::size_t kShown = 3;
    const std::size_t more = locations.nodes.size() > kShown ? locations.nodes.size() - kShown : 0;
    locations.nodes.resize(locations.nodes.size() - more);
    parts.push_back(Join(locations.nodes, ", ") +
                    (more > 0 ? " and " + std::to_string(more) + " more" : ""));
  }
  const auto pods = [](std::size_t count) {
    return std::to_string(count) + (count == 1 ? " pod" : " pods");
  };
  if (!lack.empty()) parts.push_back(std::move(lack));
  if (locations.starting > 0) parts.push_back(pods(locations.starting) + " starting");
  if (locations.without_node > 0) parts.push_back(pods(locations.without_node) + " without a node");
  if (!locations.obstacle.empty()) parts.push_back(locations.obstacle);
  if (!workload.status.unhealthy_nodes.empty()) {
    parts.push_back("lost " + Join(workload.status.unhealthy_nodes, ", ") +
                    "; another node is being looked for");
  }
  const std::string where = Join(flavors, "+");
  return parts.empty() ? where : (where.empty() ? "" : where + ": ") + Join(parts, "; ");
}

std::string FinishedResult(const ClusterView& view, const api::Workload& workload) {
  const api::Condition* finished = Find(workload.status.conditions, api::kFinished);
  if (finished == nullptr) return "";
  const api::Condition* admitted = Find(workload.status.conditions, api::kAdmitted);
  if (finished->reason == api::kSucceeded) {
    if (admitted == nullptr || admitted->status != api::ConditionStatus::kTrue) return "ok";
    return "ok in " +
           HumanDuration(finished->last_transition_time - admitted->last_transition_time);
  }
  const PodMarks marks = PodMarksOf(workload);
  const api::OwnerReference* owner = api::ControllerOf(workload.meta);
  for (const PodView& pod : view.pods) {
    // The pod of a job's submitter tells of the job, too.
    const bool is_submitter = owner != nullptr && pod.job_name == owner->name &&
                              pod.namespace_name == workload.meta.namespace_name;
    if (pod.exit_code && (is_submitter || IsPodOf(pod, workload, marks))) {
      return "failed: exit " + std::to_string(*pod.exit_code) + " in pod " + pod.name;
    }
  }
  return Lower(finished->reason) + ": " + finished->message;
}

WallTime WaitingSince(const api::Workload& workload) {
  const api::Condition* evicted = Find(workload.status.conditions, api::kEvicted);
  if (evicted != nullptr && evicted->status == api::ConditionStatus::kTrue) {
    return evicted->last_transition_time;
  }
  return workload.meta.creation_timestamp;
}

WallTime OrderedBy(const api::Workload& workload) { return queue::QueueOrderTime(workload, {}); }

std::int32_t PriorityOf(const api::Workload& workload) {
  return workload.spec.priority.value_or(0);
}

QueueRank RankInQueue(const api::Workload& workload,
                      const std::map<api::ObjectKey, std::int64_t>& turns) {
  const auto turn = turns.find(workload.meta.key());
  return {turn == turns.end() ? std::numeric_limits<std::int64_t>::max() : turn->second,
          -static_cast<std::int64_t>(PriorityOf(workload)), OrderedBy(workload), workload.meta.uid};
}

std::vector<const api::Workload*> InQueueOrder(const ClusterView& view) {
  std::vector<const api::Workload*> waiting;
  for (const api::Workload& workload : view.workloads) {
    if (IsWaiting(workload)) waiting.push_back(&workload);
  }
  std::map<const api::Workload*, std::string> queue_of;
  for (const api::Workload* workload : waiting) {
    queue_of[workload] = ClusterQueueOf(view, *workload);
  }
  std::sort(waiting.begin(), waiting.end(), [&](const api::Workload* a, const api::Workload* b) {
    const auto rank = [&](const api::Workload& w) {
      // Workloads with quota wait for their checks alone and block no other workload.
      return std::make_tuple(queue_of.at(&w),
                             !api::IsTrue(w.status.conditions, api::kQuotaReserved),
                             RankInQueue(w, view.turns));
    };
    return rank(*a) < rank(*b);
  });
  return waiting;
}

}  // namespace berth::view
