#include "local/cluster/scheduler/pod_node_match.h"

#include <algorithm>

#include "base/strings.h"
#include "local/cluster/objects/fields.h"

namespace berth::local::cluster {
namespace {

constexpr std::int64_t kMostSeconds = 10LL * 365 * 24 * 3600;  // a time of the clock still

bool Contains(const Json& values, const std::string& value) {
  return std::any_of(values.begin(), values.end(),
                     [&](const Json& one) { return StringAt(one, {}) == value; });
}

bool ComparesAs(const std::string& label, const Json& values, bool greater) {
  if (values.size() != 1) return false;
  const auto left = ParseInt64(label);
  const auto right = ParseInt64(StringAt(values[0], {}));
  if (!left || !right) return false;
  return greater ? *left > *right : *left < *right;
}

// `value`: null if the node lacks the label or field.
bool MatchesRequirement(const Json& requirement, const std::string* value) {
  const std::string op = StringAt(requirement, {"operator"});
  const Json& values = ArrayAt(requirement, {"values"});
  if (op == "Exists") return value != nullptr;
  if (op == "DoesNotExist") return value == nullptr;
  if (op == "In") return value != nullptr && Contains(values, *value);
  if (op == "NotIn") return value == nullptr || !Contains(values, *value);
  if (op == "Gt" || op == "Lt") return value != nullptr && ComparesAs(*value, values, op == "Gt");
  return false;
}

// A term without requirements matches no node.
bool MatchesTerm(const Json& term, const Json& node) {
  const Json& expressions = ArrayAt(term, {"matchExpressions"});
  const Json& fields = ArrayAt(term, {"matchFields"});
  if (expressions.empty() && fields.empty()) return false;
  for (const Json& requirement : expressions) {
    const Json* label = Find(node, {"metadata", "labels", StringAt(requirement, {"key"})});
    const std::string value = label == nullptr ? "" : StringAt(*label, {});
    if (!MatchesRequirement(requirement, label == nullptr ? nullptr : &value)) return false;
  }
  const std::string name = NameOf(node);
  for (const Json& requirement : fields) {
    const bool known = StringAt(requirement, {"key"}) == "metadata.name";
    if (!known || !MatchesRequirement(requirement, &name)) return false;
  }
  return true;
}

bool Tolerates(const Json& toleration, const Json& taint) {
  const std::string effect = StringAt(toleration, {"effect"});
  if (!effect.empty() && effect != StringAt(taint, {"effect"})) return false;
  const std::string key = StringAt(toleration, {"key"});
  const bool exists = StringAt(toleration, {"operator"}) == "Exists";
  if (key.empty()) return exists;
  if (key != StringAt(taint, {"key"})) return false;
  return exists || StringAt(toleration, {"value"}) == StringAt(taint, {"value"});
}

}  // namespace

bool MatchesNodeSelection(const Json& pod_spec, const Json& node) {
  if (const Json* selector = Find(pod_spec, {"nodeSelector"}); selector != nullptr) {
    for (const auto& [key, value] : selector->items()) {
      const Json* label = Find(node, {"metadata", "labels", key});
      if (label == nullptr || *label != value) return false;
    }
  }
  const Json* required = Find(
      pod_spec, {"affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"});
  if (required == nullptr) return true;
  const Json& terms = ArrayAt(*required, {"nodeSelectorTerms"});
  return std::any_of(terms.begin(), terms.end(),
                     [&](const Json& term) { return MatchesTerm(term, node); });
}

std::int64_t PreferenceFor(const Json& pod_spec, const Json& node) {
  std::int64_t sum = 0;
  const Json& preferred = ArrayAt(
      pod_spec, {"affinity", "nodeAffinity", "preferredDuringSchedulingIgnoredDuringExecution"});
  for (const Json& each : preferred) {
    const Json* term = Find(each, {"preference"});
    if (term != nullptr && MatchesTerm(*term, node)) sum += IntAt(each, {"weight"});
  }
  return sum;
}

bool ToleratesTaints(const Json& pod_spec, const Json& taints) {
  const Json& tolerations = ArrayAt(pod_spec, {"tolerations"});
  return std::all_of(taints.begin(), taints.end(), [&](const Json& taint) {
    if (StringAt(taint, {"effect"}) == "PreferNoSchedule") return true;
    return std::any_of(tolerations.begin(), tolerations.end(),
                       [&](const Json& toleration) { return Tolerates(toleration, taint); });
  });
}

std::optional<Duration> ToleranceOf(const Json& pod_spec, const Json& taints) {
  const Json& tolerations = ArrayAt(pod_spec, {"tolerations"});
  std::optional<Duration> shortest;
  for (const Json& taint : taints) {
    const auto found =
        std::find_if(tolerations.begin(), tolerations.end(),
                     [&](const Json& toleration) { return Tolerates(toleration, taint); });
    if (found == tolerations.end()) return Duration::zero();
    const auto seconds = OptionalIntAt(*found, {"tolerationSeconds"});
    if (!seconds) continue;
    const Duration stay = std::chrono::seconds(std::clamp(*seconds, std::int64_t{0}, kMostSeconds));
    shortest = std::min(shortest.value_or(stay), stay);
  }
  return shortest;
}

}  // namespace berth::local::cluster
