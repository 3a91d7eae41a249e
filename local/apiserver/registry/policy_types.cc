#include "local/apiserver/registry/policy_types.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "cel/check.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/schema/declared_type.h"
#include "local/apiserver/schema/field_error.h"

namespace berth::local {
namespace {

constexpr std::size_t kMostKinds = 10;

std::vector<std::string> NamesIn(const Json& rule, const char* field) {
  std::vector<std::string> names;
  for (const Json& name : ArrayAt(rule, {field})) {
    if (!name.is_string()) continue;
    const std::string text = name.get<std::string>();
    if (text == "*") return {};
    if (text.find_first_of("*/") == std::string::npos) names.push_back(text);
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Returns the kinds of the policy, by "GROUP/VERSION, Kind=KIND".
std::map<std::string, ResourcePtr> KindsOf(const ResourceTable& table, const Json& policy) {
  std::map<std::string, ResourcePtr> kinds;
  for (const Json& rule : ArrayAt(policy, {"spec", "matchConstraints", "resourceRules"})) {
    for (const std::string& group : NamesIn(rule, "apiGroups")) {
      for (const std::string& version : NamesIn(rule, "apiVersions")) {
        for (const std::string& resource : NamesIn(rule, "resources")) {
          ResourcePtr found = table.Find({group, version, resource});
          if (found == nullptr || found->type == nullptr) continue;
          kinds[group + "/" + version + ", Kind=" + found->kind] = std::move(found);
          if (kinds.size() == kMostKinds) return kinds;
        }
      }
    }
  }
  return kinds;
}

// What never fits, a line for each kind; empty: nothing.
std::string WarningOf(const std::string& expression,
                      const std::map<std::string, ResourcePtr>& kinds) {
  std::string warning;
  for (const auto& [name, resource] : kinds) {
    cel::TypedVariables typed;
    typed.types["object"] = DeclaredType(*resource->type);
    typed.types["oldObject"] = typed.types["object"];
    const Status checked = cel::CheckTypes(expression, typed);
    if (checked) continue;
    warning += (warning.empty() ? "" : "\n") + name + ": " + checked.error().message + "\n";
  }
  return warning;
}

}  // namespace

void FillTypeChecking(const ResourceTable& table, Json& policy) {
  const auto kinds = KindsOf(table, policy);
  Json warnings = Json::array();
  const Json& validations = ArrayAt(policy, {"spec", "validations"});
  for (std::size_t i = 0; i < validations.size(); ++i) {
    for (const char* field : {"expression", "messageExpression"}) {
      const std::string warning = WarningOf(TextAt(validations[i], {field}), kinds);
      if (warning.empty() || TextAt(validations[i], {field}).empty()) continue;
      warnings.push_back(
          {{"fieldRef", IndexPath("spec.validations", i) + "." + field}, {"warning", warning}});
    }
  }
  Json& checking = policy["status"]["typeChecking"];
  checking = Json::object();
  if (!warnings.empty()) checking["expressionWarnings"] = std::move(warnings);
}

}  // namespace berth::local
