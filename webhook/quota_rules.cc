#include "webhook/quota_rules.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "api/gpu_shares.h"
#include "api/labels.h"
#include "api/queue_policy.h"

namespace berth::webhook {
namespace {

constexpr char kNoCohort[] = "must be nil when cohort is empty";
constexpr std::size_t kMaxFlavors = 256;
constexpr std::size_t kMaxCoveredResources = 256;
constexpr std::size_t kMaxPairsPerGroup = 512;

void Append(FieldErrors& errors, FieldErrors more) {
  errors.insert(errors.end(), std::make_move_iterator(more.begin()),
                std::make_move_iterator(more.end()));
}

// Which limits are allowed: those of a queue or cohort that has a parent to share with.
struct SharingRules {
  bool has_parent = false;
  bool lending_at_most_nominal = false;
};

class GroupRules {
 public:
  GroupRules(SharingRules rules, FieldErrors& errors) : rules_(rules), errors_(errors) {}

  void Check(const std::vector<api::ResourceGroup>& groups, const Path& path) {
    std::size_t flavors = 0;
    std::size_t resources = 0;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      CheckGroup(groups[i], path.Index(i));
      flavors += groups[i].flavors.size();
      resources += groups[i].covered_resources.size();
    }
    if (flavors > kMaxFlavors) {
      errors_.push_back(Invalid(path, std::to_string(flavors),
                                "the total number of flavors must be at most 256"));
    }
    if (resources > kMaxCoveredResources) {
      errors_.push_back(Invalid(path, std::to_string(resources),
                                "the total number of covered resources must be at most 256"));
    }
  }

 private:
  void CheckGroup(const api::ResourceGroup& group, const Path& path) {
    for (std::size_t i = 0; i < group.covered_resources.size(); ++i) {
      const std::string& name = group.covered_resources[i];
      const Path at = path.Child("coveredResources").Index(i);
      if (const std::string problem = QualifiedNameProblem(name); !problem.empty()) {
        errors_.push_back(Invalid(at, Quoted(name), problem));
      }
      if (!resources_.insert(name).second) errors_.push_back(Duplicate(at, Quoted(name)));
    }
    if (group.flavors.size() * group.covered_resources.size() > kMaxPairsPerGroup) {
      errors_.push_back(Invalid(
          path, std::to_string(group.flavors.size() * group.covered_resources.size()),
          "the number of flavors times the number of covered resources must be at most 512"));
    }
    for (std::size_t i = 0; i < group.flavors.size(); ++i) {
      const Path at = path.Child("flavors").Index(i);
      const api::FlavorQuotas& flavor = group.flavors[i];
      if (!flavors_.insert(flavor.flavor).second) {
        errors_.push_back(Duplicate(at.Child("name"), Quoted(flavor.flavor)));
      }
      CheckFlavor(flavor, group.covered_resources, at);
    }
  }

  void CheckFlavor(const api::FlavorQuotas& flavor, const std::vector<api::ResourceName>& covered,
                   const Path& path) {
    if (flavor.resources.size() != covered.size()) {
      errors_.push_back(
          Invalid(path.Child("resources"), std::to_string(flavor.resources.size()),
                  "flavors must have the same number of resources as the coveredResources"));
      return;
    }
    for (std::size_t i = 0; i < flavor.resources.size(); ++i) {
      const api::ResourceQuota& quota = flavor.resources[i];
      const Path at = path.Child("resources").Index(i);
      if (quota.resource != covered[i]) {
        errors_.push_back(Invalid(at.Child("name"), Quoted(quota.resource),
                                  "must match the name in coveredResources"));
      }
      CheckQuota(quota, at);
    }
  }

