#include "local/apiserver/auth/policy_rule.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/schema/field_error.h"

namespace berth::local {
namespace {

using Texts = std::vector<std::string>;

constexpr std::string_view kAll = "*";

bool Has(const Texts& texts, std::string_view text) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

bool HasOrAll(const Texts& texts, std::string_view text) {
  return Has(texts, kAll) || Has(texts, text);
}

// `owned` is a path or ends with "*".
bool PathCovers(std::string_view owned, std::string_view path) {
  if (owned == path) return true;
  if (!owned.ends_with('*')) return false;
  while (owned.ends_with('*')) owned.remove_suffix(1);
  return path.starts_with(owned);
}

bool HasResource(const Texts& resources, std::string_view resource) {
  const std::size_t slash = resource.find('/');
  for (const std::string& known : resources) {
    if (known == kAll || known == resource) return true;
    if (slash != std::string_view::npos && known.starts_with("*/") &&
        std::string_view(known).substr(1) == resource.substr(slash)) {
      return true;
    }
  }
  return false;
}

// One verb on one resource, or on one path.
struct Right {
  std::string group;
  std::string resource;
  std::string name;  // empty: every name
  std::string path;  // not empty: the others are
  std::string verb;
};

std::vector<Right> RightsOf(const PolicyRule& rule) {
  std::vector<Right> rights;
  const Texts any_name{""};
  for (const std::string& group : rule.groups) {
    for (const std::string& resource : rule.resources) {
      for (const std::string& verb : rule.verbs) {
        for (const std::string& name : rule.names.empty() ? any_name : rule.names) {
          rights.push_back({group, resource, name, "", verb});
        }
      }
    }
  }
  for (const std::string& path : rule.paths) {
    for (const std::string& verb : rule.verbs) rights.push_back({"", "", "", path, verb});
  }
  return rights;
}

bool Covers(const PolicyRule& held, const Right& right) {
  if (!HasOrAll(held.verbs, right.verb)) return false;
  if (!right.path.empty()) {
    return std::any_of(held.paths.begin(), held.paths.end(),
                       [&](const std::string& path) { return PathCovers(path, right.path); });
  }
  if (!HasOrAll(held.groups, right.group) || !HasResource(held.resources, right.resource)) {
    return false;
  }
  return held.names.empty() || (!right.name.empty() && Has(held.names, right.name));
}

std::string Quoted(const Texts& texts) {
  std::string list = "[";
  for (const std::string& text : texts) {
    if (list.size() > 1) list += ' ';
    list += GoQuote(text);
  }
  return list + "]";
}

Texts TextsAt(const Json& rule, const char* field) {
  Texts texts;
  for (const Json& text : ArrayAt(rule, {field})) {
    if (text.is_string()) texts.push_back(text.get<std::string>());
  }
  return texts;
}

}  // namespace

std::vector<PolicyRule> RulesOf(const Json& role) {
  std::vector<PolicyRule> rules;
  for (const Json& rule : ArrayAt(role, {"rules"})) {
    rules.push_back({.verbs = TextsAt(rule, "verbs"),
                     .groups = TextsAt(rule, "apiGroups"),
                     .resources = TextsAt(rule, "resources"),
                     .names = TextsAt(rule, "resourceNames"),
                     .paths = TextsAt(rule, "nonResourceURLs")});
  }
  return rules;
}

bool Allows(const PolicyRule& rule, const AccessAttributes& attributes, std::string_view resource) {
  if (!HasOrAll(rule.verbs, attributes.verb)) return false;
  if (attributes.resource.empty()) {
    return std::any_of(rule.paths.begin(), rule.paths.end(),
                       [&](const std::string& path) { return PathCovers(path, attributes.path); });
  }
  return HasOrAll(rule.groups, attributes.group) && HasResource(rule.resources, resource) &&
         (rule.names.empty() || Has(rule.names, attributes.name));
}

std::vector<std::string> MissingRights(const std::vector<PolicyRule>& held,
                                       const std::vector<PolicyRule>& wanted) {
  // Verbs by what they are missing for.
  std::map<std::tuple<std::string, std::string, std::string, std::string>, Texts> missing;
  for (const PolicyRule& rule : wanted) {
    for (const Right& right : RightsOf(rule)) {
      const auto covers = [&](const PolicyRule& known) { return Covers(known, right); };
      if (std::any_of(held.begin(), held.end(), covers)) continue;
      Texts& verbs = missing[{right.group, right.resource, right.name, right.path}];
      if (!Has(verbs, right.verb)) verbs.push_back(right.verb);
    }
  }
  std::set<std::string> lines;
  for (const auto& [what, verbs] : missing) {
    const auto& [group, resource, name, path] = what;
    std::string line = "{";
    if (!path.empty()) {
      line += "NonResourceURLs:" + Quoted({path});
    } else {
      line += "APIGroups:" + Quoted({group}) + ", Resources:" + Quoted({resource});
      if (!name.empty()) line += ", ResourceNames:" + Quoted({name});
    }
    lines.insert(line + ", Verbs:" + Quoted(verbs) + "}");
  }
  return {lines.begin(), lines.end()};
}

}  // namespace berth::local
