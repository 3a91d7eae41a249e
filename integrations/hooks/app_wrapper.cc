// An AppWrapper holds whole objects; its pod sets are the places of pod templates in them: declared
// (`podSets` of a component) or, for well-known kinds, inferred. The AppWrapper controller adds
// what a start writes into podSetInfos to the objects that it creates. Source: Kueue
// pkg/controller/jobs/appwrapper; project-codeflare/appwrapper pkg/utils.
#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/workload_limits.h"
#include "base/strings.h"
#include "integrations/hooks/hooks.h"
#include "integrations/hooks/json_parts.h"

namespace berth::integrations {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxPathBytes = 1024;
constexpr char kPodIndexLabel[] = "workload.codeflare.dev.appwrapper/tas-pod-index-label";
constexpr char kSubGroupLabel[] = "workload.codeflare.dev.appwrapper/tas-sub-group-index-label";
constexpr char kSubGroupCount[] = "workload.codeflare.dev.appwrapper/tas-sub-group-count";
constexpr char kCompletionIndex[] = "batch.kubernetes.io/job-completion-index";
constexpr char kReplicaIndex[] = "training.kubeflow.org/replica-index";
constexpr char kJobIndex[] = "jobset.sigs.k8s.io/job-index";

struct WrappedPods {
  std::int64_t replicas = 1;
  std::string path;  // "template.spec.template"
  std::string pod_index_label;
  std::string sub_group_label;
  std::string sub_group_count;
};

// One step of a path: ".name" or "[3]"; nullopt: the path is not well formed.
struct Step {
  std::string_view name;
  std::optional<std::size_t> index;
};
std::optional<Step> NextStep(std::string_view& rest, bool first) {
  if (!first && rest.starts_with('[')) {
    const std::size_t end = rest.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    std::size_t index = 0;
    const auto [last, error] = std::from_chars(rest.data() + 1, rest.data() + end, index);
    if (error != std::errc() || last != rest.data() + end) return std::nullopt;
    rest.remove_prefix(end + 1);
    return Step{{}, index};
  }
  if (!first) {
    if (!rest.starts_with('.')) return std::nullopt;
    rest.remove_prefix(1);
  }
  const std::size_t end = std::min(rest.find_first_of(".["), rest.size());
  if (end == 0) return std::nullopt;
  const Step step{rest.substr(0, end), std::nullopt};
  rest.remove_prefix(end);
  return step;
}

// Null: the path leads to nothing.
const Json* AtPath(const Json& component, std::string_view path) {
  if (path.size() > kMaxPathBytes) return nullptr;
  const Json* at = &component;
  for (bool first = true; !path.empty(); first = false) {
    const std::optional<Step> step = NextStep(path, first);
    if (!step || (first && step->name != "template")) return nullptr;
    if (step->index) {
      if (!at->is_array() || *step->index >= at->size()) return nullptr;
      at = &(*at)[*step->index];
    } else {
      if (!at->is_object()) return nullptr;
      const auto found = at->find(step->name);
      if (found == at->end() || found->is_null()) return nullptr;
      at = &*found;
    }
  }
  return at;
}

// A number that is none of pods becomes one that no Workload takes.
std::int64_t CountAt(const Json& object, const char* field, std::int64_t fallback) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  const Json* count = PartOf(object, {field});
  if (count == nullptr || !count->is_number_integer()) return fallback;
  const auto value = count->get<std::int64_t>();
  if (value > kMost) return std::numeric_limits<std::int64_t>::max();
  return std::max<std::int64_t>(value, -1);
}

std::vector<WrappedPods> InferJob(const Json& spec, const std::string& at) {
  const std::int64_t parallelism = CountAt(spec, "parallelism", 1);
  WrappedPods pods{.replicas = std::min(parallelism, CountAt(spec, "completions", parallelism)),
                   .path = at + ".template"};
  pods.pod_index_label = kCompletionIndex;
  return {pods};
}

