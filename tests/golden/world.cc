#include "tests/golden/world.h"

#include <algorithm>
#include <utility>

#include "api/codec/codec.h"

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
    core_.DeleteLocalQueue(KeyOf(event));
  } else if (kind == "Cohort") {
    raw_.erase("Cohort//" + event.value("name", ""));
    core_.DeleteCohort(event.value("name", ""));
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
    parked.push_back(NameOf(core_.scheduler().workload(one.workload)->meta));
  }
  std::sort(parked.begin(), parked.end());
  if (!parked.empty()) cycle["bulkParked"] = parked;
  core_.Perform(result);
  return cycle;
}

std::vector<std::string> World::RunWakeUps() {
  std::vector<std::string> names;
  for (const admission::WorkloadId id : core_.RunWakeUps().listed) {
    names.push_back(NameOf(core_.scheduler().workload(id)->meta));
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace berth::golden
