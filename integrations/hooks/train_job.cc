// A TrainJob names a runtime, of which the trainer makes a JobSet. Its pods follow from the
// runtime's template, the patches of the TrainJob (spec.runtimePatches) and its trainer's fields.
// The one patch of the manager kueue.x-k8s.io/manager has the additions of a start; it is no part
// of the pods here.
//
// The trainer takes changes of the patches only while the TrainJob is held.
// Source: Kueue pkg/controller/jobs/trainjob; kubeflow/trainer pkg/runtime.
#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>  // lookup only
#include <utility>

#include <nlohmann/json.hpp>

#include "integrations/hooks/hooks.h"
#include "integrations/hooks/json_parts.h"

namespace berth::integrations {
namespace {

using Json = nlohmann::json;

constexpr char kManager[] = "kueue.x-k8s.io/manager";
constexpr char kStep[] = "trainer.kubeflow.org/trainjob-ancestor-step";
constexpr char kTrainerGroup[] = "trainer.kubeflow.org";
constexpr std::size_t kMaxJobs = 18;                       // the pod sets of a Workload
constexpr std::int64_t kMaxNodes = std::int64_t{1} << 31;  // one more is refused as a count

bool IsOurs(const Json& patch) { return TextPart(patch, {"manager"}) == kManager; }

bool IsNamedList(const Json& list) {
  return list.is_array() && !list.empty() &&
         std::all_of(list.begin(), list.end(),
                     [](const Json& each) { return !TextPart(each, {"name"}).empty(); });
}

// A strategic merge: maps by key, lists of named items by name, other values replace. The depth is
// that of a parsed object, which is bounded.
void MergeInto(Json& target, const Json& patch) {
  if (patch.is_object() && target.is_object()) {
    for (const auto& [key, value] : patch.items()) {
      if (value.is_null()) {
        target.erase(key);
      } else if (const auto found = target.find(key); found != target.end()) {
        MergeInto(*found, value);
      } else {
        target[key] = value;
      }
    }
    return;
  }
  if (!IsNamedList(patch) || !IsNamedList(target)) {
    target = patch;
    return;
  }
  std::unordered_map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < target.size(); ++i) {
    places.emplace(TextPart(target[i], {"name"}), i);
  }
  for (const Json& each : patch) {
    const auto [same, is_new] = places.emplace(TextPart(each, {"name"}), target.size());
    if (is_new) {
      target.push_back(each);
    } else {
      MergeInto(target[same->second], each);
    }
  }
}

// The runtime's spec. Only the two kinds of the trainer are known.
Result<Json> RuntimeOf(const Json& object, const ReadObjects& reads) {
  const Json& reference = MapPart(object, {"spec", "runtimeRef"});
  std::string kind = TextPart(reference, {"kind"});
  if (kind.empty()) kind = "ClusterTrainingRuntime";
  std::string group = TextPart(reference, {"apiGroup"});
  if (group.empty()) group = kTrainerGroup;
  const std::string name = TextPart(reference, {"name"});
  if (group != kTrainerGroup || (kind != "ClusterTrainingRuntime" && kind != "TrainingRuntime")) {
    return Error{ErrorCode::kInvalid,
                 "spec.runtimeRef: unsupported runtime: " + kind + "." + group};
  }
  for (const auto& read : reads) {
    if (read != nullptr) return MapPart(*read, {"spec"});
  }
  return Error{ErrorCode::kNotFound, "spec.runtimeRef: runtime '" + name + "' not found"};
}

// The template of the JobSet with the patches of all managers but ours, whose jobs keep the
// runtime's order.
Json PatchedTemplate(const Json& object, const Json& runtime) {
  Json pod_template = MapPart(runtime, {"template"});
  for (const Json& patch : ListPart(object, {"spec", "runtimePatches"})) {
    if (IsOurs(patch)) continue;
    const Json* change = PartOf(patch, {"trainingRuntimeSpec", "template"});
    if (change != nullptr) MergeInto(pod_template, *change);
  }
  return pod_template;
}

std::int64_t WholePart(const Json& object, std::initializer_list<const char*> path,
                       std::int64_t fallback) {
  const Json* part = PartOf(object, path);
  return part != nullptr && part->is_number_integer() ? part->get<std::int64_t>() : fallback;
}

// The trainer's own fields go into the container "node".
void ApplyTrainer(const Json& trainer, Json& job) {
  if (PartOf(job, {"template", "spec", "template", "spec", "containers"}) == nullptr) return;
  for (Json& container : job["template"]["spec"]["template"]["spec"]["containers"]) {
    if (TextPart(container, {"name"}) != "node") continue;
    for (const char* key : {"image", "command", "args"}) {
      if (const Json* part = PartOf(trainer, {key})) container[key] = *part;
    }
    if (const Json* resources = PartOf(trainer, {"resourcesPerNode"})) {
      MergeInto(MakePart(container, "resources"), *resources);
    }
    const Json& env = ListPart(trainer, {"env"});
    if (env.empty()) continue;
    if (!container.contains("env")) container["env"] = Json::array();
    MergeInto(container["env"], env);
  }
}

struct Nodes {
  std::optional<std::int64_t> given;  // by the TrainJob
  std::int64_t of_runtime = 1;
  bool mpi = false;               // those given run in the job "node"
  bool launcher_is_node = false;  // and the launcher is one of them
};

Nodes NodesOf(const Json& object, const Json& runtime) {
  const Json& policy = MapPart(runtime, {"mlPolicy"});
  Nodes nodes;
  nodes.of_runtime = WholePart(policy, {"numNodes"}, 1);
  if (PartOf(object, {"spec", "trainer", "numNodes"}) != nullptr) {
    nodes.given = std::clamp<std::int64_t>(WholePart(object, {"spec", "trainer", "numNodes"}, 1), 0,
                                           kMaxNodes);
  }
  nodes.mpi = PartOf(policy, {"mpi"}) != nullptr;
  nodes.launcher_is_node = FlagPart(policy, {"mpi", "runLauncherAsNode"});
  return nodes;
}

void SetCounts(const Nodes& nodes, const std::string& step, Json& job) {
  Json& spec = MakePart(MakePart(job, "template"), "spec");
  std::int64_t count = WholePart(spec, {"parallelism"}, 1);
  if (count == 0) count = 1;  // no number
  if (step == "trainer")
    count = nodes.mpi ? nodes.of_runtime : nodes.given.value_or(nodes.of_runtime);
  if (nodes.mpi && nodes.given && TextPart(job, {"name"}) == "node") {
    count = nodes.launcher_is_node ? std::max<std::int64_t>(*nodes.given - 1, 1) : *nodes.given;
  }
  spec["parallelism"] = count;
  spec["completions"] = count;
  const bool single =
      step == "trainer" || step == "dataset-initializer" || step == "model-initializer";
  if (single || PartOf(job, {"replicas"}) == nullptr) job["replicas"] = 1;
}

Result<Json> ExpandRuntime(const Json& object, const ReadObjects& reads) {
  BERTH_TRY(const Json runtime, RuntimeOf(object, reads));
  Json expanded = PatchedTemplate(object, runtime);
  const auto spec = expanded.find("spec");
  if (spec == expanded.end() || ListPart(*spec, {"replicatedJobs"}).empty()) {
    return Error{ErrorCode::kInvalid,
                 "spec.runtimeRef: the runtime's template has no spec.replicatedJobs"};
  }
  Json& jobs = (*spec)["replicatedJobs"];
  if (jobs.size() > kMaxJobs) {
    return Error{ErrorCode::kInvalid, "spec.runtimeRef: more than 18 replicatedJobs"};
  }
  const Nodes nodes = NodesOf(object, runtime);
  for (Json& job : jobs) {
    if (!job.is_object()) continue;
    const std::string step = TextPart(job, {"template", "metadata", "labels", kStep});
    const bool has_node = nodes.mpi ? TextPart(job, {"name"}) == "node" : step == "trainer";
    if (step == "trainer" || has_node) ApplyTrainer(MapPart(object, {"spec", "trainer"}), job);
    SetCounts(nodes, step, job);
    job["field"] = "job[" + TextPart(job, {"name"}) + "]";
  }
  return expanded;
}

// The runtime patch of the manager that this program writes; null: the list has none.
Json* OurPatch(Json& object) {
  const auto spec = object.find("spec");
  if (spec == object.end() || !spec->is_object()) return nullptr;
  const auto patches = spec->find("runtimePatches");
  if (patches == spec->end() || !patches->is_array()) return nullptr;
  const auto found = std::find_if(patches->begin(), patches->end(), IsOurs);
  return found == patches->end() ? nullptr : &*found;
}

Json EmptyPatch() {
  return {{"manager", kManager},
          {"trainingRuntimeSpec", {{"template", {{"spec", Json::object()}}}}}};
}

Status StartRuntime(const std::vector<HookedPodSet>& pod_sets, Json& object) {
  Json jobs = Json::array();
  for (const HookedPodSet& pods : pod_sets) {
    const PodSetChange additions = AdditionsOf(pods);
    const Json fields = FieldsOf(additions);
    Json metadata = Json::object();
    for (const char* key : {"labels", "annotations"}) {
      SetOrErase(metadata, key, fields.value(key, Json()));
    }
    Json spec = Json::object();
    for (const char* key : {"nodeSelector", "schedulingGates"}) {
      SetOrErase(spec, key, fields.value(key, Json()));
    }
    // The trainer takes the list as a whole.
    if (!additions.tolerations.empty()) spec["tolerations"] = FieldsOf(pods.wanted)["tolerations"];
    Json pod_template = Json::object();
    SetOrErase(pod_template, "metadata", std::move(metadata));
    SetOrErase(pod_template, "spec", std::move(spec));
    jobs.push_back({{"name", pods.original.name},
                    {"template", {{"spec", {{"template", std::move(pod_template)}}}}}});
  }
  Json* patch = OurPatch(object);
  if (patch == nullptr) {
    Json& patches = MakePart(object, "spec")["runtimePatches"];
    if (!patches.is_array()) patches = Json::array();
    patches.push_back(EmptyPatch());
    patch = &patches.back();
  }
  Json& runtime = MakePart(*patch, "trainingRuntimeSpec");
  MakePart(MakePart(runtime, "template"), "spec")["replicatedJobs"] = std::move(jobs);
  return OkStatus();
}

void StopRuntime(const std::vector<PodSetChange>& /*originals*/, Json& object) {
  if (Json* patch = OurPatch(object)) *patch = EmptyPatch();
}

bool IsRuntimeStarted(const Json& object) {
  const Json& patches = ListPart(object, {"spec", "runtimePatches"});
  return std::any_of(patches.begin(), patches.end(), [](const Json& patch) {
    return IsOurs(patch) &&
           !ListPart(patch, {"trainingRuntimeSpec", "template", "spec", "replicatedJobs"}).empty();
  });
}

// The patch exists from the start: the trainer refuses a further manager later.
void CreateRuntimePatch(Json& object) {
  if (OurPatch(object) != nullptr) return;
  const auto spec = object.find("spec");
  if (spec == object.end() || !spec->is_object()) return;
  Json& patches = (*spec)["runtimePatches"];
  if (patches.is_null()) patches = Json::array();
  if (patches.is_array()) patches.push_back(EmptyPatch());
}

}  // namespace

const KindHook& TrainJobHook() {
  static const KindHook kHook{.expand = ExpandRuntime,
                              .start = StartRuntime,
                              .stop = StopRuntime,
                              .is_started = IsRuntimeStarted,
                              .create = CreateRuntimePatch,
                              .only_while_held = true,
                              .topology_advice =
                                  ". Adjust either the \"TrainJob.spec.runtimePatches\" or the "
                                  "\"TrainingRuntime.Template\" annotations for the corresponding "
                                  "Job"};
  return kHook;
}

}  // namespace berth::integrations