  void CheckQuota(const api::ResourceQuota& quota, const Path& path) {
    const auto shown = [&quota](api::Amount amount) {
      return Quoted(api::FormatAmount(quota.resource, amount));
    };
    if (quota.nominal_quota < 0) {
      errors_.push_back(Invalid(path.Child("nominalQuota"), shown(quota.nominal_quota), kNegative));
    }
    for (const auto& [name, limit] : {std::pair{"borrowingLimit", quota.borrowing_limit},
                                      std::pair{"lendingLimit", quota.lending_limit}}) {
      if (!limit) continue;
      const Path at = path.Child(name);
      if (*limit < 0) errors_.push_back(Invalid(at, shown(*limit), kNegative));
      if (!rules_.has_parent) errors_.push_back(Invalid(at, shown(*limit), kNoCohort));
    }
    if (rules_.lending_at_most_nominal && quota.lending_limit &&
        *quota.lending_limit > quota.nominal_quota) {
      errors_.push_back(Invalid(path.Child("lendingLimit"), shown(*quota.lending_limit),
                                "must be less than or equal to the nominalQuota"));
    }
  }

  SharingRules rules_;
  FieldErrors& errors_;
  std::set<std::string> resources_;
  std::set<std::string> flavors_;
};

void CheckWeight(std::int64_t weight_nano, const Path& path, FieldErrors& errors) {
  if (weight_nano < 0) {
    errors.push_back(Invalid(path, Quoted(std::to_string(weight_nano) + "n"), kNegative));
  } else if (weight_nano == 1) {
    errors.push_back(Invalid(path, Quoted("1n"), "must be either 0 or greater than 10^-9"));
  }
}

void CheckSelector(const api::LabelSelector& selector, const Path& path, FieldErrors& errors) {
  const Path list = path.Child("matchExpressions");
  for (std::size_t i = 0; i < selector.match_expressions.size(); ++i) {
    const api::LabelSelectorRequirement& each = selector.match_expressions[i];
    const Path at = list.Index(i);
    if (const std::string problem = QualifiedNameProblem(each.key); !problem.empty()) {
      errors.push_back(Invalid(at.Child("key"), Quoted(each.key), problem));
    }
    if (each.op == "In" || each.op == "NotIn") {
      if (each.values.empty()) {
        errors.push_back(
            Required(at.Child("values"), "must be specified when `operator` is 'In' or 'NotIn'"));
      }
    } else if (each.op == "Exists" || each.op == "DoesNotExist") {
      if (!each.values.empty()) {
        errors.push_back(
            Forbidden(at.Child("values"),
                      "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"));
      }
    } else {
      errors.push_back(
          Invalid(at.Child("operator"), Quoted(each.op), "not a valid selector operator"));
    }
  }
  for (const auto& [key, value] : selector.match_labels) {
    const Path at = path.Child("matchLabels");
    if (const std::string problem = QualifiedNameProblem(key); !problem.empty()) {
      errors.push_back(Invalid(at, Quoted(key), problem));
    }
    if (const std::string problem = LabelValueProblem(value); !problem.empty()) {
      errors.push_back(Invalid(at, Quoted(value), problem));
    }
  }
}

std::set<std::string> FlavorsOf(const api::ClusterQueue& queue) {
  std::set<std::string> names;
  for (const api::ResourceGroup& group : queue.spec.resource_groups) {
    for (const api::FlavorQuotas& flavor : group.flavors) names.insert(flavor.flavor);
  }
  return names;
}

bool HadSameCheck(const api::ClusterQueue* old, const api::AdmissionCheckRule& rule) {
  if (old == nullptr) return false;
  const auto& rules = old->spec.admission_checks;
  return std::find(rules.begin(), rules.end(), rule) != rules.end();
}

void CheckChecks(const api::ClusterQueue& queue, const api::ClusterQueue* old,
                 FieldErrors& errors) {
  const std::set<std::string> flavors = FlavorsOf(queue);
  const Path path = Path("spec").Child("admissionChecksStrategy").Child("admissionChecks");
  for (std::size_t i = 0; i < queue.spec.admission_checks.size(); ++i) {
    const api::AdmissionCheckRule& rule = queue.spec.admission_checks[i];
    if (HadSameCheck(old, rule)) continue;  // accepted earlier; a flavor may be gone since
    for (std::size_t j = 0; j < rule.on_flavors.size(); ++j) {
      if (flavors.count(rule.on_flavors[j]) != 0) continue;
      errors.push_back(Unsupported(path.Index(i).Child("onFlavors").Index(j),
                                   Quoted(rule.on_flavors[j]), {flavors.begin(), flavors.end()}));
    }
  }
}

void CheckLabels(const api::StringMap& labels, const Path& path, FieldErrors& errors) {
  for (const auto& [key, value] : labels) {
    if (const std::string problem = QualifiedNameProblem(key); !problem.empty()) {
      errors.push_back(Invalid(path, Quoted(key), problem));
    }
    if (const std::string problem = LabelValueProblem(value); !problem.empty()) {
      errors.push_back(Invalid(path.Key(key), Quoted(value), problem));
    }
  }
}

bool IsEffect(const std::string& effect) {
  return effect == "NoSchedule" || effect == "PreferNoSchedule" || effect == "NoExecute";
}

void CheckTaints(const std::vector<api::Taint>& taints, const Path& path, FieldErrors& errors) {
  std::set<std::pair<std::string, std::string>> seen;
  for (std::size_t i = 0; i < taints.size(); ++i) {
    const api::Taint& taint = taints[i];
    const Path at = path.Index(i);
    if (const std::string problem = QualifiedNameProblem(taint.key); !problem.empty()) {
      errors.push_back(Invalid(at.Child("key"), Quoted(taint.key), problem));
    }
    if (const std::string problem = LabelValueProblem(taint.value); !problem.empty()) {
      errors.push_back(Invalid(at.Child("value"), Quoted(taint.value), problem));
    }
    if (!IsEffect(taint.effect)) {
      errors.push_back(Unsupported(at.Child("effect"), Quoted(taint.effect),
                                   {"NoSchedule", "PreferNoSchedule", "NoExecute"}));
    }
    if (!seen.emplace(taint.key, taint.effect).second) {
      errors.push_back(Duplicate(at, Quoted(taint.key + ":" + taint.effect)));
    }
  }
}

void CheckPolicy(const api::ObjectMeta& meta, FieldErrors& errors) {
  const auto policy = api::ReadQueuePolicy(meta.annotations);
  if (policy) return;
  errors.push_back(Path("metadata").Child("annotations").text() +
                   ": Invalid value: " + policy.error().message);
}

}  // namespace

