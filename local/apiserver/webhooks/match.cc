#include "local/apiserver/webhooks/match.h"

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

bool RuleMatches(const Json& rule, const MatchInput& input, const std::string& version) {
  return Contains(ArrayAt(rule, {"operations"}), input.operation) &&
         Contains(ArrayAt(rule, {"apiGroups"}), input.group) &&
         Contains(ArrayAt(rule, {"apiVersions"}), version) &&
         ResourceMatches(ArrayAt(rule, {"resources"}), input) &&
         ScopeMatches(rule, input.namespaced);
}

bool AnyRuleMatches(const Json& webhook, const MatchInput& input, const std::string& version) {
  for (const Json& rule : ArrayAt(webhook, {"rules"})) {
    if (RuleMatches(rule, input, version)) return true;
  }
  return false;
}

// A missing selector matches everything; an invalid one nothing.
bool SelectorMatches(const Json* selector, const Json& labels) {
  if (selector == nullptr) return true;
  const auto parsed = LabelSelectorFromJson(*selector);
  return parsed && Matches(*parsed, labels);
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
  std::optional<std::string> version;
  if (AnyRuleMatches(webhook, input, input.version)) {
    version = input.version;
  } else if (TextAt(webhook, {"matchPolicy"}) != "Exact") {
    for (const std::string& other : input.other_versions) {
      if (!AnyRuleMatches(webhook, input, other)) continue;
      version = other;
      break;
    }
  }
  if (!version) return std::nullopt;
  if (input.namespace_labels &&
      !SelectorMatches(Member(webhook, "namespaceSelector"), *input.namespace_labels)) {
    return std::nullopt;
  }
  const Json* selector = Member(webhook, "objectSelector");
  const bool new_matches =
      !input.object_labels.is_null() && SelectorMatches(selector, input.object_labels);
  const bool old_matches =
      !input.old_object_labels.is_null() && SelectorMatches(selector, input.old_object_labels);
  if (!new_matches && !old_matches) return std::nullopt;
  return version;
}

}  // namespace berth::local
