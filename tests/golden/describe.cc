// Writes results in the form of the recorded stories.
#include <algorithm>

#include "admission/messages.h"
#include "api/codec/codec.h"
#include "api/condition.h"
#include "api/quantity.h"
#include "api/reasons.h"
#include "tests/golden/world.h"

namespace berth::golden {
namespace {

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

Json World::Describe(const admission::Decision& decision) const {
  using admission::Outcome;
  const std::string& queue = core_.scheduler().state().queue(decision.cluster_queue).name;
  const admission::Vocabulary& names = core_.scheduler().vocabulary();
  Json json = {{"workload", NameOf(decision.object->meta)},
               {"clusterQueue", queue},
               {"result", ToString(decision.outcome)}};
  const bool reserved =
      decision.outcome == Outcome::kAdmitted || decision.outcome == Outcome::kQuotaReserved;
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
  for (admission::FlavorResourceId fr = 0; fr < state.tree().flavor_resource_count(); ++fr) {
    const admission::Amount amount = state.tree().UsageOf(node, fr);
    if (amount == 0) continue;
    usage[core_.scheduler().vocabulary().flavors[state.FlavorOf(fr)]]
         [core_.scheduler().vocabulary().resources[state.ResourceOf(fr)]] = amount;
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
    const auto id = core_.scheduler().Find(key);
    if (id && state.reservation(*id) != nullptr) {
      json["admitted"].push_back(DescribeAdmitted(workload));
    } else if (!id || !core_.scheduler().queues().IsQueued(*id)) {
      not_queued.push_back(name);
    }
  }
  const auto names = [this](const std::vector<admission::WorkloadId>& ids) {
    Json list = Json::array();
    for (const admission::WorkloadId id : ids) {
      list.push_back(NameOf(core_.scheduler().workload(id)->meta));
    }
    return list;
  };
  for (const admission::ClusterQueueId id : state.PresentQueues()) {
    const admission::QueueState& queue = state.queue(id);
    const queue::QueueSet::QueueView view = core_.scheduler().queues().View(id);
    if (!view.active.empty()) json["pending"][queue.name] = names(view.active);
    if (!view.inadmissible.empty()) json["inadmissible"][queue.name] = names(view.inadmissible);
    if (!queue.active()) json["inactiveClusterQueues"].push_back(queue.name);
    if (Json usage = UsageOf(queue.node); !usage.empty()) json["usage"][queue.name] = usage;
  }
  for (const std::string& cohort : state.CohortNames()) {
    Json usage = UsageOf(*state.CohortNode(cohort));
    if (!usage.empty()) json["cohortUsage"][cohort] = usage;
  }
  if (!not_queued.empty()) json["notQueued"] = not_queued;
  return json;
}

}  // namespace berth::golden
