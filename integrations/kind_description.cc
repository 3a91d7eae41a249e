#include "integrations/kind_description.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/json_write.h"
#include "base/dns_names.h"
#include "base/strings.h"
#include "integrations/kind_hold.h"

namespace berth::integrations {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxPodSetRules = 18;  // the pod sets that a Workload may have
constexpr std::size_t kMaxFinishRules = 16;
constexpr std::size_t kMaxPathKeys = 32;
constexpr std::size_t kMaxMapKeys = 64;
constexpr std::size_t kMaxReviewRules = 32;
constexpr std::size_t kMaxReads = 4;

// One object of the description, with the first error in it. A field that is read is known; Done
// reports the others.
class Fields {
 public:
  Fields(const Json& object, std::string path, Status& status)
      : object_(object), path_(std::move(path)), status_(status) {
    if (!object_.is_object()) Fail("", "expected an object");
  }

  const Json* Find(const char* key) {
    known_.insert(key);
    if (!status_ || !object_.is_object()) return nullptr;
    const auto found = object_.find(key);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }
  std::string Text(const char* key, const char* missing = nullptr) {
    const Json* value = Find(key);
    if (value != nullptr && value->is_string()) return value->get<std::string>();
    if (value != nullptr) {
      Fail(key, "expected a string");
    } else if (missing != nullptr) {
      Fail(key, missing);
    }
    return "";
  }
  bool Flag(const char* key, bool fallback) {
    const Json* value = Find(key);
    if (value == nullptr) return fallback;
    if (!value->is_boolean()) Fail(key, "expected true or false");
    return value->is_boolean() && value->get<bool>();
  }
  FieldPath Path(const char* key) {
    FieldPath path;
    const std::string text = Text(key);
    if (text.empty()) return path;
    for (const std::string_view part : Split(text, '.')) path.emplace_back(part);
    const bool bad = std::any_of(path.begin(), path.end(), [](const auto& k) { return k.empty(); });
    if (bad || path.size() > kMaxPathKeys) Fail(key, "expected field names joined by dots");
    return path;
  }
  std::vector<std::string> Texts(const char* key) {
    std::vector<std::string> texts;
    const Json* value = Find(key);
    if (value == nullptr) return texts;
    const bool good = value->is_array() && value->size() <= kMaxMapKeys &&
                      std::all_of(value->begin(), value->end(),
                                  [](const Json& each) { return each.is_string(); });
    if (!good) {
      Fail(key, "expected a list of at most " + std::to_string(kMaxMapKeys) + " strings");
      return texts;
    }
    return value->get<std::vector<std::string>>();
  }
  // An expression; a boolean or a number in the description is the expression of that value.
  std::optional<cel::Program> Expression(const char* key,
                                         const std::vector<std::string>& variables) {
    const Json* value = Find(key);
    if (value == nullptr) return std::nullopt;
    if (!value->is_string() && !value->is_boolean() && !value->is_number_integer()) {
      Fail(key, "expected an expression");
      return std::nullopt;
    }
    return Compiled(key, value->is_string() ? value->get<std::string>() : api::FormatJson(*value),
                    variables);
  }
  std::optional<cel::Program> Compiled(const char* key, const std::string& text,
                                       const std::vector<std::string>& variables) {
    cel::Environment environment;
    environment.variables = variables;
    Result<cel::Program> program = cel::Compile(text, environment);
    if (program) return *std::move(program);
    Fail(key, program.error().message);
    return std::nullopt;
  }
  template <typename Fn>
  void Each(const char* key, std::size_t most, Fn read) {
    const Json* list = Find(key);
    if (list == nullptr) return;
    if (!list->is_array() || list->size() > most) {
      return Fail(key, "expected a list of at most " + std::to_string(most) + " items");
    }
    for (std::size_t i = 0; i < list->size() && status_; ++i) {
      Fields item((*list)[i], At(key) + "[" + std::to_string(i) + "]", status_);
      read(item);
      item.Done();
    }
  }
  template <typename Fn>
  void Part(const char* key, Fn read) {
    const Json* value = Find(key);
    if (value == nullptr) return;
    Fields part(*value, At(key), status_);
    read(part);
    part.Done();
  }

  void Fail(const std::string& key, const std::string& message) {
    if (status_) status_ = Error{ErrorCode::kInvalid, At(key) + ": " + message};
  }
  void Done() {
    if (!status_ || !object_.is_object()) return;
    for (const auto& [key, value] : object_.items()) {
      if (known_.count(key) == 0) return Fail(key, "unknown field");
    }
  }
  bool ok() const { return static_cast<bool>(status_); }