FieldErrors ValidateClusterQueue(const api::ClusterQueue& queue, const api::ClusterQueue* old) {
  FieldErrors errors;
  const Path spec("spec");
  const api::ClusterQueueSpec& s = queue.spec;
  if (!s.cohort_name.empty()) {
    if (const std::string problem = DnsSubdomainProblem(s.cohort_name); !problem.empty()) {
      errors.push_back(Invalid(spec.Child("cohortName"), Quoted(s.cohort_name), problem));
    }
  }
  GroupRules({.has_parent = !s.cohort_name.empty(), .lending_at_most_nominal = true}, errors)
      .Check(s.resource_groups, spec.Child("resourceGroups"));
  if (s.namespace_selector) {
    CheckSelector(*s.namespace_selector, spec.Child("namespaceSelector"), errors);
  }
  if (s.preemption.reclaim_within_cohort == api::PreemptionPolicy::kNever &&
      s.preemption.borrow_within_cohort != api::PreemptionPolicy::kNever) {
    errors.push_back(Invalid(spec.Child("preemption"), Quoted("Never"),
                             "reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never"));
  }
  CheckWeight(s.fair_weight_nano, spec.Child("fairSharing").Child("weight"), errors);
  CheckChecks(queue, old, errors);
  CheckPolicy(queue.meta, errors);
  return errors;
}

