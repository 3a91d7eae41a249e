#include "local/apiserver/webhooks/match.h"

#include <algorithm>

#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/schema/selector.h"

namespace berth::local {
namespace {

bool Contains(const Json& list, std::string_view value) {
  for (const Json& item : list) {
    if (!item.is_string()) continue;
    const std::string& text = item.get_ref<const std::string&>();
    if (text == "*" || text == value) return true;
  }
  return false;
}

// "pods", "pods/status", "*", "*/*", "pods/*", "*/status".
bool ResourceMatches(const Json& resources, const MatchInput& input) {
  for (const Json& item : resources) {
    if (!item.is_string()) continue;
    const std::string text = item.get<std::string>();
    const std::size_t slash = text.find('/');
    const std::string resource = text.substr(0, slash);
    const std::string subresource = slash == std::string::npos ? "" : text.substr(slash + 1);
    const bool resource_fits = resource == "*" || resource == input.resource;
    const bool subresource_fits = subresource == "*" || subresource == input.subresource;
    if (resource_fits && subresource_fits) return true;
  }
  return false;
}

bool ScopeMatches(const Json& rule, bool namespaced) {
  const std::string scope = TextAt(rule, {"scope"});
  if (scope == "Namespaced") return namespaced;
  if (scope == "Cluster") return !namespaced;
  return true;
}

bool NameMatches(const Json& rule, const std::string& name) {
  const Json& names = ArrayAt(rule, {"resourceNames"});
  return names.empty() ||
         std::any_of(names.begin(), names.end(), [&](const Json& known) { return known == name; });
}

bool RuleMatches(const Json& rule, const MatchInput& input, const std::string& version) {
  return NameMatches(rule, input.name) &&
         Contains(ArrayAt(rule, {"operations"}), input.operation) &&
         Contains(ArrayAt(rule, {"apiGroups"}), input.group) &&
         Contains(ArrayAt(rule, {"apiVersions"}), version) &&
         ResourceMatches(ArrayAt(rule, {"resources"}), input) &&
         ScopeMatches(rule, input.namespaced);
}

bool AnyRuleMatches(const Json& rules, const MatchInput& input, const std::string& version) {
  return std::any_of(rules.begin(), rules.end(),
                     [&](const Json& rule) { return RuleMatches(rule, input, version); });
}

// The version in which one of the rules names the resource.
std::optional<std::string> MatchRules(const Json& rules, const std::string& policy,
                                      const MatchInput& input) {
  if (AnyRuleMatches(rules, input, input.version)) return input.version;
  if (policy == "Exact") return std::nullopt;
  for (const std::string& other : input.other_versions) {
    if (AnyRuleMatches(rules, input, other)) return other;
  }
  return std::nullopt;
}

// A missing selector matches everything; an invalid one nothing.
bool SelectorMatches(const Json* selector, const Json& labels) {
  if (selector == nullptr) return true;
  const auto parsed = LabelSelectorFromJson(*selector);
  return parsed && Matches(*parsed, labels);
}

bool SelectorsMatch(const Json& owner, const MatchInput& input) {
  if (input.namespace_labels &&
      !SelectorMatches(Member(owner, "namespaceSelector"), *input.namespace_labels)) {
    return false;
  }
  const Json* selector = Member(owner, "objectSelector");
  return (!input.object_labels.is_null() && SelectorMatches(selector, input.object_labels)) ||
         (!input.old_object_labels.is_null() && SelectorMatches(selector, input.old_object_labels));
}

}  // namespace

bool NamesResource(const Json& webhook, const std::string& group, const std::string& resource) {
  for (const Json& rule : ArrayAt(webhook, {"rules"})) {
    if (!Contains(ArrayAt(rule, {"apiGroups"}), group)) continue;
    for (const Json& item : ArrayAt(rule, {"resources"})) {
      if (!item.is_string()) continue;
      const std::string text = item.get<std::string>();
      const std::string name = text.substr(0, text.find('/'));
      if (name == "*" || name == resource) return true;
    }
  }
  return false;
}

std::optional<std::string> MatchWebhook(const Json& webhook, const MatchInput& input) {
  auto version = MatchRules(ArrayAt(webhook, {"rules"}), TextAt(webhook, {"matchPolicy"}), input);
  if (!version || !SelectorsMatch(webhook, input)) return std::nullopt;
  return version;
}

std::optional<std::string> MatchResources(const Json& resources, const MatchInput& input) {
  if (!SelectorsMatch(resources, input)) return std::nullopt;
  const std::string policy = TextAt(resources, {"matchPolicy"});
  if (MatchRules(ArrayAt(resources, {"excludeResourceRules"}), policy, input)) return std::nullopt;
  const Json& rules = ArrayAt(resources, {"resourceRules"});
  return rules.empty() ? input.version : MatchRules(rules, policy, input);
}

}  // namespace berth::local