 private:
  std::string At(const std::string& key) const {
    if (key.empty()) return path_.empty() ? "description" : path_;
    return path_.empty() ? key : path_ + "." + key;
  }

  const Json& object_;
  std::string path_;
  Status& status_;
  std::set<std::string> known_;
};

const std::vector<std::string>& ObjectVariables() {
  static const std::vector<std::string> kNames{"self", "conditions", "expanded", "reads"};
  return kNames;
}
const std::vector<std::string>& ItemVariables() {
  static const std::vector<std::string> kNames{"self",  "conditions", "expanded",
                                               "reads", "item",       "key"};
  return kNames;
}
const std::vector<std::string>& PodSetVariables() {
  static const std::vector<std::string> kNames{"self", "conditions", "expanded",
                                               "item", "key",        "podSet"};
  return kNames;
}
const std::vector<std::string>& ReviewVariables() {
  static const std::vector<std::string> kNames{"self", "old", "item", "elastic"};
  return kNames;
}

constexpr std::size_t kMaxPodLabels = 8;

// Labels of pods, as a map to expressions.
std::vector<PodLabelRule> ReadPodLabels(Fields& in, const char* key) {
  std::vector<PodLabelRule> labels;
  const Json* map = in.Find(key);
  if (map == nullptr) return labels;
  if (!map->is_object() || map->size() > kMaxPodLabels) {
    in.Fail(key, "expected at most " + std::to_string(kMaxPodLabels) + " labels with expressions");
    return labels;
  }
  for (const auto& [label, text] : map->items()) {
    if (!text.is_string()) {
      in.Fail(std::string(key) + "." + label, "expected an expression");
      return labels;
    }
    auto value = in.Compiled(key, text.get<std::string>(), ItemVariables());
    if (value) labels.push_back({label, *std::move(value)});
  }
  return labels;
}

// The number at `replicas`, of the element or the object: 1 where it is absent.
std::string DefaultCount(bool of_element, const FieldPath& replicas) {
  if (replicas.empty()) return "1";
  std::string text = of_element ? "item" : "self";
  for (const std::string& key : replicas) text += "[?" + api::FormatJson(key) + "]";
  return text + ".orValue(1)";
}

std::optional<PodSetRule> ReadPodSet(Fields& in) {
  FieldPath each = in.Path("each");
  std::vector<std::string> keys = in.Texts("keys");
  if (!keys.empty() && each.empty()) in.Fail("keys", "needs `each`, the path of the map");
  auto when = in.Expression("when", ItemVariables());
  auto name = in.Expression("name", ItemVariables());
  auto count = in.Expression("count", ItemVariables());
  FieldPath replicas = in.Path("replicas");
  if (!name && in.ok()) name = in.Compiled("name", "'main'", ItemVariables());
  if (!count && in.ok()) {
    count = in.Compiled("count", DefaultCount(!each.empty(), replicas), ItemVariables());
  }
  FieldPath pod_template = in.Path("template");
  if (pod_template.empty()) in.Fail("template", "the path of the pod template is missing");
  std::vector<std::string> dropped = in.Texts("dropLabels");
  std::vector<PodLabelRule> pods = ReadPodLabels(in, "pods");
  const std::string hook_name = in.Text("hook");
  TemplateHook hook = FindTemplateHook(hook_name);
  if (!hook_name.empty() && hook == nullptr) in.Fail("hook", "unknown hook");
  std::string index;
  std::string sub_group;
  std::optional<cel::Program> sub_group_count;
  in.Part("topology", [&](Fields& part) {
    index = part.Text("podIndexLabel");
    sub_group = part.Text("subGroupIndexLabel");
    sub_group_count = part.Expression("subGroupCount", ItemVariables());
  });
  const bool spec_only = in.Flag("specOnly", false);
  std::string dropped_prefix = in.Text("dropPrefix");
  std::vector<std::string> kept = in.Texts("keepLabels");
  if (!in.ok()) return std::nullopt;
  return PodSetRule{.each = std::move(each),
                    .keys = std::move(keys),
                    .when = std::move(when),
                    .name = *std::move(name),
                    .pod_template = std::move(pod_template),
                    .count = *std::move(count),
                    .replicas = std::move(replicas),
                    .dropped_labels = std::move(dropped),
                    .pod_index_label = std::move(index),
                    .sub_group_label = std::move(sub_group),
                    .sub_group_count = std::move(sub_group_count),
                    .hook = hook,
                    .spec_only = spec_only,
                    .dropped_prefix = std::move(dropped_prefix),
                    .kept_labels = std::move(kept),
                    .pods = std::move(pods)};
}

void ReadMarks(Fields& in, PodsRule::Marks& out) {
  for (const std::string& text : in.Texts("metadata")) {
    FieldPath path;
    for (const std::string_view part : Split(text, '.')) path.emplace_back(part);
    out.metadata.push_back(std::move(path));
  }
  if (out.metadata.empty()) in.Fail("metadata", "expected the paths of metadata");
  out.labels = in.Flag("labels", false);
  out.managed = in.Flag("managed", false);
  out.serving = in.Flag("serving", false);
}

PodsRule ReadPods(Fields& in) {
  static const std::vector<std::string> kPodVariables{"pod"};
  PodsRule out;
  out.each_alone = in.Flag("eachAlone", false);
  out.selector = in.Text("selector");
  if (out.selector.empty() == !out.each_alone) {
    in.Fail("selector", "expected a selector of pods, or `eachAlone`");
  }
  out.parent_label = in.Text("parentLabel");
  out.pod_set = in.Expression("podSet", kPodVariables);
  out.group = in.Expression("group", kPodVariables);
  out.groups = in.Expression("groups", ObjectVariables());
  out.old_revision = in.Expression("oldRevision", ObjectVariables());
  out.revisions_of_stateful_sets = in.Flag("revisionsOfStatefulSets", false);
  out.index_workloads = in.Flag("indexWorkloads", false);
  if (out.groups.has_value() != out.index_workloads) {
    in.Fail("groups", "set it together with `indexWorkloads`");
  }
  out.fast_admission = in.Flag("fastAdmission", false);
  out.keep_labels = in.Flag("keepLabels", false);
  out.pod_index_label = in.Text("podIndexLabel");
  in.Part("marks", [&](Fields& part) { ReadMarks(part, out.marks); });
  if (in.ok() && out.marks.metadata.empty()) in.Fail("marks", "is missing");
  return out;
}

std::optional<PodHold::Groups> ReadGroups(Fields& in, const KindNames& of_job) {
  auto names = std::make_shared<KindNames>();
  names->group = of_job.group;
  names->version = of_job.version;
  names->kind = in.Text("kind", "the kind of the objects is missing");
  names->plural = in.Text("plural");
  if (names->plural.empty()) names->plural = ToLower(names->kind) + "s";
  FieldPath job = in.Path("job");
  FieldPath replicas = in.Path("replicas");
  FieldPath pod_template = in.Path("template");
  if (job.empty()) in.Fail("job", "the path of the job's name is missing");
  if (replicas.empty()) in.Fail("replicas", "the path of the size is missing");
  if (pod_template.empty()) in.Fail("template", "the path of the pod template is missing");
  auto pod_set = in.Expression("podSet", ItemVariables());
  auto count = in.Expression("count", ItemVariables());
  if (!pod_set) in.Fail("podSet", "is missing");
  if (!count) in.Fail("count", "is missing");
  std::vector<PodLabelRule> pods = ReadPodLabels(in, "pods");
  const bool deployments = in.Flag("deployments", false);
  if (!in.ok()) return std::nullopt;
  const api::ResourceKind resource{names->group, names->version, names->kind, names->plural};
  return PodHold::Groups{.names = std::move(names),
                         .resource = resource,
                         .job = std::move(job),
                         .replicas = std::move(replicas),
                         .pod_set = *std::move(pod_set),
                         .pod_template = std::move(pod_template),
                         .count = *std::move(count),
                         .pods = std::move(pods),
                         .deployments = deployments};
}

std::optional<PodHold::Restart> ReadRestart(Fields& in) {
  std::string pod_set = in.Text("podSet", "is missing");
  std::string hide_label = in.Text("hideLabel", "is missing");
  auto when = in.Expression("when", ObjectVariables());
  if (!when) in.Fail("when", "is missing");
  const Json* status = in.Find("status");
  if (status == nullptr || !status->is_object()) in.Fail("status", "expected an object");
  if (!in.ok() || !when || status == nullptr) return std::nullopt;
  return PodHold::Restart{.pod_set = std::move(pod_set),
                          .hide_label = std::move(hide_label),
                          .when = *std::move(when),
                          .status = std::make_shared<const Json>(*status)};
}

void ReadHold(Fields& in, const KindNames& names, std::optional<PodHold>& out) {
  PodHold hold{.job_label = in.Text("podLabel", "the label with the job's name is missing"),
               .groups = {},
               .restart = {}};
  in.Part("groups", [&](Fields& part) { hold.groups = ReadGroups(part, names); });
  in.Part("restart", [&](Fields& part) { hold.restart = ReadRestart(part); });
  out = std::move(hold);
}

// {condition: Complete, succeeded: true} is short for the condition's status and message.
std::optional<FinishRule> ReadFinish(Fields& in) {
  const std::string condition = in.Text("condition");
  auto when = in.Expression("when", ObjectVariables());
  auto succeeded = in.Expression("succeeded", ObjectVariables());
  auto message = in.Expression("message", ObjectVariables());
  if (condition.empty() == !when.has_value()) {
    in.Fail("", "expected one of `condition` and `when`");
  }
  if (!succeeded) in.Fail("succeeded", "is missing");
  const std::string quoted = api::FormatJson(condition);
  if (!condition.empty() && in.ok()) {
    when =
        in.Compiled("condition", "conditions[?" + quoted + "].orValue(false)", ObjectVariables());
    if (!message && in.ok()) {
      message = in.Compiled(
          "condition",
          "self.status.conditions.filter(c, c.type == " + quoted + ")[0].?message.orValue('')",
          ObjectVariables());
    }
  }
  if (!message && in.ok()) message = in.Compiled("message", "''", ObjectVariables());
  if (!in.ok()) return std::nullopt;
  return FinishRule{*std::move(when), *std::move(succeeded), *std::move(message)};
}

ReviewRule::Type TypeOf(Fields& in) {
  const std::string type = in.Text("type", "is missing");
  if (type == "Forbidden") return ReviewRule::Type::kForbidden;
  if (type == "Required") return ReviewRule::Type::kRequired;
  if (type == "TooMany") return ReviewRule::Type::kTooMany;
  if (type != "Invalid") in.Fail("type", "expected Invalid, Forbidden, Required or TooMany");
  return ReviewRule::Type::kInvalid;
}

std::optional<ReviewRule> ReadReviewRule(Fields& in) {
  FieldPath each = in.Path("each");
  FieldPath at = in.Path("at");
  auto when = in.Expression("when", ReviewVariables());
  auto value = in.Expression("value", ReviewVariables());
  auto message = in.Expression("message", ReviewVariables());
  FieldPath field = in.Path("field");
  const bool stop = in.Flag("stop", false);
  const ReviewRule::Type type = TypeOf(in);
  if (field.empty()) in.Fail("field", "the path of the field is missing");
  if (!when) in.Fail("when", "is missing");
  if (!message) in.Fail("message", "is missing");
  if (!in.ok()) return std::nullopt;
  if (at.empty()) at = each;
  return ReviewRule{.each = std::move(each),
                    .at = std::move(at),
                    .when = *std::move(when),
                    .type = type,
                    .field = std::move(field),
                    .value = std::move(value),
                    .message = *std::move(message),
                    .stop = stop};
}

std::optional<DefaultRule> ReadDefault(Fields& in) {
  auto when = in.Expression("when", ReviewVariables());
  std::string pod_set = in.Text("podSet", "is missing");
  std::string annotation = in.Text("annotation", "is missing");
  std::string value = in.Text("value", "is missing");
  if (!when) in.Fail("when", "is missing");
  if (!in.ok()) return std::nullopt;
  return DefaultRule{.when = *std::move(when),
                     .pod_set = std::move(pod_set),
                     .annotation = std::move(annotation),
                     .value = std::move(value)};
}

std::optional<ReadRule> ReadRead(Fields& in) {
  auto names = std::make_shared<KindNames>();
  names->group = in.Text("group", "is missing");
  names->version = in.Text("version", "is missing");
  names->kind = in.Text("kind", "is missing");
  names->plural = ToLower(names->kind) + "s";
  const bool namespaced = in.Flag("namespaced", true);
  auto name = in.Expression("name", ObjectVariables());
  if (!name) in.Fail("name", "is missing");
  if (!in.ok()) return std::nullopt;
  const api::ResourceKind resource{names->group, names->version, names->kind, names->plural,
                                   namespaced};
  return ReadRule{.names = std::move(names), .resource = resource, .name = *std::move(name)};
}

void ReadReview(Fields& in, ReviewTraits& out) {
  in.Each("rules", kMaxReviewRules, [&](Fields& item) {
    if (auto rule = ReadReviewRule(item)) out.rules.push_back(*std::move(rule));
  });
  in.Each("defaults", kMaxReviewRules, [&](Fields& item) {
    if (auto rule = ReadDefault(item)) out.defaults.push_back(*std::move(rule));
  });
  out.prebuilt = in.Flag("prebuilt", out.prebuilt);
  out.elastic = in.Flag("elastic", out.elastic);
  out.gate_templates = in.Flag("gateTemplates", out.gate_templates);
  out.pod_set_groups = in.Flag("podSetGroups", out.pod_set_groups);
  out.recheck = in.Flag("recheck", out.recheck);
}

void ReadNames(Fields& in, KindDescription& out) {
  auto names = std::make_shared<KindNames>();
  names->group = in.Text("group");
  names->version = in.Text("version", "the API version is missing");
  names->kind = in.Text("kind", "the kind is missing");
  names->plural = in.Text("plural");
  if (names->plural.empty()) names->plural = ToLower(names->kind) + "s";
  names->framework = in.Text("framework");
  if (names->framework.empty()) names->framework = names->group + "/" + ToLower(names->kind);
  if (!IsDnsSubdomain(names->group)) in.Fail("group", "expected a DNS name such as example.com");
  if (!IsDnsLabel(names->version)) in.Fail("version", "expected a name such as v1");
  if (!IsDnsLabel(names->plural)) in.Fail("plural", "expected lower-case letters and digits");
  out.kind = {names->group, names->version, names->kind, names->plural, names->framework};
  out.resource = {names->group, names->version, names->kind, names->plural};
  out.names = std::move(names);
}

}  // namespace

