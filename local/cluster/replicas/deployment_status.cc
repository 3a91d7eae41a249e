#include "local/cluster/replicas/deployment_status.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/rfc3339.h"
#include "base/seconds.h"
#include "local/cluster/objects/fields.h"
#include "local/cluster/replicas/rollout_numbers.h"

namespace berth::local::cluster {
namespace {

constexpr char kProgressing[] = "Progressing";
constexpr char kFailure[] = "ReplicaFailure";

Json* ConditionIn(Json& status, std::string_view type) {
  if (!status.contains("conditions") || !status["conditions"].is_array()) return nullptr;
  for (Json& condition : status["conditions"]) {
    if (StringAt(condition, {"type"}) == type) return &condition;
  }
  return nullptr;
}

void Remove(Json& status, std::string_view type) {
  if (ConditionIn(status, type) == nullptr) return;
  Json kept = Json::array();
  for (Json& condition : status["conditions"]) {
    if (StringAt(condition, {"type"}) != type) kept.push_back(std::move(condition));
  }
  status["conditions"] = std::move(kept);
}

// `always`: lastUpdateTime and the message change although status and reason do not.
void Set(Json& status, const ConditionValue& value, WallTime now, bool always = false) {
  std::string since = FormatTime(now);
  if (const Json* known = ConditionIn(status, value.type)) {
    const bool same_status = StringAt(*known, {"status"}) == value.status;
    if (same_status && !always && StringAt(*known, {"reason"}) == value.reason) return;
    if (same_status) since = StringAt(*known, {"lastTransitionTime"}, since);
  }
  Remove(status, value.type);
  if (!status["conditions"].is_array()) status["conditions"] = Json::array();
  status["conditions"].push_back({{"type", value.type},
                                  {"status", value.status},
                                  {"reason", value.reason},
                                  {"message", value.message},
                                  {"lastUpdateTime", FormatTime(now)},
                                  {"lastTransitionTime", since}});
}

// INT32_MAX means no deadline.
std::optional<std::int64_t> DeadlineOf(const Json& deployment) {
  const auto seconds = OptionalIntAt(deployment, {"spec", "progressDeadlineSeconds"});
  if (!seconds || *seconds >= INT32_MAX) return std::nullopt;
  return seconds;
}

std::string Subject(const Json& deployment, const std::string& set) {
  return set.empty() ? fmt::format("Deployment \"{}\"", NameOf(deployment))
                     : fmt::format("ReplicaSet \"{}\"", set);
}

bool HasProgressed(const Json& deployment, const RolloutCounts& counts) {
  const auto before = [&](const char* name) { return IntAt(deployment, {"status", name}); };
  return counts.updated > before("updatedReplicas") ||
         counts.replicas - counts.updated < before("replicas") - before("updatedReplicas") ||
         counts.ready > before("readyReplicas") || counts.available > before("availableReplicas");
}

}  // namespace

void RolloutCounts::Add(const Json& set, bool is_new) {
  wanted += WantedReplicas(set);
  replicas += IntAt(set, {"status", "replicas"});
  ready += IntAt(set, {"status", "readyReplicas"});
  available += IntAt(set, {"status", "availableReplicas"});
  terminating += IntAt(set, {"status", "terminatingReplicas"});
  if (is_new) updated += IntAt(set, {"status", "replicas"});
}

bool RolloutCounts::IsComplete(const Json& deployment) const {
  const std::int64_t all = WantedReplicas(deployment);
  return updated == all && replicas == all && available == all;
}

void RolloutCounts::WriteTo(Json& status, const Json& deployment) const {
  status["observedGeneration"] = IntAt(deployment, {"metadata", "generation"});
  SetCount(status, "replicas", replicas);
  SetCount(status, "updatedReplicas", updated);
  SetCount(status, "readyReplicas", ready);
  SetCount(status, "availableReplicas", available);
  SetCount(status, "unavailableReplicas", std::max<std::int64_t>(wanted - available, 0));
  status["terminatingReplicas"] = terminating;
}

void NotePause(Json& status, const Json& deployment, bool paused, WallTime now) {
  if (!DeadlineOf(deployment)) return;
  const Json* known = ConditionIn(status, kProgressing);
  const std::string reason = known == nullptr ? "" : StringAt(*known, {"reason"});
  if (reason == "ProgressDeadlineExceeded") return;
  const bool was_paused = reason == "DeploymentPaused";
  if (paused && !was_paused) {
    Set(status, {kProgressing, "Unknown", "DeploymentPaused", "Deployment is paused"}, now);
  } else if (!paused && was_paused) {
    Set(status, {kProgressing, "Unknown", "DeploymentResumed", "Deployment is resumed"}, now);
  }
}

void NoteFound(Json& status, const Json& deployment, const std::string& set, WallTime now) {
  if (!DeadlineOf(deployment) || ConditionIn(status, kProgressing) != nullptr) return;
  Set(status,
      {kProgressing, "True", "FoundNewReplicaSet",
       fmt::format("Found new replica set \"{}\"", set)},
      now);
}

void NoteCreated(Json& status, const Json& deployment, const std::string& set, WallTime now) {
  if (!DeadlineOf(deployment)) return;
  Set(status,
      {kProgressing, "True", "NewReplicaSetCreated",
       fmt::format("Created new replica set \"{}\"", set)},
      now);
}

void NoteAvailability(Json& status, const Json& deployment, const RolloutCounts& counts,
                      WallTime now) {
  if (counts.available >= WantedReplicas(deployment) - MaxUnavailable(deployment)) {
    Set(status,
        {"Available", "True", "MinimumReplicasAvailable", "Deployment has minimum availability."},
        now);
  } else {
    Set(status,
        {"Available", "False", "MinimumReplicasUnavailable",
         "Deployment does not have minimum availability."},
        now);
  }
}

void NoteFailure(Json& status, const std::vector<Object>& sets, WallTime now) {
  for (const Object& set : sets) {
    const Json* failure = FindCondition(*set, kFailure);
    if (failure == nullptr) continue;
    Set(status,
        {kFailure, StringAt(*failure, {"status"}), StringAt(*failure, {"reason"}),
         StringAt(*failure, {"message"})},
        now);
    return;
  }
  Remove(status, kFailure);
}

std::optional<WallTime> NoteProgress(Json& status, const Json& deployment,
                                     const RolloutCounts& counts, const std::string& set,
                                     WallTime now) {
  const auto deadline = DeadlineOf(deployment);
  if (!deadline) {
    Remove(status, kProgressing);
    return std::nullopt;
  }
  const Json* known = ConditionIn(status, kProgressing);
  const std::string reason = known == nullptr ? "" : StringAt(*known, {"reason"});
  const bool was_complete = counts.replicas == counts.updated && reason == "NewReplicaSetAvailable";
  if (was_complete) return std::nullopt;
  if (counts.IsComplete(deployment)) {
    Set(status,
        {kProgressing, "True", "NewReplicaSetAvailable",
         Subject(deployment, set) + " has successfully progressed."},
        now);
    return std::nullopt;
  }
  if (HasProgressed(deployment, counts)) {
    Set(status,
        {kProgressing, "True", "ReplicaSetUpdated", Subject(deployment, set) + " is progressing."},
        now, /*always=*/true);
    return now + BoundedSeconds(*deadline);
  }
  if (known == nullptr || reason == "NewReplicaSetAvailable" ||
      reason == "ProgressDeadlineExceeded") {
    return std::nullopt;
  }
  const WallTime late =
      TimeAt(*known, {"lastUpdateTime"}).value_or(now) + BoundedSeconds(*deadline);
  if (now < late) return late;
  Set(status,
      {kProgressing, "False", "ProgressDeadlineExceeded",
       Subject(deployment, set) + " has timed out progressing."},
      now);
  return std::nullopt;
}

}  // namespace berth::local::cluster
