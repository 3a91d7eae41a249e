#include "local/apiserver/registry/strategies/admission_rules.h"

#include <algorithm>
#include <set>

#include "base/strings.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/schema/name_rules.h"

namespace berth::local {
namespace {

constexpr std::int64_t kMaxMatchConditions = 64;

bool HasStar(const Json& list) {
  return std::any_of(list.begin(), list.end(), [](const Json& item) { return item == "*"; });
}

std::string TextOfItem(const Json& item) {
  return item.is_string() ? item.get<std::string>() : std::string();
}

// A list that is not empty, and has no other item where it has "*".
void CheckStarList(const Json& rule, const char* field, const char* what, const std::string& path,
                   std::vector<Cause>& causes) {
  const Json& list = ArrayAt(rule, {field});
  if (list.empty()) causes.push_back(RequiredError(path));
  if (list.size() > 1 && HasStar(list)) {
    causes.push_back(
        InvalidError(path, list, std::string("if '*' is present, must not specify other ") + what));
  }
}

void CheckResources(const Json& resources, const std::string& path, std::vector<Cause>& causes) {
  if (resources.empty()) causes.push_back(RequiredError(path));
  std::set<std::string> all_of;   // x of "x/*"
  std::set<std::string> each_of;  // x of "*/x"
  bool everything = false;        // "*/*"
  bool star = false;              // "*"
  bool plain = false;             // "x"
  for (std::size_t i = 0; i < resources.size(); ++i) {
    const std::string text = TextOfItem(resources[i]);
    const std::string at = IndexPath(path, i);
    if (text.empty()) {
      causes.push_back(RequiredError(at));
      continue;
    }
    everything = everything || text == "*/*";
    star = star || text == "*";
    const std::size_t slash = text.find('/');
    if (slash == std::string::npos) {
      plain = text != "*";
      continue;
    }
    const std::string resource = text.substr(0, slash);
    const std::string subresource = text.substr(slash + 1);
    if (all_of.contains(resource)) {
      causes.push_back(
          InvalidError(at, text, "if '" + resource + "/*' is present, must not specify " + text));
    }
    if (each_of.contains(subresource)) {
      causes.push_back(InvalidError(
          at, text, "if '*/" + subresource + "' is present, must not specify " + text));
    }
    if (subresource == "*") all_of.insert(resource);
    if (resource == "*") each_of.insert(subresource);
  }
  if (resources.size() > 1 && everything) {
    causes.push_back(
        InvalidError(path, resources, "if '*/*' is present, must not specify other resources"));
  }
  if (star && plain) {
    causes.push_back(
        InvalidError(path, resources,
                     "if '*' is present, must not specify other resources without subresources"));
  }
}

}  // namespace

void CheckRule(const Json& rule, const std::string& path, std::vector<Cause>& causes) {
  CheckStarList(rule, "operations", "operations", ChildPath(path, "operations"), causes);
  const Json& operations = ArrayAt(rule, {"operations"});
  const std::vector<std::string> known{"*", "CONNECT", "CREATE", "DELETE", "UPDATE"};
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (std::find(known.begin(), known.end(), TextOfItem(operations[i])) == known.end()) {
      causes.push_back(
          NotSupportedError(IndexPath(ChildPath(path, "operations"), i), operations[i], known));
    }
  }
  CheckStarList(rule, "apiGroups", "API groups", ChildPath(path, "apiGroups"), causes);
  CheckStarList(rule, "apiVersions", "API versions", ChildPath(path, "apiVersions"), causes);
  const Json& versions = ArrayAt(rule, {"apiVersions"});
  for (std::size_t i = 0; i < versions.size(); ++i) {
    if (TextOfItem(versions[i]).empty()) {
      causes.push_back(RequiredError(IndexPath(ChildPath(path, "apiVersions"), i)));
    }
  }
  CheckResources(ArrayAt(rule, {"resources"}), ChildPath(path, "resources"), causes);
  const std::string scope = TextAt(rule, {"scope"});
  if (!scope.empty() && scope != "*" && scope != "Cluster" && scope != "Namespaced") {
    causes.push_back(
        NotSupportedError(ChildPath(path, "scope"), scope, {"*", "Cluster", "Namespaced"}));
  }
}

void CheckMatchConditions(const Json& conditions, const std::string& path, ConditionParams params,
                          std::vector<Cause>& causes) {
  const auto count = static_cast<std::int64_t>(conditions.size());
  if (count > kMaxMatchConditions) {
    causes.push_back(TooManyError(path, count, kMaxMatchConditions));
  }
  std::set<std::string> names;
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    const std::string at = IndexPath(path, i);
    const std::string text(TrimSpace(TextAt(conditions[i], {"expression"})));
    if (text.empty()) {
      causes.push_back(RequiredError(at + ".expression"));
    } else if (const std::string problem = ConditionProblem(text, params); !problem.empty()) {
      causes.push_back(InvalidError(at + ".expression", text, problem));
    }
    const std::string name = TextAt(conditions[i], {"name"});
    if (name.empty()) {
      causes.push_back(RequiredError(at + ".name"));
      continue;
    }
    for (const std::string& problem : LabelKeyErrors(name)) {
      causes.push_back(InvalidError(at + ".name", name, problem));
    }
    if (!names.insert(name).second) causes.push_back(DuplicateError(at + ".name", name));
  }
}

}  // namespace berth::local
