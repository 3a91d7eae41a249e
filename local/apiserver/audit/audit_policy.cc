#include "local/apiserver/audit/audit_policy.h"

#include <algorithm>
#include <utility>

#include "api/yaml/yaml.h"
#include "local/apiserver/registry/json_access.h"

namespace berth::local {
namespace {

constexpr std::array<std::pair<const char*, AuditLevel>, 4> kLevels{
    {{"None", AuditLevel::kNone},
     {"Metadata", AuditLevel::kMetadata},
     {"Request", AuditLevel::kRequest},
     {"RequestResponse", AuditLevel::kRequestResponse}}};
constexpr std::array<const char*, kAuditStages> kStageNames{"RequestReceived", "ResponseStarted",
                                                            "ResponseComplete"};

bool Has(const std::vector<std::string>& list, std::string_view value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

bool MatchesPath(const std::string& spec, const std::string& path) {
  if (spec == "*" || spec == path) return true;
  return spec.ends_with('*') && path.starts_with(std::string_view(spec).substr(0, spec.size() - 1));
}

bool MatchesName(const std::string& spec, const AccessAttributes& attributes) {
  if (spec == "*" || spec == attributes.FullResource()) return true;
  if (!attributes.subresource.empty() && spec == "*/" + attributes.subresource) return true;
  return spec == attributes.resource + "/*";
}

}  // namespace

const char* NameOfLevel(AuditLevel level) { return kLevels[static_cast<std::size_t>(level)].first; }
const char* NameOfStage(AuditStage stage) { return kStageNames[static_cast<std::size_t>(stage)]; }

// Reads a policy file; the first error stays.
class AuditPolicy::Reader {
 public:
  Result<AuditPolicy> Read(const Json& document) {
    AuditPolicy policy;
    CheckFields(document, "",
                {"apiVersion", "kind", "metadata", "rules", "omitStages", "omitManagedFields"});
    if (TextAt(document, {"apiVersion"}) != "audit.k8s.io/v1" ||
        TextAt(document, {"kind"}) != "Policy") {
      Refuse("it is no Policy of audit.k8s.io/v1: write apiVersion and kind");
    }
    if (BoolAt(document, {"omitManagedFields"}, false)) {
      Refuse("omitManagedFields is not served: leave it out");
    }
    AuditDecision common;
    ReadStages(document, "omitStages", common);
    const Json& rules = List(document, "rules", "rules");
    if (rules.empty()) Refuse("rules: write one rule or more, such as - level: Metadata");
    for (std::size_t i = 0; i < rules.size(); ++i) {
      policy.rules_.push_back(ReadRule(rules[i], "rules[" + std::to_string(i) + "]", common));
    }
    if (!error_.empty()) return Error{ErrorCode::kInvalid, error_};
    return policy;
  }

 private:
  void Refuse(std::string why) {
    if (error_.empty()) error_ = std::move(why);
  }

  void CheckFields(const Json& object, const std::string& path,
                   const std::vector<std::string>& known) {
    if (!object.is_object()) return Refuse((path.empty() ? "the file" : path) + " is no object");
    for (const auto& [name, value] : object.items()) {
      if (!Has(known, name)) {
        Refuse((path.empty() ? "" : path + ".") + name + " is unknown: remove it");
      }
    }
  }

  const Json& List(const Json& owner, const char* field, const std::string& at) {
    const Json* list = Member(owner, field);
    if (list != nullptr && !list->is_null() && !list->is_array()) Refuse(at + " is no list");
    return ArrayAt(owner, {field});
  }

  std::vector<std::string> Texts(const Json& owner, const char* field, const std::string& path) {
    std::vector<std::string> texts;
    const Json* list = Member(owner, field);
    if (list == nullptr || list->is_null()) return texts;
    const std::string at = path.empty() ? field : path + "." + field;
    if (!list->is_array()) {
      Refuse(at + " is no list");
      return texts;
    }
    for (const Json& item : *list) {
      if (!item.is_string()) {
        Refuse(at + " has an item that is no text: quote it");
        continue;
      }
      texts.push_back(item.get<std::string>());
    }
    return texts;
  }

  void ReadStages(const Json& owner, const std::string& path, AuditDecision& decision) {
    const std::size_t dot = path.rfind('.');
    for (const std::string& name :
         Texts(owner, "omitStages", dot == std::string::npos ? "" : path.substr(0, dot))) {
      const auto* const known = std::find(kStageNames.begin(), kStageNames.end(), name);
      if (known != kStageNames.end()) {
        decision.omitted[static_cast<std::size_t>(known - kStageNames.begin())] = true;
      } else if (name != "Panic") {
        Refuse(
            path + ": \"" + name +
            "\" is unknown: RequestReceived, ResponseStarted, ResponseComplete, Panic are known");
      }
    }
  }

