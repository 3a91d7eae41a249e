#include "tests/golden/world.h"

#include <algorithm>
#include <utility>

#include "admission/lifecycle/workload_lifecycle.h"
#include "admission/messages.h"
#include "api/codec/codec.h"
#include "api/condition.h"
#include "api/reasons.h"
#include "integrations/release.h"

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

admission::QueueFacts FactsOf(const admission::Scheduler& scheduler, const std::string& name) {
  admission::QueueFacts facts;
  facts.name = name;
  for (const admission::ClusterQueueId id : scheduler.state().PresentQueues()) {
    const admission::QueueState& queue = scheduler.state().queue(id);
    if (queue.name != name) continue;
    facts.exists = true;
    facts.active = queue.active();
    facts.stop_policy = queue.spec.stop_policy;
  }
  return facts;
}

}  // namespace

std::string NameOf(const api::ObjectMeta& meta) {
  return meta.namespace_name == "default" ? meta.name : meta.namespace_name + "/" + meta.name;
}

Result<admission::SchedulerConfig> World::ConfigOf(const Json& story_config,
                                                   const admission::OwnRules& own_rules) {
  admission::SchedulerConfig config;
  config.listing = admission::SchedulerConfig::Listing::kYes;
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
  return config;
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
  if (kind == "Namespace") {
    BERTH_TRY(const api::Namespace decoded, api::Decode<api::Namespace>(object));
    scheduler_.ApplyNamespace(decoded);
  } else if (kind == "ResourceFlavor") {
    BERTH_TRY(const api::ResourceFlavor decoded, api::Decode<api::ResourceFlavor>(object));
    scheduler_.ApplyResourceFlavor(decoded);
  } else if (kind == "AdmissionCheck") {
    BERTH_TRY(const api::AdmissionCheck decoded, api::Decode<api::AdmissionCheck>(object));
    scheduler_.ApplyAdmissionCheck(decoded);
  } else if (kind == "Topology") {
    BERTH_TRY(const api::Topology decoded, api::Decode<api::Topology>(object));
    scheduler_.ApplyTopology(decoded);
  } else if (kind == "Cohort") {
    BERTH_TRY(const api::Cohort decoded, api::Decode<api::Cohort>(object));
    scheduler_.ApplyCohort(decoded);
  } else if (kind == "ClusterQueue") {
    BERTH_TRY(const api::ClusterQueue decoded, api::Decode<api::ClusterQueue>(object));
    scheduler_.ApplyClusterQueue(decoded);
  } else if (kind == "LocalQueue") {
    BERTH_TRY(const api::LocalQueue decoded, api::Decode<api::LocalQueue>(object));
    local_queues_[decoded.meta.key()] = decoded;
    scheduler_.ApplyLocalQueue(decoded);
  } else if (kind == "Workload") {
    BERTH_TRY(api::Workload decoded, api::Decode<api::Workload>(object));
    decoded.meta.generation = 1;
    workloads_[decoded.meta.key()] = decoded;
    Store(decoded);
  } else if (kind == "Node") {
    BERTH_TRY(const api::Node decoded, api::Decode<api::Node>(object));
    scheduler_.ApplyNode(decoded);
  } else {
    return Error{ErrorCode::kInvalid, "unknown kind " + kind};
  }
  React();
  return OkStatus();
}

Status World::Delete(const Json& event) {
  const std::string kind = event.value("kind", "Workload");
  if (kind == "Workload") {
    workloads_.erase(KeyOf(event));
    scheduler_.ForgetWorkload(KeyOf(event));
  } else if (kind == "LocalQueue") {
    local_queues_.erase(KeyOf(event));
    raw_.erase("LocalQueue/" + KeyOf(event).namespace_name + "/" + KeyOf(event).name);
    scheduler_.ForgetLocalQueue(KeyOf(event));
  } else if (kind == "Cohort") {
    raw_.erase("Cohort//" + event.value("name", ""));
    scheduler_.ForgetCohort(event.value("name", ""));
  } else {
    return Error{ErrorCode::kInvalid, "cannot delete a " + kind};
  }
  React();
  return OkStatus();
}

