#include "local/apiserver/auth/policy_rule.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <unordered_set>

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

// Limits of one comparison of rights, for its steps and for the text that names the missing ones.
constexpr std::size_t kMostSteps = 5'000'000;
constexpr std::size_t kMostMissing = 100;
constexpr std::size_t kMostMissingBytes = 64UL * 1024;

using WordSet = std::unordered_set<std::string_view>;

// A held rule with its lists as sets: membership costs one step.
struct HeldRule {
  explicit HeldRule(const PolicyRule& rule)
      : verbs(rule.verbs.begin(), rule.verbs.end()),
        groups(rule.groups.begin(), rule.groups.end()),
        resources(rule.resources.begin(), rule.resources.end()),
        names(rule.names.begin(), rule.names.end()),
        paths(&rule.paths) {}

  static bool HasIn(const WordSet& words, const std::string& word) {
    return words.contains(kAll) || words.contains(word);
  }
  bool HasResource(const std::string& resource) const {
    if (HasIn(resources, resource)) return true;
    const std::size_t slash = resource.find('/');
    return slash != std::string::npos && resources.contains("*" + resource.substr(slash));
  }
  // `name` empty: every name.
  bool HasName(const std::string& name) const {
    return names.empty() || (!name.empty() && names.contains(name));
  }

  WordSet verbs;
  WordSet groups;
  WordSet resources;
  WordSet names;
  const Texts* paths;
};

// A resource and name, or a path, with the verbs that are missing for it.
struct MissingKey {
  std::string group;
  std::string resource;
  std::string name;  // empty: every name
  std::string path;  // not empty: the others are
  friend auto operator<=>(const MissingKey&, const MissingKey&) = default;
};
struct MissingVerbs {
  Texts verbs;  // in the order of the wanted rule
  WordSet known;
};

// Compares rights without the product of a rule's lists, which a short role can make large: a rule
// that one held rule contains is compared list by list. Other rules are compared right by right
// until kMostMissing are missing.
class RightsComparison {
 public:
  using Candidates = std::vector<const HeldRule*>;

  explicit RightsComparison(const std::vector<PolicyRule>& held) {
    for (const PolicyRule& rule : held) held_.emplace_back(rule);
    for (const HeldRule& rule : held_) all_.push_back(&rule);
  }

  void Want(const PolicyRule& rule) {
    static const Texts kAnyName{""};
    const Texts& names = rule.names.empty() ? kAnyName : rule.names;
    if (!IsContained(rule, names)) WantResources(rule, names);
    for (const std::string& path : rule.paths) {
      if (IsOver()) return;
      Verbs(rule.verbs, Matching(all_, [&](const HeldRule& held) { return HasPath(held, path); }),
            {"", "", "", path});
    }
  }

  bool is_exhausted() const { return steps_ >= kMostSteps; }
  bool IsOver() const { return is_exhausted() || missing_.size() >= kMostMissing; }
  const std::map<MissingKey, MissingVerbs>& missing() const { return missing_; }

 private:
  template <typename Has>
  bool AllOf(const Texts& texts, const Has& has) {
    return std::all_of(texts.begin(), texts.end(), [&](const std::string& text) {
      ++steps_;
      return has(text);
    });
  }

  bool IsContained(const PolicyRule& rule, const Texts& names) {
    return std::any_of(held_.begin(), held_.end(), [&](const HeldRule& held) {
      return !is_exhausted() &&
             AllOf(rule.verbs, [&](const auto& verb) { return held.HasIn(held.verbs, verb); }) &&
             AllOf(rule.groups, [&](const auto& one) { return held.HasIn(held.groups, one); }) &&
             AllOf(rule.resources, [&](const auto& one) { return held.HasResource(one); }) &&
             AllOf(names, [&](const auto& name) { return held.HasName(name); });
    });
  }

  template <typename Has>
  Candidates Matching(const Candidates& candidates, const Has& has) {
    Candidates out;
    for (const HeldRule* held : candidates) {
      ++steps_;
      if (has(*held)) out.push_back(held);
    }
    return out;
  }

  bool HasPath(const HeldRule& held, const std::string& path) {
    steps_ += held.paths->size();
    return std::any_of(held.paths->begin(), held.paths->end(),
                       [&](const std::string& owned) { return PathCovers(owned, path); });
  }

  void WantResources(const PolicyRule& rule, const Texts& names) {
    for (const std::string& group : rule.groups) {
      const Candidates of_group =
          Matching(all_, [&](const HeldRule& held) { return held.HasIn(held.groups, group); });
      for (const std::string& resource : rule.resources) {
        const Candidates of_resource =
            Matching(of_group, [&](const HeldRule& held) { return held.HasResource(resource); });
        for (const std::string& name : names) {
          if (IsOver()) return;
          Verbs(rule.verbs,
                Matching(of_resource, [&](const HeldRule& held) { return held.HasName(name); }),
                {group, resource, name, ""});
        }
      }
    }
  }

  void Verbs(const Texts& verbs, const Candidates& candidates, const MissingKey& key) {
    for (const std::string& verb : verbs) {
      ++steps_;
      const bool is_held =
          std::any_of(candidates.begin(), candidates.end(), [&](const HeldRule* held) {
            ++steps_;
            return held->HasIn(held->verbs, verb);
          });
      if (is_held) continue;
      MissingVerbs& missing = missing_[key];
      if (missing.known.insert(verb).second) missing.verbs.push_back(verb);
    }
  }

  std::vector<HeldRule> held_;
  Candidates all_;
  std::map<MissingKey, MissingVerbs> missing_;
  std::size_t steps_ = 0;
};

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
  RightsComparison comparison(held);
  for (const PolicyRule& rule : wanted) {
    if (comparison.IsOver()) break;
    comparison.Want(rule);
  }
  std::set<std::string> lines;
  std::size_t bytes = 0;
  bool is_cut = comparison.IsOver();
  for (const auto& [what, missing] : comparison.missing()) {
    if (is_cut = is_cut || bytes > kMostMissingBytes; bytes > kMostMissingBytes) break;
    std::string line = "{";
    if (!what.path.empty()) {
      line += "NonResourceURLs:" + Quoted({what.path});
    } else {
      line += "APIGroups:" + Quoted({what.group}) + ", Resources:" + Quoted({what.resource});
      if (!what.name.empty()) line += ", ResourceNames:" + Quoted({what.name});
    }
    line += ", Verbs:" + Quoted(missing.verbs) + "}";
    bytes += line.size();
    lines.insert(std::move(line));
  }
  std::vector<std::string> out(lines.begin(), lines.end());
  if (comparison.is_exhausted() && out.empty()) {
    out.emplace_back(
        "(the role has more rights than are compared with those of its writer: "
        "divide it into roles with shorter lists)");
  } else if (is_cut) {
    out.emplace_back("(and others)");
  }
  return out;
}

}  // namespace berth::local