  Rule ReadRule(const Json& json, const std::string& path, const AuditDecision& common) {
    Rule rule;
    rule.decision = common;
    CheckFields(json, path,
                {"level", "users", "userGroups", "verbs", "resources", "namespaces",
                 "nonResourceURLs", "omitStages"});
    const std::string level = TextAt(json, {"level"});
    const auto* const known = std::find_if(kLevels.begin(), kLevels.end(),
                                           [&](const auto& one) { return one.first == level; });
    if (known == kLevels.end()) {
      Refuse(path + ".level: \"" + level +
             "\" is unknown: None, Metadata, Request, RequestResponse are known");
    } else {
      rule.decision.level = known->second;
    }
    ReadStages(json, path + ".omitStages", rule.decision);
    rule.users = Texts(json, "users", path);
    rule.groups = Texts(json, "userGroups", path);
    rule.verbs = Texts(json, "verbs", path);
    rule.namespaces = Texts(json, "namespaces", path);
    rule.paths = Texts(json, "nonResourceURLs", path);
    const Json& resources = List(json, "resources", path + ".resources");
    for (std::size_t i = 0; i < resources.size(); ++i) {
      const std::string at = path + ".resources[" + std::to_string(i) + "]";
      CheckFields(resources[i], at, {"group", "resources", "resourceNames"});
      rule.resources.push_back({TextAt(resources[i], {"group"}),
                                Texts(resources[i], "resources", at),
                                Texts(resources[i], "resourceNames", at)});
      if (!rule.resources.back().names.empty() && rule.resources.back().resources.empty()) {
        Refuse(at + ".resourceNames needs resources beside it");
      }
    }
    if (!rule.paths.empty() && (!rule.resources.empty() || !rule.namespaces.empty())) {
      Refuse(path + " has nonResourceURLs, and resources or namespaces: write two rules");
    }
    return rule;
  }

  std::string error_;
};

AuditPolicy AuditPolicy::Default() {
  AuditPolicy policy;
  Rule rule;
  rule.decision.level = AuditLevel::kMetadata;
  rule.decision.omitted[static_cast<std::size_t>(AuditStage::kRequestReceived)] = true;
  policy.rules_.push_back(std::move(rule));
  return policy;
}

Result<AuditPolicy> AuditPolicy::Parse(std::string_view text) {
  BERTH_TRY(const api::YamlDocument document, api::ParseYaml(text));
  return Reader().Read(document.value);
}

bool AuditPolicy::MatchesResource(const Rule& rule, const AccessAttributes& attributes) {
  if (attributes.resource.empty()) return false;
  if (!rule.namespaces.empty() && !Has(rule.namespaces, attributes.namespace_name)) return false;
  if (rule.resources.empty()) return true;
  for (const Resources& one : rule.resources) {
    if (one.group != attributes.group) continue;
    if (one.resources.empty()) return true;
    if (!one.names.empty() && !Has(one.names, attributes.name)) continue;
    for (const std::string& spec : one.resources) {
      if (MatchesName(spec, attributes)) return true;
    }
  }
  return false;
}

bool AuditPolicy::Matches(const Rule& rule, const UserInfo& user,
                          const AccessAttributes& attributes) {
  if (!rule.users.empty() && !Has(rule.users, user.name)) return false;
  if (!rule.groups.empty() &&
      std::none_of(user.groups.begin(), user.groups.end(),
                   [&](const std::string& group) { return Has(rule.groups, group); })) {
    return false;
  }
  if (!rule.verbs.empty() && !Has(rule.verbs, attributes.verb)) return false;
  if (!rule.namespaces.empty() || !rule.resources.empty()) {
    return MatchesResource(rule, attributes);
  }
  if (rule.paths.empty()) return true;
  if (!attributes.resource.empty()) return false;
  return std::any_of(rule.paths.begin(), rule.paths.end(),
                     [&](const std::string& spec) { return MatchesPath(spec, attributes.path); });
}

AuditDecision AuditPolicy::Decide(const UserInfo& user, const AccessAttributes& attributes) const {
  for (const Rule& rule : rules_) {
    if (Matches(rule, user, attributes)) return rule.decision;
  }
  return {};
}

}  // namespace berth::local
