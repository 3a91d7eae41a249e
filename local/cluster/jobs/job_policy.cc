#include "local/cluster/jobs/job_policy.h"

#include <algorithm>

#include <fmt/format.h>

#include "local/cluster/objects/fields.h"

namespace berth::local::cluster {
namespace {

// The part of the pod that matches the rule, in words; nullopt: no match.
std::optional<std::string> MatchExitCodes(const Json& rule, const Json& pod) {
  const std::string only = StringAt(rule, {"containerName"});
  const bool wants_in = StringAt(rule, {"operator"}) == "In";
  const Json& values = ArrayAt(rule, {"values"});
  for (const char* list : {"initContainerStatuses", "containerStatuses"}) {
    for (const Json& container : ArrayAt(pod, {"status", list})) {
      const std::string name = StringAt(container, {"name"});
      if (!only.empty() && only != name) continue;
      const auto code = OptionalIntAt(container, {"state", "terminated", "exitCode"});
      if (!code || *code == 0) continue;
      const bool listed = std::find(values.begin(), values.end(), Json(*code)) != values.end();
      if (listed != wants_in) continue;
      return fmt::format("Container {} for pod {}/{} failed with exit code {}", name,
                         NamespaceOf(pod), NameOf(pod), *code);
    }
  }
  return std::nullopt;
}

std::optional<std::string> MatchConditions(const Json& patterns, const Json& pod) {
  for (const Json& pattern : patterns) {
    const std::string type = StringAt(pattern, {"type"});
    if (!ConditionIs(pod, type, StringAt(pattern, {"status"}, "True"))) continue;
    return fmt::format("Pod {}/{} has condition {}", NamespaceOf(pod), NameOf(pod), type);
  }
  return std::nullopt;
}

}  // namespace

FailureVerdict JudgeFailure(const Json& job, const Json& pod) {
  const Json& rules = ArrayAt(job, {"spec", "podFailurePolicy", "rules"});
  for (std::size_t at = 0; at < rules.size(); ++at) {
    const Json* codes = Find(rules[at], {"onExitCodes"});
    const auto matched = codes != nullptr
                             ? MatchExitCodes(*codes, pod)
                             : MatchConditions(ArrayAt(rules[at], {"onPodConditions"}), pod);
    if (!matched) continue;
    const std::string action = StringAt(rules[at], {"action"});
    if (action == "Ignore") return {FailureAction::kIgnore, ""};
    if (action == "FailIndex") return {FailureAction::kFailIndex, ""};
    if (action == "FailJob") {
      return {FailureAction::kFailJob,
              fmt::format("{} matching FailJob rule at index {}", *matched, at)};
    }
    return {};
  }
  return {};
}

std::optional<std::string> MatchSuccessPolicy(const Json& job, const IndexSet& succeeded) {
  const Json& rules = ArrayAt(job, {"spec", "successPolicy", "rules"});
  for (std::size_t at = 0; at < rules.size(); ++at) {
    const Json* listed = Find(rules[at], {"succeededIndexes"});
    std::int64_t found = static_cast<std::int64_t>(succeeded.size());
    std::int64_t needed = 0;
    if (listed != nullptr) {
      const IndexSet wanted = ParseIndexes(StringAt(*listed, {}));
      needed = static_cast<std::int64_t>(wanted.size());
      found = std::count_if(wanted.begin(), wanted.end(),
                            [&](std::int64_t index) { return succeeded.count(index) != 0; });
    }
    needed = IntAt(rules[at], {"succeededCount"}, needed);
    if (needed > 0 && found >= needed) return fmt::format("Matched rules at index {}", at);
  }
  return std::nullopt;
}

}  // namespace berth::local::cluster
