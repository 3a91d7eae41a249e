#include "tests/golden/world.h"

#include <algorithm>
#include <utility>

#include "admission/messages.h"
#include "api/codec/codec.h"
#include "api/condition.h"
#include "api/quantity.h"
#include "api/reasons.h"

namespace berth::golden {
namespace {

api::ObjectKey KeyOf(const Json& event) {
  return {event.value("namespace", std::string("default")), event.value("name", std::string())};
}

api::ObjectKey KeyOfName(const std::string& name) {
  const auto slash = name.find('/');
  if (slash == std::string::npos) return {"default", name};
  return {name.substr(0, slash), name.substr(slash + 1)};
}

const char* ModeName(admission::AssignmentMode mode) {
  switch (mode) {
    case admission::AssignmentMode::kNoFit: return "NoFit";
    case admission::AssignmentMode::kPreempt: return "Preempt";
    case admission::AssignmentMode::kDeferredFit: return "DeferredFit";
    case admission::AssignmentMode::kFit: return "Fit";
  }
  return "";
}

const char* DestinationName(queue::Destination to) {
  switch (to) {
    case queue::Destination::kActive: return "heap";
    case queue::Destination::kInadmissible: return "inadmissible";
    case queue::Destination::kNone: return "none";
  }
  return "";
}

const char* CheckName(api::CheckState state) {
  switch (state) {
    case api::CheckState::kPending: return "Pending";
    case api::CheckState::kReady: return "Ready";
    case api::CheckState::kRetry: return "Retry";
    case api::CheckState::kRejected: return "Rejected";
  }
  return "";
}

Json DescribeAssigned(const api::PodSetAssignment& assigned) {
  Json pod_set = {{"name", assigned.name}, {"count", assigned.count}};
  pod_set["flavors"] = Json::object();
  pod_set["resourceUsage"] = Json::object();
  for (const auto& [resource, flavor] : assigned.flavors) pod_set["flavors"][resource] = flavor;
  for (const auto& [resource, amount] : assigned.resource_usage) {
    pod_set["resourceUsage"][resource] = api::FormatAmount(resource, amount);
  }
  if (assigned.topology_assignment) {
    pod_set["topologyAssignment"] = api::Encode(*assigned.topology_assignment);
  }
  return pod_set;
}

}  // namespace

std::string NameOf(const api::ObjectMeta& meta) {
  return meta.namespace_name == "default" ? meta.name : meta.namespace_name + "/" + meta.name;
}

Result<admission::DriverOptions> World::OptionsOf(const Json& story_config,
                                                  const admission::OwnRules& own_rules) {
  admission::DriverOptions options;
  admission::SchedulerConfig& config = options.scheduler;
  config.listing = queue::Listing::kAll;
  config.own_rules = own_rules;
  if (const auto fair = story_config.find("fairSharing");
      fair != story_config.end() && fair->is_object()) {
    config.fair_sharing.emplace();
    if (fair->contains("preemptionStrategies") && !fair->at("preemptionStrategies").empty()) {
      config.fair_sharing->rules.clear();
      for (const Json& name : fair->at("preemptionStrategies")) {
        config.fair_sharing->rules.push_back(
            name == "LessThanInitialShare"
                ? admission::FairSharingRule::kLessThanInitialShare
                : admission::FairSharingRule::kLessThanOrEqualToFinalShare);
      }
    }
  }
  const auto gates = story_config.find("featureGates");
  if (gates != story_config.end() && gates->is_object()) {
    for (const auto& [name, enabled] : gates->items()) {
      if (!config.gates.Set(name, enabled.get<bool>())) {
        return Error{ErrorCode::kInvalid, "config.featureGates: unknown gate " + name};
      }
    }
  }
  return options;
}

Status World::ApplyObject(const Json& object) {
  const std::string kind = object.value("kind", "");
  const std::string name = object.at("metadata").value("name", "");
  const std::string raw_key = kind + "/" + object["metadata"].value("namespace", "") + "/" + name;
  if (kind != "Workload" && kind != "Cohort") {  // every update of a Cohort wakes its tree
    auto [known, added] = raw_.try_emplace(raw_key, object);
    if (!added && known->second == object) return OkStatus();
    known->second = object;
  }
  const auto apply = [&]<typename T>(T) -> Status {
    BERTH_TRY(const T decoded, api::Decode<T>(object));
    core_.Apply(decoded);
    return OkStatus();
  };
  if (kind == "Namespace") return apply(api::Namespace{});
  if (kind == "ResourceFlavor") return apply(api::ResourceFlavor{});
  if (kind == "AdmissionCheck") return apply(api::AdmissionCheck{});
  if (kind == "Topology") return apply(api::Topology{});
  if (kind == "Cohort") return apply(api::Cohort{});
  if (kind == "ClusterQueue") return apply(api::ClusterQueue{});
  if (kind == "LocalQueue") return apply(api::LocalQueue{});
  if (kind == "Workload") return apply(api::Workload{});
  if (kind == "Node") return apply(api::Node{});
  return Error{ErrorCode::kInvalid, "unknown kind " + kind};
}

Status World::Delete(const Json& event) {
  const std::string kind = event.value("kind", "Workload");
  if (kind == "Workload") {
    core_.DeleteWorkload(KeyOf(event));
  } else if (kind == "LocalQueue") {
    raw_.erase("LocalQueue/" + KeyOf(event).namespace_name + "/" + KeyOf(event).name);
    core_.Delete<api::LocalQueue>(KeyOf(event));
  } else if (kind == "Cohort") {
    raw_.erase("Cohort//" + event.value("name", ""));
    core_.Delete<api::Cohort>(event.value("name", ""));
  } else {
    return Error{ErrorCode::kInvalid, "cannot delete a " + kind};
  }
  return OkStatus();
}

Status World::ApplyWorkloadEvent(const std::string& op, const Json& event) {
  const api::ObjectKey key = KeyOf(event);
  if (op == "finish") {
    core_.Finish(key);
  } else if (op == "setPriority") {
    core_.SetPriority(key, event.at("priority").get<std::int32_t>());
  } else if (op == "setActive") {
    core_.SetActive(key, event.at("active").get<bool>());
  } else if (op == "reclaim") {
    core_.Reclaim(key, event.at("podSet").get<std::string>(),
                  event.at("count").get<std::int32_t>());
  } else if (op == "setCheck") {
    const std::string state = event.at("state");
    core_.SetCheck(key, event.at("check").get<std::string>(),
                   state == "Ready"   ? api::CheckState::kReady
                   : state == "Retry" ? api::CheckState::kRetry
                                      : api::CheckState::kRejected);
  } else {
    return Error{ErrorCode::kInvalid, "unknown event " + op};
  }
  return OkStatus();
}

Status World::ApplyEvent(const Json& event) {
  const std::string op = event.value("op", "");
  if (op == "create" || op == "update") return ApplyObject(event.at("object"));
  if (op == "delete") return Delete(event);
  return ApplyWorkloadEvent(op, event);
}

std::vector<std::string> World::Evicted() const {
  std::vector<std::string> names;
  for (const api::ObjectKey& key : core_.Evicted()) names.push_back(NameOf(core_.Find(key)->meta));
  return names;
}

std::string World::Release(const std::string& name) { return core_.Release(KeyOfName(name)); }

Json World::RunCycle() {
  const admission::CycleResult result = core_.Decide();
  Json decisions = Json::array();
  for (const admission::Decision& decision : result.decisions) {
    decisions.push_back(Describe(decision));
  }
  Json cycle = {{"cycle", std::move(decisions)}};
  std::vector<std::string> parked;
  for (const admission::CycleResult::Parked& one : result.bulk_parked) {
    parked.push_back(NameOf(core_.scheduler().workloads().object(one.workload)->meta));
  }
  std::sort(parked.begin(), parked.end());
  if (!parked.empty()) cycle["bulkParked"] = parked;
  core_.Perform(result);
  return cycle;
}

std::vector<std::string> World::RunWakeUps() {
  std::vector<std::string> names;
  for (const admission::WorkloadId id : core_.RunWakeUps().listed) {
    names.push_back(NameOf(core_.scheduler().workloads().object(id)->meta));
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Writes results in the form of the recorded stories.

Json World::Describe(const admission::Decision& decision) const {
  using admission::Outcome;
  const std::string& queue = core_.scheduler().state().queue(decision.cluster_queue).name;
  const admission::Vocabulary& names = core_.scheduler().state().vocabulary();
  Json json = {{"workload", NameOf(decision.object->meta)},
               {"clusterQueue", queue},
               {"result", ToString(decision.outcome)}};
  const bool reserved = GivesQuota(decision);
  if (decision.outcome != Outcome::kNotNominated) {
    json["mode"] = ModeName(decision.assignment.mode);
    if (decision.assignment.borrow_height != 0) {
      json["borrowHeight"] = decision.assignment.borrow_height;
    }
  }
  if (reserved) {
    for (const auto& assigned :
         admission::AdmissionOf(decision, names, queue).pod_set_assignments) {
      json["podSets"].push_back(DescribeAssigned(assigned));
    }
  } else if (decision.outcome != Outcome::kNotNominated &&
             decision.assignment.mode != admission::AssignmentMode::kNoFit) {
    for (const admission::PodSetDecision& pod_set : decision.assignment.pod_sets) {
      Json waiting = {{"name", pod_set.name}, {"count", pod_set.count}};
      waiting["flavors"] = Json::object();
      for (const admission::FlavorChoice& choice : pod_set.flavors) {
        waiting["flavors"][names.resources[choice.resource]] = names.flavors[choice.flavor];
      }
      json["podSets"].push_back(std::move(waiting));
    }
  }
  std::vector<std::pair<std::string, const admission::Victim*>> victims;
  for (const admission::Victim& victim : decision.victims) {
    victims.emplace_back(NameOf(victim.object->meta), &victim);
  }
  std::sort(victims.begin(), victims.end());
  for (const auto& [name, victim] : victims) {
    if (decision.outcome != Outcome::kPreempting) {
      json["targets"].push_back(name);
      continue;
    }
    Json entry = {{"name", name}, {"reason", ToString(victim->reason)}};
    if (victim->ongoing) entry["ongoing"] = true;
    json["victims"].push_back(std::move(entry));
  }
  if (reserved) return json;
  const std::string requeue = queue::ToString(decision.requeue_reason);
  if (!requeue.empty()) json["requeue"] = requeue;
  json["to"] = DestinationName(decision.to);
  const std::string reason(admission::PendingReason(decision));
  if (!reason.empty()) json["reason"] = reason;
  const std::string message =
      admission::TruncateEventMessage(admission::PendingMessage(decision, names, queue));
  if (!message.empty()) json["message"] = message;
  return json;
}

Json World::DescribeAdmitted(const api::Workload& workload) const {
  Json json = {{"workload", NameOf(workload.meta)},
               {"clusterQueue", workload.status.admission->cluster_queue},
               {"admitted", api::IsTrue(workload.status.conditions, api::kAdmitted)}};
  for (const api::AdmissionCheckState& check : workload.status.admission_checks) {
    json["checks"][check.name] = CheckName(check.state);
  }
  for (const auto& assigned : workload.status.admission->pod_set_assignments) {
    json["podSets"].push_back(DescribeAssigned(assigned));
  }
  return json;
}

Json World::UsageOf(admission::NodeId node) const {
  const admission::ClusterState& state = core_.scheduler().state();
  Json usage = Json::object();
  const admission::Vocabulary& names = state.vocabulary();
  for (admission::FlavorResourceId fr = 0; fr < names.flavor_resources.size(); ++fr) {
    const admission::Amount amount = state.tree().AmountsOf(node, fr).usage;
    if (amount == 0) continue;
    usage[names.flavors[names.flavor_resources.FlavorOf(fr)]]
         [names.resources[names.flavor_resources.ResourceOf(fr)]] = amount;
  }
  return usage;
}

Json World::State() const {
  const admission::ClusterState& state = core_.scheduler().state();
  Json json = {{"admitted", Json::array()},
               {"usage", Json::object()},
               {"pending", Json::object()},
               {"inadmissible", Json::object()}};
  std::vector<std::string> not_queued;
  for (const auto& [key, workload] : core_.workloads()) {
    const std::string name = NameOf(workload.meta);
    if (api::IsTrue(workload.status.conditions, api::kFinished)) continue;
    const auto id = core_.scheduler().workloads().Find(key);
    if (id && state.reservation(*id) != nullptr) {
      json["admitted"].push_back(DescribeAdmitted(workload));
    } else if (!id || core_.scheduler().queues().PlaceOf(*id) == queue::Destination::kNone) {
      not_queued.push_back(name);
    }
  }
  const auto names = [this](const std::vector<admission::WorkloadId>& ids) {
    Json list = Json::array();
    for (const admission::WorkloadId id : ids) {
      list.push_back(NameOf(core_.scheduler().workloads().object(id)->meta));
    }
    return list;
  };
  for (const admission::ClusterQueueId id : state.cluster_queues().Present()) {
    const admission::QueueState& queue = state.queue(id);
    const queue::WaitingWorkloads::Lists view = core_.scheduler().queues().waiting(id).Split();
    if (!view.active.empty()) json["pending"][queue.name] = names(view.active);
    if (!view.inadmissible.empty()) json["inadmissible"][queue.name] = names(view.inadmissible);
    if (!queue.active()) json["inactiveClusterQueues"].push_back(queue.name);
    if (Json usage = UsageOf(queue.node); !usage.empty()) json["usage"][queue.name] = usage;
  }
  for (const std::string& cohort : state.cohorts().Names()) {
    Json usage = UsageOf(*state.cohorts().Find(cohort));
    if (!usage.empty()) json["cohortUsage"][cohort] = usage;
  }
  if (!not_queued.empty()) json["notQueued"] = not_queued;
  return json;
}

}  // namespace berth::golden