Result<KindPtr> ParseKind(const Json& description) {
  Status status = OkStatus();
  auto kind = std::make_shared<KindDescription>();
  Fields in(description, "", status);
  ReadNames(in, *kind);
  kind->enabled = in.Flag("enabled", false);
  kind->feature_gate = in.Text("featureGate");
  const std::string hook = in.Text("hook");
  kind->hook = FindKindHook(hook);
  if (!hook.empty() && kind->hook == nullptr) in.Fail("hook", "unknown hook");
  in.Each("reads", kMaxReads, [&](Fields& item) {
    if (auto rule = ReadRead(item)) kind->reads.push_back(*std::move(rule));
  });
  kind->suspend = in.Path("suspend");
  kind->managed_by = in.Path("managedBy");
  in.Part("pods", [&](Fields& part) { kind->pods = ReadPods(part); });
  in.Part("hold", [&](Fields& part) { ReadHold(part, *kind->names, kind->hold); });
  in.Each("podSets", kMaxPodSetRules, [&](Fields& item) {
    if (auto rule = ReadPodSet(item)) kind->pod_sets.push_back(*std::move(rule));
  });
  Result<ObjectHoldPtr> held_by = HoldOf(*kind);
  if (status && !held_by) status = held_by.error();
  if (held_by) kind->held_by = *std::move(held_by);
  const bool none = kind->pods && kind->pods->each_alone;
  if (kind->pod_sets.empty() != none) in.Fail("podSets", "expected at least one");
  kind->active = in.Expression("active", ObjectVariables());
  kind->ready = in.Expression("ready", ObjectVariables());
  in.Each("finished", kMaxFinishRules, [&](Fields& item) {
    if (auto rule = ReadFinish(item)) kind->finished.push_back(*std::move(rule));
  });
  kind->reclaimable = in.Expression("reclaimable", PodSetVariables());
  kind->priority_class = in.Expression("priorityClass", ObjectVariables());
  kind->skip = in.Expression("skip", ObjectVariables());
  kind->on_hold = in.Expression("onHold", ObjectVariables());
  kind->problem = in.Expression("problem", ObjectVariables());
  kind->slice_variant = in.Expression("sliceVariant", ObjectVariables());
  in.Part("review", [&](Fields& part) { ReadReview(part, kind->review); });
  in.Done();
  if (!status) return status.error();
  kind->source = std::make_shared<const Json>(description);
  return KindPtr(std::move(kind));
}

}  // namespace berth::integrations
