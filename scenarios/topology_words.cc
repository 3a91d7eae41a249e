#include "scenarios/topology_words.h"

#include <map>

#include "api/codec/codec.h"
#include "local/cluster/objects/fields.h"
#include "scenarios/lookup.h"
#include "scenarios/world/sim_runner.h"

namespace berth::scenarios {
namespace {

using local::Object;
using local::cluster::ArrayAt;
using local::cluster::StringAt;

std::string Told(const std::map<std::string, std::int32_t>& pods_by_domain) {
  std::string text;
  for (const auto& [domain, count] : pods_by_domain) {
    text += (text.empty() ? "" : " ") + domain + "=" + std::to_string(count);
  }
  return text.empty() ? "nowhere" : text;
}

// Pods in each domain of one pod set's assignment.
Result<std::map<std::string, std::int32_t>> PodsByDomain(const Json& assigned) {
  std::map<std::string, std::int32_t> pods;
  if (!assigned.contains("topologyAssignment")) return pods;
  BERTH_TRY(const api::Workload workload,
            api::Decode<api::Workload>(Json{
                {"metadata", {{"name", "w"}}},
                {"status", {{"admission", {{"podSetAssignments", Json::array({assigned})}}}}}}));
  for (const auto& domain :
       workload.status.admission->pod_set_assignments[0].topology_assignment->domains) {
    std::string name;
    for (const std::string& value : domain.values) name += (name.empty() ? "" : "/") + value;
    pods[name] += domain.count;
  }
  return pods;
}

}  // namespace

Result<std::vector<Json>> MakeTopology(const Step& step) {
  Json levels = Json::array();
  for (std::size_t i = 2; !step.plain(i).empty(); ++i) {
    levels.push_back({{"nodeLabel", step.plain(i)}});
  }
  if (levels.empty()) return Bad("topology: write NAME and the node labels, widest first");
  return std::vector<Json>{{{"apiVersion", "kueue.x-k8s.io/v1beta2"},
                            {"kind", "Topology"},
                            {"metadata", {{"name", step.plain(1)}}},
                            {"spec", {{"levels", std::move(levels)}}}}};
}

Result<std::vector<Json>> MakePod(const Step& step) {
  const ObjectName named = ObjectNameOf(step.plain(1));
  Json requests = Json::object();
  for (const char* resource : {"cpu", "memory"}) {
    if (const auto amount = step.Find(resource)) requests[resource] = *amount;
  }
  Json spec{{"restartPolicy", "Never"},
            {"containers", Json::array({{{"name", "main"},
                                         {"image", sim::kSimImage},
                                         {"args", {step.Get("runs", "1h")}},
                                         {"resources", {{"requests", requests}}}}})}};
  if (const auto node = step.Find("node")) spec["nodeName"] = *node;
  return std::vector<Json>{
      {{"apiVersion", "v1"},
       {"kind", "Pod"},
       {"metadata", {{"name", named.name}, {"namespace", named.namespace_name}}},
       {"spec", std::move(spec)}}};
}

Status KillPods(sim::SimWorld& world, const Step& step) {
  if (step.plain(1) != "pods" || step.plain(2) != "of") return Bad("kill: write pods of JOB");
  const ObjectName named = ObjectNameOf(step.plain(3));
  const auto node = step.Find("node");
  const auto kind = world.FindKind("pod");
  bool found = false;
  for (const Object& pod : AllOf(world, "pod")) {
    if (local::cluster::NamespaceOf(*pod) != named.namespace_name ||
        local::cluster::LabelOf(*pod, "batch.kubernetes.io/job-name") != named.name ||
        (node && StringAt(*pod, {"spec", "nodeName"}) != *node)) {
      continue;
    }
    found = true;
    local::DeleteOptions options;
    options.grace_period_seconds = 0;
    const auto done =
        world.api().Delete(kind->id, named.namespace_name, local::cluster::NameOf(*pod), options);
    if (!done) return Bad("refused: " + done.error().message);
  }
  return found ? OkStatus() : Status(Bad("there is no such pod"));
}

Result<Finding> PlacementIs(sim::SimWorld& world, const Step& step) {
  const Object workload = WorkloadOf(world, step.plain(1));
  if (workload == nullptr) return Finding{false, "there is no workload"};
  std::map<std::string, std::int32_t> wanted;
  for (const Word& word : step.words) {
    if (!word.option || word.option->first == "podset") continue;
    wanted[word.option->first] = ValueOf(word.option->second).get<std::int32_t>();
  }
  for (const Json& set : ArrayAt(*workload, {"status", "admission", "podSetAssignments"})) {
    if (StringAt(set, {"name"}) != step.Get("podset", "main")) continue;
    BERTH_TRY(const auto pods, PodsByDomain(set));
    return Finding{pods == wanted, Told(pods)};
  }
  return Finding{wanted.empty(), "nowhere: it has no quota"};
}

}  // namespace berth::scenarios