Status World::ApplyWorkloadEvent(const std::string& op, const Json& event) {
  const auto found = workloads_.find(KeyOf(event));
  if (found == workloads_.end()) return OkStatus();
  api::Workload& workload = found->second;
  if (op == "finish") {
    if (api::IsTrue(workload.status.conditions, api::kFinished)) return OkStatus();
    api::SetCondition(workload.status.conditions,
                      {api::kFinished, api::ConditionStatus::kTrue, api::kSucceeded, "", Stamp(),
                       workload.meta.generation});
  } else if (op == "setPriority") {
    const auto priority = event.at("priority").get<std::int32_t>();
    if (workload.spec.priority == priority) return OkStatus();
    workload.spec.priority = priority;
    ++workload.meta.generation;
  } else if (op == "setActive") {
    if (workload.spec.active == event.at("active").get<bool>()) return OkStatus();
    workload.spec.active = !workload.spec.active;
    ++workload.meta.generation;
  } else if (op == "reclaim") {
    const auto before = workload.status.reclaimable_pods;
    workload.status.reclaimable_pods = {
        {event.at("podSet").get<std::string>(), event.at("count").get<std::int32_t>()}};
    if (workload.status.reclaimable_pods == before) return OkStatus();
  } else if (op == "setCheck") {
    const std::string state = event.at("state");
    const api::CheckState next = state == "Ready"   ? api::CheckState::kReady
                                 : state == "Retry" ? api::CheckState::kRetry
                                                    : api::CheckState::kRejected;
    bool changed = false;
    for (api::AdmissionCheckState& check : workload.status.admission_checks) {
      if (check.name != event.at("check") || check.state == next) continue;
      changed = true;
      check.state = next;
      check.last_transition_time = Stamp();
    }
    if (!changed) return OkStatus();  // nothing is written, nobody hears of it
  } else {
    return Error{ErrorCode::kInvalid, "unknown event " + op};
  }
  Store(workload);
  React();
  return OkStatus();
}

Status World::ApplyEvent(const Json& event) {
  const std::string op = event.value("op", "");
  if (op == "create" || op == "update") return ApplyObject(event.at("object"));
  if (op == "delete") return Delete(event);
  return ApplyWorkloadEvent(op, event);
}

void World::Store(const api::Workload& workload) {
  scheduler_.ApplyWorkload(std::make_shared<const api::Workload>(workload), now_);
}

bool World::ReactTo(api::Workload& workload) {
  admission::WorkloadSituation situation;
  situation.workload = &workload;
  situation.pods_ready.enabled = false;
  situation.hear_late_answers = scheduler_.config().own_rules.hear_late_answers;
  const auto local = local_queues_.find({workload.meta.namespace_name, workload.spec.queue_name});
  situation.local_queue.name = workload.spec.queue_name;
  std::string queue_name;
  if (local != local_queues_.end()) {
    situation.local_queue.exists = true;
    situation.local_queue.stop_policy = local->second.stop_policy;
    queue_name = local->second.cluster_queue;
  }
  if (workload.status.admission) queue_name = workload.status.admission->cluster_queue;
  situation.cluster_queue = FactsOf(scheduler_, queue_name);
  std::vector<std::string> flavors;
  if (workload.status.admission) {
    for (const auto& assigned : workload.status.admission->pod_set_assignments) {
      for (const auto& [resource, flavor] : assigned.flavors) flavors.push_back(flavor);
    }
  }
  const admission::ClusterState& state = scheduler_.state();
  for (const admission::ClusterQueueId id : state.PresentQueues()) {
    if (state.queue(id).name != queue_name) continue;
    situation.required_checks = workload.status.admission ? state.RequiredChecks(id, flavors)
                                                          : state.ChecksBeforeReservation(id);
  }
  admission::WorkloadPlan plan = admission::PlanWorkload(situation, Stamp());
  if (!plan.status && !plan.deactivate) return false;
  if (plan.status) workload.status = *std::move(plan.status);
  if (plan.deactivate && workload.spec.active) {
    workload.spec.active = false;
    ++workload.meta.generation;
  }
  Store(workload);
  return true;
}

