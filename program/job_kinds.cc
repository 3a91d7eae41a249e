#include "program/job_kinds.h"

#include <algorithm>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/codec.h"
#include "api/labels.h"
#include "api/pod_groups.h"
#include "base/strings.h"
#include "integrations/described_job.h"
#include "integrations/described_review.h"
#include "integrations/kind_catalogue.h"
#include "integrations/pods/role_hash.h"
#include "webhook/elastic_gate.h"
#include "webhook/parent_rules.h"
#include "webhook/pod_rules.h"

namespace berth::program {
namespace {

using integrations::KindPtr;
using Json = nlohmann::json;

// "jobset-x-k8s-io-v1alpha2-jobset"
std::string ReviewPathOf(const integrations::JobKind& kind) {
  std::string path =
      std::string(kind.group) + "-" + std::string(kind.version) + "-" + ToLower(kind.kind);
  std::replace(path.begin(), path.end(), '.', '-');
  return path;
}

// True where the template is not a part of the object.
bool HasElasticGateAt(const Json& object, const std::string& pointer) {
  const Json::json_pointer place(pointer);
  return !object.contains(place) || webhook::HasElasticGate(object.at(place));
}

std::string AdviceOf(const integrations::KindDescription& kind) {
  const bool given = kind.hook != nullptr && kind.hook->topology_advice != nullptr;
  return given ? kind.hook->topology_advice : "";
}

// An object whose pod sets cannot be read is reviewed without them: its controller tells why it
// waits.
Result<webhook::ReviewedJob> ReadJob(const KindPtr& kind, const ReadsOf& reads_of,
                                     const Json& object) {
  webhook::ReviewedJob job;
  BERTH_TRY(job.meta, api::Decode<api::ObjectMeta>(object));
  job.suspended = integrations::IsSuspended(*kind, object);
  job.skipped = integrations::IsSkipped(*kind, object);
  if (kind->pods) {
    BERTH_TRY(const integrations::JobView view, integrations::ViewOf(kind, object));
    job.suspended = !view.active;
    if (kind->pods->each_alone) return job;
  }
  auto pod_sets = integrations::PodSetsOf(
      *kind, object, reads_of ? reads_of(*kind, object) : integrations::ReadObjects{});
  if (!pod_sets) return job;
  const char* annotations = AdviceOf(*kind).empty() ? ".metadata.annotations" : ".annotations";
  for (integrations::DescribedPodSet& each : *pod_sets) {
    job.pod_sets.push_back({.name = each.pods.name,
                            .count = each.pods.count,
                            .annotations = webhook::Path(each.template_path + annotations),
                            .topology_annotations = std::move(each.pods.pod_template.annotations),
                            .has_elastic_gate = HasElasticGateAt(object, each.pointer)});
  }
  return job;
}

bool IsElastic(const Json& object) {
  const Result<api::ObjectMeta> meta = api::Decode<api::ObjectMeta>(object);
  const std::string* value =
      meta ? api::FindValue(meta->annotations, api::kElasticJobAnnotation) : nullptr;
  return value != nullptr && *value == "true";
}

std::string FieldErrorOf(const integrations::ReviewError& error) {
  using Type = integrations::ReviewRule::Type;
  const webhook::Path path(error.field);
  switch (error.type) {
    case Type::kForbidden: return webhook::Forbidden(path, error.message);
    case Type::kRequired: return webhook::Required(path, error.message);
    case Type::kTooMany:
      return webhook::TooMany(path, static_cast<std::size_t>(ParseInt64(error.value).value_or(0)),
                              static_cast<std::size_t>(ParseInt64(error.message).value_or(0)));
    case Type::kInvalid: break;
  }
  return webhook::Invalid(path, error.value, error.message);
}

// What the pods of a held job were made of stays as it is, since its operator does not change them;
// and the mark that holds them.
void CheckHeldChange(const integrations::KindDescription& kind, const Json& object, const Json& old,
                     webhook::FieldErrors& errors) {
  if (!integrations::IsSuspended(kind, old)) return;
  if (!integrations::IsSuspended(kind, object)) {
    const auto path =
        webhook::Path("metadata.annotations").Key(api::kPodSuspendingParentAnnotation);
    errors.push_back(webhook::Invalid(path, webhook::Quoted(""), webhook::kImmutable));
  }
  const auto now = integrations::PodSetsOf(kind, object);
  const auto before = integrations::PodSetsOf(kind, old);
  for (std::size_t i = 0; now && before && i < std::min(now->size(), before->size()); ++i) {
    const api::PodSpec& is = (*now)[i].pods.pod_template.spec;
    const api::PodSpec& was = (*before)[i].pods.pod_template.spec;
    if (is.containers == was.containers && is.init_containers == was.init_containers &&
        is.node_selector == was.node_selector && is.tolerations == was.tolerations) {
      continue;
    }
    errors.push_back(webhook::Forbidden(
        webhook::Path((*now)[i].template_path + ".spec"),
        "requests, node selector and tolerations cannot change: the operator does not change pods "
        "that exist; create the object again"));
  }
}

// The errors of the kind's own rules.
webhook::FieldErrors OwnErrors(const integrations::KindDescription& kind, const Json& object,
                               const Json& old) {
  webhook::FieldErrors errors;
  for (const integrations::ReviewError& error :
       integrations::ReviewErrors(kind, object, old, IsElastic(object))) {
    errors.push_back(FieldErrorOf(error));
  }
  if (kind.hold && !old.is_null()) CheckHeldChange(kind, object, old, errors);
  return errors;
}

}  // namespace

std::vector<KindPtr> DescribedKinds(const std::vector<std::string>& frameworks) {
  std::vector<KindPtr> kinds;
  for (const std::string& name : frameworks) {
    if (KindPtr kind = integrations::FindBuiltInKind(name)) kinds.push_back(std::move(kind));
  }
  return kinds;
}

bool ManagesPods(const std::vector<std::string>& frameworks) {
  return std::find(frameworks.begin(), frameworks.end(), integrations::kPod.framework) !=
         frameworks.end();
}

bool ManagesPodsOfParents(const std::vector<std::string>& frameworks) {
  const std::vector<KindPtr> kinds = DescribedKinds(frameworks);
  return ManagesPods(frameworks) ||
         std::any_of(kinds.begin(), kinds.end(),
                     [](const KindPtr& kind) { return kind->pods.has_value(); });
}

std::vector<std::string> PodLabelsOf(const std::vector<std::string>& frameworks) {
  std::set<std::string> labels;
  for (const KindPtr& kind : DescribedKinds(frameworks)) {
    if (kind->hold) labels.insert(kind->hold->job_label);
  }
  return {labels.begin(), labels.end()};
}

std::vector<admission::OwnerKind> OwnersOf(const admission::Configuration& configuration) {
  std::vector<admission::OwnerKind> owners = admission::ManagedOwners(configuration);
  for (const KindPtr& kind : DescribedKinds(configuration.frameworks)) {
    owners.push_back({std::string(kind->kind.group), std::string(kind->kind.kind)});
  }
  if (ManagesPodsOfParents(configuration.frameworks)) {
    owners.push_back({std::string(integrations::kPod.group), std::string(integrations::kPod.kind)});
  }
  return owners;
}

std::vector<std::string> UnmanagedFrameworks(const std::vector<std::string>& frameworks) {
  std::vector<std::string> names;
  for (const std::string& name : frameworks) {
    if (name == integrations::kBatchJob.framework || name == integrations::kPod.framework) continue;
    if (integrations::FindBuiltInKind(name) == nullptr) names.push_back(name);
  }
  return names;
}

webhook::ReviewedKind ReviewedKindOf(const KindPtr& kind, const ReadsOf& reads_of) {
  const integrations::JobKind& names = kind->kind;
  webhook::ReviewedKind reviewed;
  reviewed.name = std::string(names.group) + "/" + std::string(names.version) +
                  ", Kind=" + std::string(names.kind);
  reviewed.framework = names.framework;
  reviewed.path = ReviewPathOf(names);
  reviewed.prebuilt = kind->review.prebuilt;
  reviewed.elastic = kind->review.elastic;
  reviewed.pod_set_groups = kind->review.pod_set_groups;
  reviewed.recheck = kind->review.recheck;
  reviewed.topology_advice = AdviceOf(*kind);
  reviewed.read = [kind, reads_of](const Json& object) { return ReadJob(kind, reads_of, object); };
  if (kind->pods) {
    const integrations::PodsRule::Marks& from = kind->pods->marks;
    webhook::ParentMarks marks{.metadata = from.metadata,
                               .labels = from.labels,
                               .managed = from.managed,
                               .serving = from.serving};
    if (!kind->review.rules.empty()) {
      marks.own = [kind](const Json& object, const Json& old, const webhook::ReviewedJob&,
                         const webhook::JobFacts&) { return OwnErrors(*kind, object, old); };
    }
    webhook::AddServingRules(reviewed.framework, marks);
    return webhook::ParentKind(std::move(reviewed), std::move(marks));
  }
  reviewed.suspend = [kind](Json& object) { integrations::SetSuspended(*kind, true, object); };
  if (kind->held_by->has_size()) {
    reviewed.hold_again = [kind](Json& object) {
      if (kind->held_by->IsLoose(object)) kind->held_by->Hold(object);
    };
  }
  if (!kind->review.defaults.empty() || (kind->hook != nullptr && kind->hook->create != nullptr)) {
    reviewed.defaults = [kind](bool queued, Json& object) {
      integrations::AddDefaults(*kind, queued, object);
    };
  }
  if (!kind->review.rules.empty() || kind->hold) {
    reviewed.own = [kind](const Json& object, const Json& old) {
      return OwnErrors(*kind, object, old);
    };
  }
  if (!kind->managed_by.empty()) {
    reviewed.warn = [kind](const Json& object, const webhook::ReviewedKind::FactsOf& facts_of) {
      const Result<api::ObjectMeta> meta = api::Decode<api::ObjectMeta>(object);
      if (!meta) return std::vector<std::string>{};
      auto warnings = webhook::WarningsOfJob(*meta, facts_of(*meta).elastic_jobs);
      if (integrations::IsDelegated(*kind, object) && webhook::IsManagedJob(*meta)) {
        warnings.push_back(webhook::DelegationWarning(Join(kind->managed_by, ".")));
      }
      return warnings;
    };
  }
  if (kind->review.elastic && kind->review.gate_templates) {
    reviewed.gate = [kind](Json& object) {
      const auto pod_sets = integrations::PodSetsOf(*kind, object);
      if (!pod_sets) return;
      for (const integrations::DescribedPodSet& each : *pod_sets) {
        const Json::json_pointer place(each.pointer);
        if (object.contains(place)) webhook::AddElasticGate(object.at(place));
      }
    };
  }
  return reviewed;
}

std::vector<webhook::ReviewedKind> ReviewedKinds(const std::vector<std::string>& frameworks,
                                                 const ReadsOf& reads_of) {
  std::vector<webhook::ReviewedKind> kinds;
  for (const KindPtr& kind : DescribedKinds(frameworks)) {
    kinds.push_back(ReviewedKindOf(kind, reads_of));
  }
  if (ManagesPodsOfParents(frameworks) || !PodLabelsOf(frameworks).empty()) {
    kinds.push_back(webhook::PodKind(
        integrations::RoleHash,
        ManagesPods(frameworks) ? webhook::ReviewedPods::kAll : webhook::ReviewedPods::kOfParents));
  }
  return kinds;
}

webhook::ReviewGates ReviewGatesOf(const admission::FeatureGates& gates) {
  return {.priority_boost = gates.priority_boost,
          .partial_admission = gates.partial_admission,
          .elastic_jobs = gates.elastic_jobs,
          .elastic_jobs_with_tas = gates.elastic_jobs_with_tas};
}

}  // namespace berth::program