std::vector<WrappedPods> InferJobSet(const Json& spec, const std::string& at) {
  std::vector<WrappedPods> all;
  const Json& jobs = ListPart(spec, {"replicatedJobs"});
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (PartOf(jobs[i], {"template"}) == nullptr) continue;
    WrappedPods pods = InferJob(MapPart(jobs[i], {"template", "spec"}),
                                at + ".replicatedJobs[" + std::to_string(i) + "].template.spec")
                           .front();
    const std::int64_t replicas = CountAt(jobs[i], "replicas", 1);
    pods.replicas = pods.replicas > std::numeric_limits<std::int32_t>::max() ||
                            replicas > std::numeric_limits<std::int32_t>::max()
                        ? std::numeric_limits<std::int64_t>::max()
                        : pods.replicas * replicas;
    pods.sub_group_label = kJobIndex;
    pods.sub_group_count = std::to_string(replicas);
    all.push_back(std::move(pods));
  }
  return all;
}

std::vector<WrappedPods> InferPyTorchJob(const Json& spec, const std::string& at) {
  std::vector<WrappedPods> all;
  for (const char* role : {"Master", "Worker"}) {
    if (PartOf(spec, {"pytorchReplicaSpecs", role, "template"}) == nullptr) continue;
    WrappedPods pods{
        .replicas = CountAt(MapPart(spec, {"pytorchReplicaSpecs", role}), "replicas", 1),
        .path = at + ".pytorchReplicaSpecs." + role + ".template"};
    pods.pod_index_label = kReplicaIndex;
    all.push_back(std::move(pods));
  }
  return all;
}

// The numbers of hosts, the autoscaler and the submitter do not count.
std::vector<WrappedPods> InferRay(const Json& cluster, const std::string& at) {
  std::vector<WrappedPods> all{{.replicas = 1, .path = at + ".headGroupSpec.template"}};
  const Json& groups = ListPart(cluster, {"workerGroupSpecs"});
  for (std::size_t i = 0; i < groups.size(); ++i) {
    all.push_back({.replicas = CountAt(groups[i], "replicas", 1),
                   .path = at + ".workerGroupSpecs[" + std::to_string(i) + "].template"});
  }
  return all;
}

std::vector<WrappedPods> Infer(const Json& wrapped) {
  const std::string kind = TextPart(wrapped, {"apiVersion"}) + "/" + TextPart(wrapped, {"kind"});
  const Json& spec = MapPart(wrapped, {"spec"});
  const std::string at = "template.spec";
  if (kind == "v1/Pod") return {{.replicas = 1, .path = "template"}};
  if (kind == "apps/v1/Deployment" || kind == "apps/v1/StatefulSet") {
    return {{.replicas = CountAt(spec, "replicas", 1), .path = at + ".template"}};
  }
  if (kind == "batch/v1/Job") return InferJob(spec, at);
  if (kind == "jobset.x-k8s.io/v1alpha2/JobSet") return InferJobSet(spec, at);
  if (kind == "kubeflow.org/v1/PyTorchJob") return InferPyTorchJob(spec, at);
  if (kind == "ray.io/v1/RayCluster") return InferRay(spec, at);
  if (kind == "ray.io/v1/RayJob") {
    return InferRay(MapPart(spec, {"rayClusterSpec"}), at + ".rayClusterSpec");
  }
  return {};
}

std::vector<WrappedPods> PodSetsOfComponent(const Json& component) {
  std::vector<WrappedPods> all;
  for (const Json& each : ListPart(component, {"podSets"})) {
    const Json& annotations = MapPart(each, {"annotations"});
    all.push_back({.replicas = CountAt(each, "replicas", 1),
                   .path = TextPart(each, {"path"}),
                   .pod_index_label = TextPart(annotations, {kPodIndexLabel}),
                   .sub_group_label = TextPart(annotations, {kSubGroupLabel}),
                   .sub_group_count = TextPart(annotations, {kSubGroupCount})});
  }
  return all.empty() ? Infer(MapPart(component, {"template"})) : all;
}

