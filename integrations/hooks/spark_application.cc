// A SparkApplication has no pod templates: the pods of driver and executors follow from flat
// fields.
//
// spec.nodeSelector is counted as that of both roles. A start writes it into the roles, as Spark's
// operator refuses both.
// Source: Kueue pkg/controller/jobs/sparkapplication; spark-operator's webhook.
#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/quantity.h"
#include "integrations/hooks/hooks.h"
#include "integrations/hooks/json_parts.h"

namespace berth::integrations {
namespace {

using Json = nlohmann::json;

struct SparkRole {
  const char* key;
  const char* container;
};
constexpr std::array kRoles{SparkRole{"driver", "spark-kubernetes-driver"},
                            SparkRole{"executor", "spark-kubernetes-executor"}};
constexpr std::string_view kLocalDirectories = "spark-local-dir-";

// "512m" of Java as "512Mi"; other texts stay, and have to be quantities.
Result<std::string> KubernetesMemory(const std::string& field, const std::string& text) {
  constexpr std::array<std::pair<std::string_view, const char*>, 10> kSuffixes{{{"kb", "Ki"},
                                                                                {"k", "Ki"},
                                                                                {"mb", "Mi"},
                                                                                {"m", "Mi"},
                                                                                {"gb", "Gi"},
                                                                                {"g", "Gi"},
                                                                                {"tb", "Ti"},
                                                                                {"t", "Ti"},
                                                                                {"pb", "Pi"},
                                                                                {"p", "Pi"}}};
  const auto suffix = std::find_if(kSuffixes.begin(), kSuffixes.end(), [&text](const auto& each) {
    return text.ends_with(each.first);
  });
  std::string memory = text;
  if (suffix != kSuffixes.end()) {
    memory.resize(text.size() - suffix->first.size());
    memory += suffix->second;
  }
  const bool upper_case =
      !text.empty() && std::string_view("KMGTP").find(text.back()) != std::string_view::npos;
  if (!upper_case && api::Quantity::Parse(memory)) return memory;
  return Error{ErrorCode::kInvalid,
               field + ": \"" + text + "\" is no amount of memory: write 512m, 4g or 4Gi"};
}

Status AddAmount(const Json& role, const std::string& at, const char* field, const char* member,
                 const char* resource, Json& resources) {
  const std::string text = TextPart(role, {field});
  if (text.empty()) return OkStatus();
  std::string amount = text;
  if (std::string_view(resource) == "memory") {
    BERTH_TRY(amount, KubernetesMemory(at + "." + field, text));
  } else if (!api::Quantity::Parse(text)) {
    return Error{ErrorCode::kInvalid, at + "." + field + ": \"" + text + "\" is no quantity"};
  }
  MakePart(resources, member)[resource] = amount;
  return OkStatus();
}

Result<Json> ResourcesOf(const Json& role, const std::string& at) {
  Json resources = Json::object();
  BERTH_CHECK_OK(AddAmount(role, at, "coreRequest", "requests", "cpu", resources));
  BERTH_CHECK_OK(AddAmount(role, at, "memory", "requests", "memory", resources));
  BERTH_CHECK_OK(AddAmount(role, at, "coreLimit", "limits", "cpu", resources));
  BERTH_CHECK_OK(AddAmount(role, at, "memoryLimit", "limits", "memory", resources));
  const std::string gpu = TextPart(role, {"gpu", "name"});
  const Json* quantity = PartOf(role, {"gpu", "quantity"});
  if (!gpu.empty() && quantity != nullptr && quantity->is_number_integer() &&
      quantity->get<std::int64_t>() > 0) {
    MakePart(resources, "limits")[gpu] = std::to_string(quantity->get<std::int64_t>());
  }
  return resources;
}

// Adds the containers that are not there by name and image.
void AddContainers(const Json& further, Json& containers) {
  std::set<std::pair<std::string, std::string>> known;
  const auto identity = [](const Json& container) {
    return std::pair(TextPart(container, {"name"}), TextPart(container, {"image"}));
  };
  for (const Json& each : containers) known.insert(identity(each));
  for (const Json& each : further) {
    if (known.insert(identity(each)).second) containers.push_back(each);
  }
}

Json VolumesOf(const Json& object, const Json& role) {
  Json volumes = Json::array();
  std::set<std::string> mounted;
  for (const Json& mount : ListPart(role, {"volumeMounts"})) {
    mounted.insert(TextPart(mount, {"name"}));
  }
  for (const Json& volume : ListPart(object, {"spec", "volumes"})) {
    const std::string name = TextPart(volume, {"name"});
    if (mounted.count(name) != 0 && !name.starts_with(kLocalDirectories)) volumes.push_back(volume);
  }
  return volumes;
}

Json MetadataOf(const Json& role) {
  Json metadata = Json::object();
  for (const char* key : {"labels", "annotations"}) {
    Json merged = MapPart(role, {"template", "metadata", key});
    merged.update(MapPart(role, {key}));
    SetOrErase(metadata, key, std::move(merged));
  }
  return metadata;
}

Result<Json> RoleTemplate(const Json& object, const SparkRole& names) {
  const Json& role = MapPart(object, {"spec", names.key});
  const std::string at = std::string("spec.") + names.key;
  Json container = {{"name", names.container}};
  const std::string image = TextPart(role, {"image"});
  SetOrErase(container, "image", image.empty() ? TextPart(object, {"spec", "image"}) : image);
  BERTH_TRY(Json resources, ResourcesOf(role, at));
  SetOrErase(container, "resources", std::move(resources));
  Json containers = Json::array({std::move(container)});
  AddContainers(ListPart(role, {"sidecars"}), containers);
  Json init = Json::array();
  AddContainers(ListPart(role, {"initContainers"}), init);
  Json spec = {{"containers", std::move(containers)}};
  SetOrErase(spec, "initContainers", std::move(init));
  SetOrErase(spec, "volumes", VolumesOf(object, role));
  SetOrErase(spec, "priorityClassName", TextPart(role, {"priorityClassName"}));
  const Json& everywhere = MapPart(object, {"spec", "nodeSelector"});
  SetOrErase(spec, "nodeSelector",
             everywhere.empty() ? MapPart(role, {"nodeSelector"}) : everywhere);
  SetOrErase(spec, "affinity", MapPart(role, {"affinity"}));
  SetOrErase(spec, "tolerations", ListPart(role, {"tolerations"}));
  SetOrErase(spec, "schedulingGates", ListPart(role, {"template", "spec", "schedulingGates"}));
  Json pod_template = {{"spec", std::move(spec)}};
  SetOrErase(pod_template, "metadata", MetadataOf(role));
  return pod_template;
}

Result<Json> ExpandRoles(const Json& object, const ReadObjects& /*reads*/) {
  Json expanded = Json::object();
  for (const SparkRole& role : kRoles) {
    BERTH_TRY(Json pod_template, RoleTemplate(object, role));
    expanded[role.key] = {{"template", std::move(pod_template)},
                          {"field", std::string("spec.") + role.key}};
  }
  return expanded;
}

// The labels or annotations that the role's template does not give by itself.
Json OwnMetadata(const Json& role, const char* key, const api::StringMap& wanted) {
  const Json& given = MapPart(role, {"template", "metadata", key});
  const Json& own = MapPart(role, {key});
  Json result = Json::object();
  for (const auto& [name, value] : wanted) {
    const auto of_template = given.find(name);
    const bool is_given = of_template != given.end() && *of_template == value;
    if (!is_given || own.contains(name)) result[name] = value;
  }
  return result;
}

void WriteRole(const PodSetChange& change, Json& role) {
  SetOrErase(role, "labels", OwnMetadata(role, "labels", change.labels));
  SetOrErase(role, "annotations", OwnMetadata(role, "annotations", change.annotations));
  const Json fields = FieldsOf(change);
  for (const char* key : {"nodeSelector", "tolerations"}) {
    SetOrErase(role, key, fields.value(key, Json()));
  }
  const Json gates = fields.value("schedulingGates", Json());
  if (gates.empty() && PartOf(role, {"template", "spec", "schedulingGates"}) == nullptr) return;
  SetOrErase(MakePart(MakePart(role, "template"), "spec"), "schedulingGates", gates);
  // The operator refuses a template without the list of containers.
  Json& spec = role["template"]["spec"];
  if (!spec.contains("containers")) spec["containers"] = Json::array();
}

Status StartRoles(const std::vector<HookedPodSet>& pod_sets, Json& object) {
  Json& spec = MakePart(object, "spec");
  for (std::size_t i = 0; i < kRoles.size() && i < pod_sets.size(); ++i) {
    WriteRole(pod_sets[i].wanted, MakePart(spec, kRoles[i].key));
  }
  spec.erase("nodeSelector");
  return OkStatus();
}

void StopRoles(const std::vector<PodSetChange>& originals, Json& object) {
  if (originals.size() != kRoles.size()) return;
  Json& spec = MakePart(object, "spec");
  for (std::size_t i = 0; i < kRoles.size(); ++i) {
    Json& role = MakePart(spec, kRoles[i].key);
    const Json everywhere = MapPart(spec, {"nodeSelector"});
    WriteRole(originals[i], role);
    if (!everywhere.empty()) role.erase("nodeSelector");  // the job was not started
  }
  spec["executor"]["instances"] = originals[1].count;
}

}  // namespace

const KindHook& SparkApplicationHook() {
  static const KindHook kHook{.expand = ExpandRoles, .start = StartRoles, .stop = StopRoles};
  return kHook;
}

}  // namespace berth::integrations
