// batch/v1 Job. Source: Kubernetes 1.36 job strategy and validation, restated.
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/strategies/job_spec.h"
#include "local/apiserver/registry/strategies/job_status.h"
#include "local/apiserver/registry/strategies/pod_spec.h"
#include "local/apiserver/registry/strategies/strategies.h"
#include "local/apiserver/registry/strategies/workload_checks.h"
#include "local/apiserver/schema/selector.h"

namespace berth::local {
namespace {

constexpr const char* kUidLabel = "batch.kubernetes.io/controller-uid";
constexpr const char* kNameLabel = "batch.kubernetes.io/job-name";
constexpr const char* kLegacyUidLabel = "controller-uid";
constexpr const char* kLegacyNameLabel = "job-name";
constexpr std::int64_t kMaxIndexed = 100'000;

void SetIfMissing(Json& labels, const char* key, const std::string& value) {
  if (!labels.contains(key)) labels[key] = value;
}

// Sets the selector and labels that identify the pods of this Job.
void GenerateSelector(Json& job) {
  if (BoolAt(job, {"spec", "manualSelector"}, false)) return;
  const std::string uid = UidOf(job);
  Json& labels = job["spec"]["template"]["metadata"]["labels"];
  if (!labels.is_object()) labels = Json::object();
  SetIfMissing(labels, kLegacyNameLabel, NameOf(job));
  SetIfMissing(labels, kNameLabel, NameOf(job));
  SetIfMissing(labels, kLegacyUidLabel, uid);
  SetIfMissing(labels, kUidLabel, uid);
  Json& match = job["spec"]["selector"]["matchLabels"];
  if (!match.is_object()) match = Json::object();
  SetIfMissing(match, kUidLabel, uid);
}

// A Job without labels has those of its pods: the rule of DefaultJobSpec, for generated labels.
void DefaultLabels(Json& job) {
  const Json* labels = At(job, {"spec", "template", "metadata", "labels"});
  if (labels == nullptr || labels->empty()) return;
  Json& own = job["metadata"]["labels"];
  if (own.empty()) own = *labels;
}

void CheckGeneratedSelector(const Json& job, std::vector<Cause>& causes) {
  if (BoolAt(job, {"spec", "manualSelector"}, false)) return;
  const std::string uid = UidOf(job);
  const Json* labels = At(job, {"spec", "template", "metadata", "labels"});
  const std::pair<const char*, std::string> expected[] = {{kUidLabel, uid},
                                                          {kLegacyUidLabel, uid},
                                                          {kNameLabel, NameOf(job)},
                                                          {kLegacyNameLabel, NameOf(job)}};
  for (const auto& [key, value] : expected) {
    const std::string actual = labels == nullptr ? "" : TextAt(*labels, {key});
    if (actual == value) continue;
    causes.push_back(InvalidError(KeyPath("spec.template.metadata.labels", key), actual,
                                  "must be '" + value + "'"));
  }
  if (TextAt(job, {"spec", "selector", "matchLabels", kUidLabel}) != uid) {
    const Json* selector = At(job, {"spec", "selector"});
    causes.push_back(InvalidError("spec.selector", selector == nullptr ? Json() : *selector,
                                  "`selector` not auto-generated"));
  }
}

void CheckIndexed(const Json& job, std::vector<Cause>& causes) {
  const std::string mode = TextAt(job, {"spec", "completionMode"});
  if (mode != "Indexed" && mode != "NonIndexed" && !mode.empty()) {
    causes.push_back(NotSupportedError("spec.completionMode", mode, {"Indexed", "NonIndexed"}));
  }
  if (mode != "Indexed") {
    if (At(job, {"spec", "backoffLimitPerIndex"}) != nullptr) {
      causes.push_back(InvalidError("spec.backoffLimitPerIndex",
                                    *At(job, {"spec", "backoffLimitPerIndex"}),
                                    "requires indexed completion mode"));
    }
    return;
  }
  if (At(job, {"spec", "completions"}) == nullptr) {
    causes.push_back(RequiredError("spec.completions", "when completion mode is Indexed"));
  }
  for (const std::string_view field : {"parallelism", "completions"}) {
    const std::int64_t value = IntAt(job, {"spec", field}, 0);
    if (value > kMaxIndexed && field == "parallelism") {
      causes.push_back(InvalidError(ChildPath("spec", field), value,
                                    "must be less than or equal to 100000 when completion mode is "
                                    "Indexed"));
    }
  }
}

}  // namespace

std::vector<Cause> ValidateJobSpec(const Json& job) {
  std::vector<Cause> causes;
  for (const std::string_view field :
       {"parallelism", "completions", "activeDeadlineSeconds", "backoffLimit",
        "ttlSecondsAfterFinished", "backoffLimitPerIndex", "maxFailedIndexes"}) {
    CheckNotNegative(job, field, causes);
  }
  CheckIndexed(job, causes);
  const Json* pod_spec = At(job, {"spec", "template", "spec"});
  AppendCauses(causes, ValidatePodSpec(pod_spec == nullptr ? Json::object() : *pod_spec,
                                       "spec.template.spec"));
  const std::string restart = TextAt(job, {"spec", "template", "spec", "restartPolicy"});
  if (restart.empty() || restart == "Always") {
    causes.push_back(RequiredError("spec.template.spec.restartPolicy",
                                   "valid values: \"OnFailure\", \"Never\""));
  } else if (At(job, {"spec", "podFailurePolicy"}) != nullptr && restart != "Never") {
    causes.push_back(
        InvalidError("spec.template.spec.restartPolicy", restart,
                     "only \"Never\" is supported when podFailurePolicy is specified"));
  }
  return causes;
}

namespace {

// Whether the template's scheduling directives may change. The rule of 1.36.3: the Job is suspended
// and has no pods.
bool TemplateIsOpen(const Json& old_job) {
  if (!BoolAt(old_job, {"spec", "suspend"}, false)) return false;
  if (IntAt(old_job, {"status", "active"}, 0) != 0) return false;
  if (At(old_job, {"status", "startTime"}) == nullptr) return true;
  const Json* suspended = FindCondition(old_job, "Suspended");
  return suspended != nullptr && TextAt(*suspended, {"status"}) == "True";
}

// `old_template` with the mutable scheduling directives of `next`.
Json WithOpenFields(Json old_template, const Json& next) {
  const Json none = Json::object();
  const Json* next_spec = Member(next, "spec");
  const Json* next_metadata = Member(next, "metadata");
  Json& spec = old_template["spec"];
  for (const char* field : {"nodeSelector", "tolerations", "schedulingGates"}) {
    CopyOrErase(spec, next_spec == nullptr ? none : *next_spec, field);
  }
  const Json* affinity = next_spec == nullptr ? nullptr : At(*next_spec, {"affinity"});
  const Json* node_affinity = affinity == nullptr ? nullptr : Member(*affinity, "nodeAffinity");
  Json merged = spec.value("affinity", Json::object());
  if (merged.is_null()) merged = Json::object();
  merged.erase("nodeAffinity");
  if (node_affinity != nullptr) merged["nodeAffinity"] = *node_affinity;
  if (merged.empty() && affinity == nullptr) {
    spec.erase("affinity");
  } else {
    spec["affinity"] = std::move(merged);
  }
  Json& metadata = old_template["metadata"];
  for (const char* field : {"labels", "annotations"}) {
    CopyOrErase(metadata, next_metadata == nullptr ? none : *next_metadata, field);
  }
  const Json& next_containers = next_spec == nullptr ? none : ArrayAt(*next_spec, {"containers"});
  const Json& old_containers = ArrayAt(spec, {"containers"});
  if (next_containers.size() == old_containers.size()) {
    for (std::size_t i = 0; i < old_containers.size(); ++i) {
      CopyOrErase(spec["containers"][i], next_containers[i], "resources");
    }
  }
  return old_template;
}

void CheckTemplateUpdate(const Json& job, const Json& old_job, std::vector<Cause>& causes) {
  const Json none = Json::object();
  const Json* next = At(job, {"spec", "template"});
  const Json* old = At(old_job, {"spec", "template"});
  if (next == nullptr) next = &none;
  if (old == nullptr) old = &none;
  if (*next == *old) return;
  if (!TemplateIsOpen(old_job)) {
    causes.push_back(InvalidError("spec.template", *next, "field is immutable"));
    return;
  }
  Json comparable = *next;
  if (!comparable["metadata"].is_object()) comparable["metadata"] = Json::object();
  if (comparable != WithOpenFields(*old, *next)) {
    causes.push_back(InvalidError("spec.template.spec", next->value("spec", Json::object()),
                                  "field is immutable"));
  }
}

bool IsElastic(const Json& job) {
  return TextAt(job, {"spec", "completionMode"}) == "Indexed" &&
         At(job, {"spec", "completions"}) != nullptr &&
         IntAt(job, {"spec", "completions"}, 0) == IntAt(job, {"spec", "parallelism"}, 1);
}

// A PUT of a Job's manifest lacks the labels that the server generated.
void CheckSelectorMatches(const Json& job, std::vector<Cause>& causes) {
  const Json* selector = At(job, {"spec", "selector"});
  if (selector == nullptr) causes.push_back(RequiredError("spec.selector"));
  const Json* labels = At(job, {"spec", "template", "metadata", "labels"});
  const auto parsed = LabelSelectorFromJson(selector == nullptr ? Json() : *selector);
  if (!parsed || !Matches(*parsed, labels == nullptr ? Json() : *labels)) {
    causes.push_back(InvalidError("spec.template.metadata.labels",
                                  labels == nullptr ? Json() : *labels,
                                  "`selector` does not match template `labels`"));
  }
}

class JobStrategy final : public Strategy {
 public:
  bool OrphansByDefault() const override { return true; }

