#include "local/apiserver/registry/crd.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "base/rfc3339.h"
#include "base/strings.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/status_errors.h"
#include "local/apiserver/schema/crd_rule_cost.h"

namespace berth::local {
namespace {

std::vector<std::string> Strings(const Json& array) {
  std::vector<std::string> strings;
  for (const Json& item : array) {
    if (item.is_string()) strings.push_back(item.get<std::string>());
  }
  return strings;
}

CrdConversion ReadConversion(const Json& crd) {
  CrdConversion conversion;
  conversion.webhook = TextAt(crd, {"spec", "conversion", "strategy"}) == "Webhook";
  const Json* config = At(crd, {"spec", "conversion", "webhook", "clientConfig"});
  if (config == nullptr) return conversion;
  conversion.url = TextAt(*config, {"url"});
  conversion.service_namespace = TextAt(*config, {"service", "namespace"});
  conversion.service_name = TextAt(*config, {"service", "name"});
  conversion.service_path = TextAt(*config, {"service", "path"});
  conversion.service_port = static_cast<int>(IntAt(*config, {"service", "port"}, 443));
  conversion.ca_pem = Base64Decode(TextAt(*config, {"caBundle"})).value_or("");
  return conversion;
}

CrdVersion ReadVersion(const Json& version, const std::string& path, const std::string& group,
                       const std::string& kind) {
  std::vector<Cause> ignored;  // validated when the CRD was written
  CrdVersion read;
  read.name = TextAt(version, {"name"});
  read.served = BoolAt(version, {"served"}, false);
  read.storage = BoolAt(version, {"storage"}, false);
  read.deprecated = BoolAt(version, {"deprecated"}, false);
  read.deprecation_warning = TextAt(version, {"deprecationWarning"});
  if (read.deprecated && read.deprecation_warning.empty()) {
    read.deprecation_warning = group + "/" + read.name + " " + kind + " is deprecated";
  }
  read.has_status = At(version, {"subresources", "status"}) != nullptr;
  if (const Json* scale = At(version, {"subresources", "scale"})) {
    read.scale = std::make_shared<const CrdScale>(CrdScale{TextAt(*scale, {"specReplicasPath"}),
                                                           TextAt(*scale, {"statusReplicasPath"}),
                                                           TextAt(*scale, {"labelSelectorPath"})});
  }
  if (const Json* schema = At(version, {"schema", "openAPIV3Schema"})) {
    read.raw_schema = *schema;
    read.schema = CrdSchema::Parse(*schema, path + ".schema.openAPIV3Schema", ignored);
  }
  const Json* columns = Member(version, "additionalPrinterColumns");
  read.columns = ParsePrinterColumns(columns == nullptr ? Json::array() : *columns,
                                     path + ".additionalPrinterColumns", ignored);
  for (const Json& field : ArrayAt(version, {"selectableFields"})) {
    std::string json_path = TextAt(field, {"jsonPath"});
    if (!json_path.empty() && json_path.front() == '.') json_path.erase(0, 1);
    read.selectable_fields.push_back(std::move(json_path));
  }
  return read;
}

ResourcePtr MakeResource(const Json& crd, const std::shared_ptr<const CrdKind>& kind,
                         const CrdVersion& version) {
  auto info = std::make_shared<ResourceInfo>();
  info->id = {TextAt(crd, {"spec", "group"}), version.name,
              TextAt(crd, {"spec", "names", "plural"})};
  info->kind = TextAt(crd, {"spec", "names", "kind"});
  info->list_kind = TextAt(crd, {"spec", "names", "listKind"});
  info->singular = TextAt(crd, {"spec", "names", "singular"});
  info->namespaced = TextAt(crd, {"spec", "scope"}) == "Namespaced";
  info->verbs = kind->terminating ? "dDglpuw" : "cdDglpuw";
  info->short_names = Strings(ArrayAt(crd, {"spec", "names", "shortNames"}));
  info->categories = Strings(ArrayAt(crd, {"spec", "names", "categories"}));
  if (version.has_status) info->subresources.push_back({"status", "gpu", "", "", ""});
  if (version.scale != nullptr) {
    info->subresources.push_back({"scale", "gpu", "autoscaling", "v1", "Scale"});
  }
  info->storage = QualifiedResource(info->id);
  info->type = &version.schema->root();
  info->field_labels = version.selectable_fields;
  info->crd = kind;
  info->crd_version = &version;
  info->has_status = version.has_status;
  info->tracks_generation = true;
  info->unconditional_update = false;
  return info;
}

// Whether the definition has a version of that name with that schema.
bool HasSchema(const Json& crd, const std::string& version, const Json& schema) {
  for (const Json& known : ArrayAt(crd, {"spec", "versions"})) {
    if (TextAt(known, {"name"}) != version) continue;
    const Json* its_schema = At(known, {"schema", "openAPIV3Schema"});
    return its_schema != nullptr && *its_schema == schema;
  }
  return false;
}

// Where `looks_at_costs` is true, also refuses rules that may cost too much.
void CheckSchema(const Json& schema, const std::string& path, bool looks_at_costs,
                 std::vector<Cause>& causes) {
  if (CrdSchema::Parse(schema, path, causes) == nullptr || !looks_at_costs) return;
  std::vector<Cause> costs = RuleCostErrors(schema, path);
  std::move(costs.begin(), costs.end(), std::back_inserter(causes));
}

// `old_crd`: before an update; null: the definition is new. Costs of a schema that stays are not
// looked at.
void CheckVersions(const Json& crd, const Json* old_crd, std::vector<Cause>& causes) {
  const Json& versions = ArrayAt(crd, {"spec", "versions"});
  if (versions.empty()) {
    causes.push_back(RequiredError("spec.versions", "must have at least one version"));
    return;
  }
  int storage_count = 0;
  std::set<std::string> names;
  for (std::size_t i = 0; i < versions.size(); ++i) {
    const std::string path = IndexPath("spec.versions", i);
    const std::string name = TextAt(versions[i], {"name"});
    if (name.empty()) causes.push_back(RequiredError(path + ".name"));
    if (!names.insert(name).second) causes.push_back(DuplicateError(path + ".name", name));
    if (BoolAt(versions[i], {"storage"}, false)) ++storage_count;
    const Json* schema = At(versions[i], {"schema", "openAPIV3Schema"});
    if (schema == nullptr) {
      causes.push_back(RequiredError(path + ".schema.openAPIV3Schema", "schemas are required"));
    } else {
      CheckSchema(*schema, path + ".schema.openAPIV3Schema",
                  old_crd == nullptr || !HasSchema(*old_crd, name, *schema), causes);
    }
    if (const Json* columns = Member(versions[i], "additionalPrinterColumns")) {
      ParsePrinterColumns(*columns, path + ".additionalPrinterColumns", causes);
    }
  }
  if (storage_count != 1) {
    causes.push_back(InvalidError("spec.versions", versions,
                                  "must have exactly one version marked as storage version"));
  }
}

void CheckConversion(const Json& crd, std::vector<Cause>& causes) {
  const std::string strategy = TextAt(crd, {"spec", "conversion", "strategy"});
  if (strategy != "None" && strategy != "Webhook") {
    causes.push_back(NotSupportedError("spec.conversion.strategy", strategy, {"None", "Webhook"}));
    return;
  }
  if (strategy == "None") return;
  const Json* config = At(crd, {"spec", "conversion", "webhook", "clientConfig"});
  const std::string path = "spec.conversion.webhook.clientConfig";
  if (config == nullptr) {
    causes.push_back(RequiredError(path, "required when strategy is set to Webhook"));
    return;
  }
  if (Member(*config, "url") == nullptr && Member(*config, "service") == nullptr) {
    causes.push_back(RequiredError(path, "exactly one of url or service is required"));
  }
}

std::string NameConflict(const Json& crd, const Json& other, std::string& reason) {
  const auto names = [](const Json& object) {
    std::set<std::string> all = {TextAt(object, {"spec", "names", "plural"}),
                                 TextAt(object, {"spec", "names", "singular"})};
    for (const std::string& name : Strings(ArrayAt(object, {"spec", "names", "shortNames"}))) {
      all.insert(name);
    }
    return all;
  };
  const std::set<std::string> taken = names(other);
  const std::string plural = TextAt(crd, {"spec", "names", "plural"});
  if (taken.contains(plural)) {
    reason = "PluralConflict";
    return "\"" + plural + "\" is already in use";
  }
  for (const std::string& name : names(crd)) {
    if (!taken.contains(name)) continue;
    reason = name == TextAt(crd, {"spec", "names", "singular"}) ? "SingularConflict"
                                                                : "ShortNamesConflict";
    return "\"" + name + "\" is already in use";
  }
  const std::string kind = TextAt(crd, {"spec", "names", "kind"});
  if (kind == TextAt(other, {"spec", "names", "kind"})) {
    reason = "KindConflict";
    return "\"" + kind + "\" is already in use";
  }
  return "";
}

void SetCondition(Json& crd, std::string_view type, bool holds, std::string_view reason,
                  std::string_view message, WallTime now) {
  Json& conditions = crd["status"]["conditions"];
  if (!conditions.is_array()) conditions = Json::array();
  Json* condition = nullptr;
  for (Json& known : conditions) {
    if (TextAt(known, {"type"}) == type) condition = &known;
  }
  if (condition == nullptr) {
    conditions.push_back(Json{{"type", type}});
    condition = &conditions.back();
  }
  const std::string status = holds ? "True" : "False";
  if (TextAt(*condition, {"status"}) != status)
    (*condition)["lastTransitionTime"] = FormatTime(now);
  (*condition)["status"] = status;
  (*condition)["reason"] = reason;
  (*condition)["message"] = message;
}

}  // namespace

std::vector<ResourcePtr> CrdResources(const Json& crd) {
  const Json* accepted = FindCondition(crd, "NamesAccepted");
  if (accepted != nullptr && TextAt(*accepted, {"status"}) == "False") return {};
  auto kind = std::make_shared<CrdKind>();
  kind->crd_name = NameOf(crd);
  kind->conversion = ReadConversion(crd);
  kind->terminating = IsBeingDeleted(crd);
  kind->revision = ParseInt64(TextAt(crd, {"metadata", "resourceVersion"})).value_or(0);
  const std::string group = TextAt(crd, {"spec", "group"});
  const std::string kind_name = TextAt(crd, {"spec", "names", "kind"});
  const Json& versions = ArrayAt(crd, {"spec", "versions"});
  for (std::size_t i = 0; i < versions.size(); ++i) {
    CrdVersion version = ReadVersion(versions[i], IndexPath("spec.versions", i), group, kind_name);
    if (version.storage) kind->storage_version = version.name;
    kind->versions[version.name] = std::move(version);
  }
  std::vector<ResourcePtr> resources;
  for (const auto& [name, version] : kind->versions) {
    if (version.schema != nullptr) resources.push_back(MakeResource(crd, kind, version));
  }
  return resources;
}

void DefaultCrd(Json& crd) {
  Json& spec = crd["spec"];
  Json& names = spec["names"];
  const std::string kind = TextAt(names, {"kind"});
  if (TextAt(names, {"singular"}).empty()) names["singular"] = ToLower(kind);
  if (TextAt(names, {"listKind"}).empty() && !kind.empty()) names["listKind"] = kind + "List";
  if (At(crd, {"spec", "conversion"}) == nullptr) spec["conversion"] = Json::object();
  if (TextAt(spec, {"conversion", "strategy"}).empty()) spec["conversion"]["strategy"] = "None";
  if (Member(spec["conversion"], "webhook") != nullptr) {
    Json& config = spec["conversion"]["webhook"]["clientConfig"];
    if (Member(config, "service") != nullptr && At(config, {"service", "port"}) == nullptr) {
      config["service"]["port"] = 443;
    }
  }
}

std::vector<Cause> ValidateCrd(const Json& crd, const Json* old_crd) {
  std::vector<Cause> causes;
  const std::string group = TextAt(crd, {"spec", "group"});
  const std::string plural = TextAt(crd, {"spec", "names", "plural"});
  const std::string expected = plural + "." + group;
  if (NameOf(crd) != expected) {
    causes.push_back(
        InvalidError("metadata.name", NameOf(crd), "must be spec.names.plural+\".\"+spec.group"));
  }
  if (group.empty()) causes.push_back(RequiredError("spec.group"));
  if (plural.empty()) causes.push_back(RequiredError("spec.names.plural"));
  if (TextAt(crd, {"spec", "names", "kind"}).empty()) {
    causes.push_back(RequiredError("spec.names.kind"));
  }
  const std::string scope = TextAt(crd, {"spec", "scope"});
  if (scope != "Cluster" && scope != "Namespaced") {
    causes.push_back(NotSupportedError("spec.scope", scope, {"Cluster", "Namespaced"}));
  }
  CheckVersions(crd, old_crd, causes);
  CheckConversion(crd, causes);
  return causes;
}

std::vector<Cause> ValidateCrdUpdate(const Json& crd, const Json& old_crd) {
  std::vector<Cause> causes = ValidateCrd(crd, &old_crd);
  constexpr const char* kFixed[][2] = {
      {"", "group"}, {"", "scope"}, {"names", "plural"}, {"names", "kind"}};
  for (const auto& [parent, field] : kFixed) {
    const std::string_view above = parent;
    const Json* now = above.empty() ? At(crd, {"spec", field}) : At(crd, {"spec", above, field});
    const Json* before =
        above.empty() ? At(old_crd, {"spec", field}) : At(old_crd, {"spec", above, field});
    const Json now_value = now == nullptr ? Json() : *now;
    if (now_value == (before == nullptr ? Json() : *before)) continue;
    const std::string path = above.empty() ? "spec" : ChildPath("spec", above);
    causes.push_back(InvalidError(ChildPath(path, field), now_value, "field is immutable"));
  }
  std::set<std::string> names;
  for (const Json& version : ArrayAt(crd, {"spec", "versions"})) {
    names.insert(TextAt(version, {"name"}));
  }
  const Json& stored = ArrayAt(crd, {"status", "storedVersions"});
  for (std::size_t i = 0; i < stored.size(); ++i) {
    if (stored[i].is_string() && !names.contains(stored[i].get<std::string>())) {
      causes.push_back(InvalidError(IndexPath("status.storedVersions", i), stored[i],
                                    "must appear in spec.versions"));
    }
  }
  return causes;
}

void SetCrdStatus(Json& crd, const std::vector<const Json*>& others, WallTime now) {
  Json& status = crd["status"];
  if (!status.is_object()) status = Json::object();
  std::string reason = "NoConflicts";
  std::string message = "no conflicts found";
  bool accepted = true;
  for (const Json* other : others) {
    if (TextAt(*other, {"spec", "group"}) != TextAt(crd, {"spec", "group"})) continue;
    if (NameOf(*other) == NameOf(crd)) continue;
    std::string why;
    const std::string conflict = NameConflict(crd, *other, why);
    if (conflict.empty()) continue;
    accepted = false;
    reason = why;
    message = conflict;
  }
  if (accepted) status["acceptedNames"] = crd["spec"]["names"];
  Json stored = ArrayAt(crd, {"status", "storedVersions"});
  for (const Json& version : ArrayAt(crd, {"spec", "versions"})) {
    if (!BoolAt(version, {"storage"}, false)) continue;
    if (std::find(stored.begin(), stored.end(), version["name"]) == stored.end()) {
      stored.push_back(version["name"]);
    }
  }
  status["storedVersions"] = std::move(stored);
  SetCondition(crd, "NamesAccepted", accepted, reason, message, now);
  if (accepted) {
    SetCondition(crd, "Established", true, "InitialNamesAccepted",
                 "the initial names have been accepted", now);
  } else {
    SetCondition(crd, "Established", false, "NotAccepted", "not all names are accepted", now);
  }
}

void SetCrdStatus(Json& crd, const WatchCache& stored, WallTime now) {
  std::vector<Object> kept;
  std::vector<const Json*> others;
  for (const StoredPtr& other : stored.List(kCrdStorage, "").objects) {
    kept.push_back(other->json());
    if (kept.back() != nullptr) others.push_back(kept.back().get());
  }
  SetCrdStatus(crd, others, now);
}

}  // namespace berth::local