// The fields of a pod on which quota and placement depend, with the API's defaults.
Json KeptSpec(const Json& spec) {
  Json kept = Json::object();
  for (const char* key :
       {"restartPolicy", "terminationGracePeriodSeconds", "dnsPolicy", "nodeSelector", "nodeName",
        "securityContext", "affinity", "schedulerName", "tolerations", "priorityClassName",
        "preemptionPolicy", "overhead", "topologySpreadConstraints", "schedulingGates"}) {
    if (const Json* part = PartOf(spec, {key})) kept[key] = *part;
  }
  kept.emplace("restartPolicy", "Always");
  kept.emplace("terminationGracePeriodSeconds", 30);
  kept.emplace("dnsPolicy", "ClusterFirst");
  kept.emplace("schedulerName", "default-scheduler");
  for (const char* list : {"containers", "initContainers"}) {
    Json containers = Json::array();
    for (const Json& each : ListPart(spec, {list})) {
      Json container = Json::object();
      for (const char* key : {"name", "image", "command", "args", "resources", "restartPolicy",
                              "terminationMessagePath", "terminationMessagePolicy",
                              "imagePullPolicy", "securityContext"}) {
        if (const Json* part = PartOf(each, {key})) container[key] = *part;
      }
      containers.push_back(std::move(container));
    }
    SetOrErase(kept, list, std::move(containers));
  }
  return kept;
}

Json KeptTemplate(const Json& found) {
  Json metadata = Json::object();
  for (const char* key : {"labels", "annotations"}) {
    SetOrErase(metadata, key, MapPart(found, {"metadata", key}));
  }
  Json kept = {{"spec", KeptSpec(MapPart(found, {"spec"}))}};
  SetOrErase(kept, "metadata", std::move(metadata));
  return kept;
}

// A path that leads to nothing is left out, as the AppWrapper controller refuses the object.
Result<Json> ExpandWrapped(const Json& object, const ReadObjects& /*reads*/) {
  const std::string name = TextPart(object, {"metadata", "name"});
  Json pod_sets = Json::array();
  const Json& components = ListPart(object, {"spec", "components"});
  for (std::size_t i = 0; i < components.size(); ++i) {
    for (const WrappedPods& pods : PodSetsOfComponent(components[i])) {
      const Json* found = AtPath(components[i], pods.path);
      if (found == nullptr || PartOf(*found, {"spec"}) == nullptr) continue;
      if (pod_sets.size() == api::kMaxPodSets) {  // each has a copy of its template
        return Error{ErrorCode::kInvalid, "spec.components: must have at most " +
                                              std::to_string(api::kMaxPodSets) + " pod sets"};
      }
      const std::int64_t groups = ParseInt64(pods.sub_group_count).value_or(0);
      pod_sets.push_back({{"name", name + "-" + std::to_string(pod_sets.size())},
                          {"replicas", pods.replicas},
                          {"template", KeptTemplate(*found)},
                          {"podIndexLabel", pods.pod_index_label},
                          {"subGroupLabel", pods.sub_group_label},
                          {"subGroupCount", groups},
                          {"component", i},
                          {"field", "spec.components[" + std::to_string(i) + "]." + pods.path}});
    }
  }
  return Json{{"podSets", std::move(pod_sets)}};
}

void StopWrapped(const std::vector<PodSetChange>& /*originals*/, Json& object) {
  const auto spec = object.find("spec");
  if (spec == object.end() || !spec->is_object()) return;
  const auto components = spec->find("components");
  if (components == spec->end() || !components->is_array()) return;
  for (Json& each : *components) {
    if (each.is_object()) each.erase("podSetInfos");
  }
}

Status StartWrapped(const std::vector<HookedPodSet>& pod_sets, Json& object) {
  BERTH_TRY(const Json expanded, ExpandWrapped(object, {}));
  const Json& places = expanded["podSets"];
  StopWrapped({}, object);
  for (std::size_t i = 0; i < pod_sets.size() && i < places.size(); ++i) {
    Json& component = object["spec"]["components"][places[i]["component"].get<std::size_t>()];
    component["podSetInfos"].push_back(FieldsOf(AdditionsOf(pod_sets[i])));
  }
  return OkStatus();
}

bool IsWrappedStarted(const Json& object) {
  const Json& components = ListPart(object, {"spec", "components"});
  return std::any_of(components.begin(), components.end(),
                     [](const Json& each) { return !ListPart(each, {"podSetInfos"}).empty(); });
}

}  // namespace

const KindHook& AppWrapperHook() {
  static const KindHook kHook{.expand = ExpandWrapped,
                              .start = StartWrapped,
                              .stop = StopWrapped,
                              .is_started = IsWrappedStarted};
  return kHook;
}

}  // namespace berth::integrations