  void PrepareForCreate(const ResourceInfo& resource, Json& object, WallTime now) const override {
    Strategy::PrepareForCreate(resource, object, now);
    GenerateSelector(object);
    DefaultLabels(object);
  }

  std::vector<Cause> Validate(const ResourceInfo& resource, const Json& object) const override {
    std::vector<Cause> causes = Strategy::Validate(resource, object);
    AppendCauses(causes, ValidateJobSpec(object));
    if (causes.empty()) CheckGeneratedSelector(object, causes);
    return causes;
  }

  std::vector<Cause> ValidateUpdate(const ResourceInfo& resource, const Json& object,
                                    const Json& old_object,
                                    std::string_view subresource) const override {
    std::vector<Cause> causes = Strategy::ValidateUpdate(resource, object, old_object, subresource);
    if (subresource == "status") {
      AppendCauses(causes, ValidateJobStatusUpdate(object, old_object));
      return causes;
    }
    if (!SameAt(object, old_object, {"spec"})) {
      AppendCauses(causes, ValidateJobSpec(object));
      CheckSelectorMatches(object, causes);
    }
    if (!SameAt(object, old_object, {"spec", "completions"}) &&
        !(IsElastic(object) && IsElastic(old_object))) {
      const Json* completions = At(object, {"spec", "completions"});
      causes.push_back(InvalidError("spec.completions",
                                    completions == nullptr ? Json() : *completions,
                                    "field is immutable"));
    }
    for (const std::string_view field : {"selector", "completionMode", "podFailurePolicy",
                                         "backoffLimitPerIndex", "managedBy", "successPolicy"}) {
      if (SameAt(object, old_object, {"spec", field})) continue;
      const Json* value = At(object, {"spec", field});
      causes.push_back(InvalidError(ChildPath("spec", field), value == nullptr ? Json() : *value,
                                    "field is immutable"));
    }
    CheckTemplateUpdate(object, old_object, causes);
    return causes;
  }
};

}  // namespace

std::unique_ptr<const Strategy> MakeJobStrategy() { return std::make_unique<JobStrategy>(); }

}  // namespace berth::local
