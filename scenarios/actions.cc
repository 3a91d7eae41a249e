#include "scenarios/actions.h"

#include <functional>
#include <map>

#include "api/yaml/yaml.h"
#include "base/rfc3339.h"
#include "base/strings.h"
#include "local/cluster/objects/fields.h"
#include "scenarios/lookup.h"
#include "scenarios/short_forms.h"
#include "scenarios/topology_words.h"

namespace berth::scenarios {
namespace {

using local::ApiResult;
using local::Object;
using local::PatchType;

Status FromApi(const ApiResult<Object>& result) {
  if (result) return OkStatus();
  return Error{ErrorCode::kInvalid, "refused: " + result.error().message};
}

Result<Found> FindExisting(sim::SimWorld& world, const Step& step, std::size_t& next) {
  BERTH_TRY(Found found, FindNamed(world, step, 1, next));
  if (found.object == nullptr) return Bad("there is no such object");
  return found;
}

// {"spec": {"stock": 1}} from "stock" or "spec.stock"; a path of one word is meant in spec.
Json Nested(const std::string& path, Json value) {
  std::vector<std::string> keys;
  for (const std::string_view part : Split(path, '.')) keys.emplace_back(part);
  if (keys.size() == 1) keys.insert(keys.begin(), "spec");
  for (auto key = keys.rbegin(); key != keys.rend(); ++key) value = Json{{*key, value}};
  return value;
}

// set nodepool x stock=1 spec.maxNodes=2
Status Set(sim::SimWorld& world, const Step& step) {
  std::size_t next = 0;
  BERTH_TRY(const Found found, FindExisting(world, step, next));
  Json patch = Json::object();
  for (const Word& word : step.words) {
    if (word.option && word.option->first != "attempt") {
      patch.update(Nested(word.option->first, ValueOf(word.option->second)), true);
    }
  }
  return FromApi(world.api().Patch(found.kind.id, found.namespace_name, found.name,
                                   PatchType::kMerge, patch, {.field_manager = "kubectl"}));
}

// patch KIND NAME [subresource=status] <<EOF … EOF
Status Patch(sim::SimWorld& world, const Step& step) {
  std::size_t next = 0;
  BERTH_TRY(const Found found, FindExisting(world, step, next));
  BERTH_TRY(const api::YamlDocument patch, api::ParseYaml(step.body));
  const PatchType type = patch.value.is_array() ? PatchType::kJson : PatchType::kMerge;
  return FromApi(
      world.api().Patch(found.kind.id, found.namespace_name, found.name, type, patch.value,
                        {.field_manager = "kubectl", .subresource = step.Get("subresource")}));
}

Status Delete(sim::SimWorld& world, const Step& step) {
  std::size_t next = 0;
  BERTH_TRY(const Found found, FindExisting(world, step, next));
  local::DeleteOptions options;
  options.propagation_policy = step.Get("propagation", "Background");
  return FromApi(world.api().Delete(found.kind.id, found.namespace_name, found.name, options));
}

// Reads, edits and writes the status of an object, as its controller would.
Status EditStatus(sim::SimWorld& world, const Found& found,
                  const std::function<void(Json& status)>& edit) {
  Json object = *found.object;
  edit(object["status"]);
  return FromApi(world.api().Update(found.kind.id, found.namespace_name, found.name,
                                    std::move(object),
                                    {.field_manager = "story", .subresource = "status"}));
}

// condition KIND NAME Type=True reason=R message="…"
Status SetCondition(sim::SimWorld& world, const Step& step) {
  std::size_t next = 0;
  BERTH_TRY(const Found found, FindExisting(world, step, next));
  Json condition{{"reason", step.Get("reason", "Story")}, {"message", step.Get("message")}};
  for (const Word& word : step.words) {
    if (!word.option || word.option->first == "reason" || word.option->first == "message" ||
        word.option->first == "attempt") {
      continue;
    }
    condition["type"] = word.option->first;
    condition["status"] = word.option->second;
  }
  if (!condition.contains("type")) return Bad("condition: write Type=True or Type=False");
  condition["lastTransitionTime"] = FormatTime(CutToSeconds(world.clock().Now()));
  return EditStatus(world, found, [&](Json& status) {
    Json& conditions = status["conditions"];
    if (!conditions.is_array()) conditions = Json::array();
    for (Json& known : conditions) {
      if (known["type"] != condition["type"]) continue;
      known = condition;
      return;
    }
    conditions.push_back(condition);
  });
}

// answer CHECK of JOB STATE "message" [retry-after=60]
Status AnswerCheck(sim::SimWorld& world, const Step& step) {
  if (step.plain(2) != "of") return Bad("answer: write CHECK of JOB STATE \"message\"");
  const Object workload = WorkloadOf(world, step.plain(3));
  if (workload == nullptr) return Bad("there is no workload of " + step.plain(3));
  const std::string check = step.plain(1);
  Json entry{{"name", check},
             {"state", step.plain(4)},
             {"message", ""},
             {"lastTransitionTime", FormatTime(CutToSeconds(world.clock().Now()))}};
  for (const Word& word : step.words) {
    if (word.is_quoted) entry["message"] = word.text;
  }
  if (const auto after = step.Find("retry-after")) entry["requeueAfterSeconds"] = ValueOf(*after);
  const auto kind = world.FindKind("workload");
  const Found found{*kind, local::cluster::NamespaceOf(*workload),
                    local::cluster::NameOf(*workload), workload};
  bool asked = false;
  Status written = EditStatus(world, found, [&](Json& status) {
    for (Json& known : status["admissionChecks"]) {
      if (known["name"] != check) continue;
      asked = true;
      known = entry;
    }
  });
  if (!asked) return Bad("the workload is not waiting for check " + check);
  return written;
}

// fault conflict|unavailable|lost-answer|slow every=2 path=/status: every second write of the
// controllers whose path has that part gets the fault. `fault none` ends the fault.
Status SetFault(sim::SimWorld& world, const Step& step) {
  static const std::map<std::string, sim::Fault> kFaults{
      {"conflict", sim::Fault::kConflict},
      {"unavailable", sim::Fault::kUnavailable},
      {"lost-answer", sim::Fault::kLostAnswer},
      {"slow", sim::Fault::kSlow},
  };
  if (step.plain(1) == "none") {
    world.controllers().SetFault(nullptr);
    return OkStatus();
  }
  const auto fault = kFaults.find(step.plain(1));
  const auto every = ParseInt64(step.Get("every", "1"));
  if (fault == kFaults.end() || !every || *every < 1) {
    return Bad("fault: write conflict, unavailable, lost-answer, slow or none, and every=N");
  }
  world.controllers().SetFault([kind = fault->second, every = *every, path = step.Get("path"),
                                count = std::int64_t{0}](const kube::ApiRequest& request) mutable {
    if (request.method == "GET" || request.path.find(path) == std::string::npos) {
      return sim::Fault::kNone;
    }
    return ++count % every == 0 ? kind : sim::Fault::kNone;
  });
  return OkStatus();
}

}  // namespace

std::optional<Status> Act(sim::SimWorld& world, const Step& step) {
  static const std::map<std::string, std::function<Status(sim::SimWorld&, const Step&)>,
                        std::less<>>
      kActions{
          {"set", Set},
          {"patch", Patch},
          {"delete", Delete},
          {"condition", SetCondition},
          {"answer", AnswerCheck},
          {"fault", SetFault},
          {"kill", KillPods},
      };
  const auto action = kActions.find(step.verb());
  if (action == kActions.end()) return std::nullopt;
  return action->second(world, step);
}

}  // namespace berth::scenarios