FieldErrors ValidateCohort(const api::Cohort& cohort) {
  FieldErrors errors;
  const Path spec("spec");
  if (!cohort.spec.parent_name.empty()) {
    if (const std::string problem = DnsSubdomainProblem(cohort.spec.parent_name);
        !problem.empty()) {
      errors.push_back(Invalid(spec.Child("parentName"), Quoted(cohort.spec.parent_name), problem));
    }
  }
  GroupRules({.has_parent = !cohort.spec.parent_name.empty()}, errors)
      .Check(cohort.spec.resource_groups, spec.Child("resourceGroups"));
  CheckWeight(cohort.spec.fair_weight_nano, spec.Child("fairSharing").Child("weight"), errors);
  CheckPolicy(cohort.meta, errors);
  return errors;
}

FieldErrors ValidateTolerations(const std::vector<api::Toleration>& tolerations, const Path& path) {
  FieldErrors errors;
  for (std::size_t i = 0; i < tolerations.size(); ++i) {
    const api::Toleration& each = tolerations[i];
    const Path at = path.Index(i);
    if (!each.key.empty()) {
      if (const std::string problem = QualifiedNameProblem(each.key); !problem.empty()) {
        errors.push_back(Invalid(at.Child("key"), Quoted(each.key), problem));
      }
    } else if (each.op != "Exists") {
      errors.push_back(Invalid(
          at.Child("operator"), Quoted(each.op),
          "operator must be Exists when 'key' is empty, which means 'match all values and all "
          "keys'"));
    }
    if (!each.op.empty() && each.op != "Equal" && each.op != "Exists") {
      errors.push_back(Unsupported(at.Child("operator"), Quoted(each.op), {"Equal", "Exists"}));
    }
    if (each.op == "Exists" && !each.value.empty()) {
      errors.push_back(Invalid(at.Child("value"), Quoted(each.value),
                               "a value must be empty when 'operator' is 'Exists'"));
    }
    if (each.toleration_seconds && each.effect != "NoExecute") {
      errors.push_back(Invalid(at.Child("effect"), Quoted(each.effect),
                               "effect must be 'NoExecute' when 'tolerationSeconds' is set"));
    }
    if (!each.effect.empty() && !IsEffect(each.effect)) {
      errors.push_back(Unsupported(at.Child("effect"), Quoted(each.effect),
                                   {"NoSchedule", "PreferNoSchedule", "NoExecute"}));
    }
  }
  return errors;
}

FieldErrors ValidateResourceFlavor(const api::ResourceFlavor& flavor,
                                   const api::ResourceFlavor* old) {
  FieldErrors errors;
  const Path spec("spec");
  CheckLabels(flavor.node_labels, spec.Child("nodeLabels"), errors);
  CheckTaints(flavor.node_taints, spec.Child("nodeTaints"), errors);
  Append(errors, ValidateTolerations(flavor.tolerations, spec.Child("tolerations")));
  if (!flavor.topology_name.empty() && flavor.node_labels.empty()) {
    errors.push_back(Required(spec.Child("nodeLabels"),
                              "at least one nodeLabel is required when topology is set"));
  }
  for (const char* annotation : {api::kSharesPerGpuAnnotation, api::kMostPerPodAnnotation}) {
    const std::string* text = api::FindValue(flavor.meta.annotations, annotation);
    if (text == nullptr) continue;
    if (const auto numbers = api::ParseShareNumbers(*text); !numbers) {
      errors.push_back(Invalid(Path("metadata").Child("annotations").Key(annotation), Quoted(*text),
                               numbers.error().message));
    }
  }
  if (const std::string* price =
          api::FindValue(flavor.meta.annotations, api::kPricePerHourAnnotation)) {
    const auto amount = api::Quantity::Parse(*price);
    if (!amount || amount->negative()) {
      errors.push_back(Invalid(
          Path("metadata").Child("annotations").Key(api::kPricePerHourAnnotation), Quoted(*price),
          "must be USD for one node and hour, such as 0.445, and not negative"));
    }
  }
  if (old != nullptr && !old->topology_name.empty() && old->topology_name != flavor.topology_name) {
    errors.push_back(Invalid(spec, Quoted(flavor.topology_name),
                             "topologyName is immutable when topologyName is set"));
  }
  return errors;
}

}  // namespace berth::webhook