void World::React() {
  for (int round = 0; round < 10; ++round) {
    bool changed = false;
    for (auto& [key, workload] : workloads_) changed = ReactTo(workload) || changed;
    if (!changed) return;
  }
}

std::vector<std::string> World::Evicted() const {
  std::vector<std::string> names;
  for (const auto& [key, workload] : workloads_) {
    if (api::IsTrue(workload.status.conditions, api::kEvicted) &&
        api::IsTrue(workload.status.conditions, api::kQuotaReserved) &&
        !api::IsTrue(workload.status.conditions, api::kFinished)) {
      names.push_back(NameOf(workload.meta));
    }
  }
  return names;
}

std::string World::Release(const std::string& name) {
  const auto found = workloads_.find(KeyOfName(name));
  if (found == workloads_.end()) return "";
  api::Workload& workload = found->second;
  const api::Condition* evicted = api::FindCondition(workload.status.conditions, api::kEvicted);
  if (evicted == nullptr || evicted->status != api::ConditionStatus::kTrue) return "";
  std::string reason = evicted->reason;
  workload.status = integrations::StatusAfterRelease(workload, Stamp());
  Store(workload);
  React();
  return reason;
}

void World::Perform(const admission::Decision& decision) {
  api::Workload& workload = workloads_.at(decision.object->meta.key());
  const std::string& queue = scheduler_.state().queue(decision.cluster_queue).name;
  const admission::Vocabulary& names = scheduler_.vocabulary();
  if (decision.outcome == admission::Outcome::kAdmitted ||
      decision.outcome == admission::Outcome::kQuotaReserved) {
    admission::ReserveQuota(workload.status, admission::AdmissionOf(decision, names, queue),
                            decision.checks, workload.meta.generation, Stamp());
    Store(workload);
    return;
  }
  if (decision.outcome == admission::Outcome::kPreempting) {
    for (const admission::Victim& victim : decision.victims) {
      if (victim.ongoing) continue;
      api::Workload& stopped = workloads_.at(victim.object->meta.key());
      admission::Preempt(stopped.status, ToString(victim.reason),
                         admission::PreemptedMessage(workload, victim.reason,
                                                     scheduler_.PathOf(decision.cluster_queue),
                                                     scheduler_.PathOf(victim.cluster_queue)),
                         stopped.meta.generation, Stamp());
      Store(stopped);
    }
  }
  const std::vector<api::Condition> before = workload.status.conditions;
  admission::SetUnadmitted(workload.status, admission::PendingReason(decision),
                           admission::PendingMessage(decision, names, queue),
                           workload.meta.generation, Stamp());
  if (!(before == workload.status.conditions)) Store(workload);
}

Json World::RunCycle() {
  const admission::CycleResult result = scheduler_.RunCycle(now_);
  Json decisions = Json::array();
  for (const admission::Decision& decision : result.decisions) {
    decisions.push_back(Describe(decision));
  }
  Json cycle = {{"cycle", std::move(decisions)}};
  std::vector<std::string> parked;
  for (const admission::WorkloadId id : result.bulk_parked) {
    parked.push_back(NameOf(scheduler_.workload(id)->meta));
  }
  std::sort(parked.begin(), parked.end());
  if (!parked.empty()) cycle["bulkParked"] = parked;
  for (const admission::Decision& decision : result.decisions) Perform(decision);
  React();
  return cycle;
}

std::vector<std::string> World::RunWakeUps() {
  std::vector<std::string> names;
  for (const admission::WorkloadId id : scheduler_.RunWakeUps(now_).listed) {
    names.push_back(NameOf(scheduler_.workload(id)->meta));
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace berth::golden
