// ValidatingAdmissionPolicy, MutatingAdmissionPolicy, and their bindings. Source:
// k8s.io/kubernetes 1.36 pkg/apis/admissionregistration/validation, restated.
#include <algorithm>
#include <set>

#include "base/strings.h"
#include "cel/property_names.h"
#include "local/apiserver/policies/admission_variables.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/strategies/admission_rules.h"
#include "local/apiserver/registry/strategies/strategies.h"
#include "local/apiserver/schema/name_rules.h"
#include "local/apiserver/schema/selector.h"

namespace berth::local {
namespace {

constexpr std::size_t kMaxAuditAnnotations = 20;
constexpr std::size_t kMaxValueExpressionBytes = 5 * 1024;

void AddProblems(const std::vector<std::string>& problems, const std::string& path,
                 const Json& value, std::vector<Cause>& causes) {
  for (const std::string& problem : problems) causes.push_back(InvalidError(path, value, problem));
}

bool IsBlank(const std::string& text) { return TrimSpace(text).empty(); }

void CheckSupported(const Json& owner, const char* field, const std::string& path,
                    std::vector<std::string> supported, std::vector<Cause>& causes) {
  const std::string value = TextAt(owner, {field});
  if (value.empty()) {
    causes.push_back(RequiredError(ChildPath(path, field)));
  } else if (std::find(supported.begin(), supported.end(), value) == supported.end()) {
    causes.push_back(NotSupportedError(ChildPath(path, field), value, supported));
  }
}

void CheckLabelSelectorField(const Json& owner, const char* field, const std::string& path,
                             std::vector<Cause>& causes) {
  const Json* selector = Member(owner, field);
  if (selector == nullptr || selector->is_null()) {
    causes.push_back(RequiredError(ChildPath(path, field)));
    return;
  }
  const auto parsed = LabelSelectorFromJson(*selector);
  if (!parsed) {
    causes.push_back(InvalidError(ChildPath(path, field), *selector, parsed.error().message));
  }
}

void CheckMatchResources(const Json& resources, const std::string& path,
                         std::vector<Cause>& causes) {
  CheckSupported(resources, "matchPolicy", path, {"Equivalent", "Exact"}, causes);
  CheckLabelSelectorField(resources, "namespaceSelector", path, causes);
  CheckLabelSelectorField(resources, "objectSelector", path, causes);
  for (const char* field : {"resourceRules", "excludeResourceRules"}) {
    const Json& rules = ArrayAt(resources, {field});
    for (std::size_t i = 0; i < rules.size(); ++i) {
      const std::string at = IndexPath(ChildPath(path, field), i);
      const Json& names = ArrayAt(rules[i], {"resourceNames"});
      std::set<std::string> seen;
      for (std::size_t j = 0; j < names.size(); ++j) {
        const std::string name = names[j].is_string() ? names[j].get<std::string>() : "";
        const std::string name_at = IndexPath(at + ".resourceNames", j);
        AddProblems(PathSegmentNameErrors(name), name_at, name, causes);
        if (!seen.insert(name).second) causes.push_back(DuplicateError(name_at, name));
      }
      CheckRule(rules[i], at, causes);
    }
  }
}

void CheckParamKind(const Json& kind, const std::string& path, std::vector<Cause>& causes) {
  const std::string api_version = TextAt(kind, {"apiVersion"});
  const std::string at = path + ".apiVersion";
  const auto parts = Split(api_version, '/');
  if (api_version.empty()) {
    causes.push_back(RequiredError(at));
  } else if (parts.size() > 2) {
    causes.push_back(
        InvalidError(at, api_version, "unexpected GroupVersion string: " + api_version));
  } else {
    const std::string group(parts.size() == 2 ? parts[0] : std::string_view());
    const std::string version(parts.back());
    if (!group.empty()) AddProblems(Dns1123SubdomainErrors(group), at, group, causes);
    if (version.empty()) {
      causes.push_back(InvalidError(at, api_version, "version must be specified"));
    } else {
      AddProblems(Dns1035LabelErrors(version), at, version, causes);
    }
  }
  const std::string name = TextAt(kind, {"kind"});
  if (name.empty()) {
    causes.push_back(RequiredError(path + ".kind"));
    return;
  }
  std::string lower = name;
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  for (const std::string& problem : Dns1035LabelErrors(lower)) {
    causes.push_back(InvalidError(path + ".kind", name,
                                  "may have mixed case, but should otherwise match: " + problem));
  }
}

// Validates the expressions of a policy; variables are declared as they come.
class ExpressionChecks {
 public:
  ExpressionChecks(const Json& spec, std::vector<Cause>& causes) : spec_(spec), causes_(causes) {
    const Json* kind = Member(spec, "paramKind");
    declared_.params = kind != nullptr && kind->is_object();
    declared_.authorizer = true;
    declared_.patches = Member(spec, "mutations") != nullptr;
  }

  ConditionParams params() const {
    return declared_.params ? ConditionParams::kGiven : ConditionParams::kNone;
  }

  void CheckVariables() {
    const Json& variables = ArrayAt(spec_, {"variables"});
    for (std::size_t i = 0; i < variables.size(); ++i) {
      const std::string at = IndexPath("spec.variables", i);
      const std::string name = TextAt(variables[i], {"name"});
      if (IsBlank(name)) {
        causes_.push_back(RequiredError(at + ".name", "name is not specified"));
      } else if (!cel::IsIdentifier(name) || cel::IsReservedWord(name)) {
        causes_.push_back(InvalidError(at + ".name", name, "must be a valid CEL identifier"));
      }
      const std::string text = TextAt(variables[i], {"expression"});
      if (IsBlank(text)) {
        causes_.push_back(RequiredError(at + ".expression", "expression is not specified"));
      } else {
        Compile(text, at + ".expression", declared_);
      }
      if (cel::IsIdentifier(name)) declared_.composed.push_back("variables." + name);
    }
  }

  void CheckValidations() {
    const Json& validations = ArrayAt(spec_, {"validations"});
    for (std::size_t i = 0; i < validations.size(); ++i) {
      CheckValidation(validations[i], IndexPath("spec.validations", i));
    }
  }

  void CheckMutations() {
    const Json& mutations = ArrayAt(spec_, {"mutations"});
    if (mutations.empty()) {
      causes_.push_back(
          RequiredError("spec.mutations", "mutations must contain at least one item"));
    }
    for (std::size_t i = 0; i < mutations.size(); ++i) {
      CheckMutation(mutations[i], IndexPath("spec.mutations", i));
    }
  }

  void CheckAuditAnnotations(const std::string& policy) {
    const Json& annotations = ArrayAt(spec_, {"auditAnnotations"});
    if (annotations.size() > kMaxAuditAnnotations) {
      causes_.push_back(InvalidError("spec.auditAnnotations", annotations,
                                     "must not have more than 20 auditAnnotations"));
    }
    std::set<std::string> keys;
    for (std::size_t i = 0; i < annotations.size(); ++i) {
      const std::string at = IndexPath("spec.auditAnnotations", i);
      const std::string key = TextAt(annotations[i], {"key"});
      AddProblems(LabelKeyErrors(policy + "/" + key), at + ".key", policy + "/" + key, causes_);
      const std::string text = TextAt(annotations[i], {"valueExpression"});
      if (IsBlank(text)) {
        causes_.push_back(
            RequiredError(at + ".valueExpression", "valueExpression is not specified"));
      } else if (TrimSpace(text).size() > kMaxValueExpressionBytes) {
        causes_.push_back(
            RequiredError(at + ".valueExpression", "must not exceed 5120 bytes in length"));
      } else {
        Compile(text, at + ".valueExpression", declared_);
      }
      if (!keys.insert(key).second) causes_.push_back(DuplicateError(at + ".key", key));
    }
  }

 private:
  void Compile(const std::string& text, const std::string& path,
               const DeclaredVariables& declared) {
    const auto program = CompileForAdmission(text, declared);
    if (program) return;
    causes_.push_back(InvalidError(path, text, "compilation failed: " + program.error().message));
  }

  void CheckMutation(const Json& mutation, const std::string& at) {
    const std::string type = TextAt(mutation, {"patchType"});
    if (type != "JSONPatch" && type != "ApplyConfiguration") {
      CheckSupported(mutation, "patchType", at, {"ApplyConfiguration", "JSONPatch"}, causes_);
      return;
    }
    const bool is_patch = type == "JSONPatch";
    const std::string field = is_patch ? "jsonPatch" : "applyConfiguration";
    const std::string other = is_patch ? "applyConfiguration" : "jsonPatch";
    const std::string when = " when patchType is " + type;
    if (Member(mutation, other) != nullptr) {
      causes_.push_back(
          InvalidError(at + "." + other, "{" + other + "}", "must not be specified" + when));
    }
    if (Member(mutation, field) == nullptr) {
      causes_.push_back(RequiredError(at + "." + field, "must be specified" + when));
      return;
    }
    const std::string text = TextAt(mutation, {field, "expression"});
    const std::string expression_at = at + "." + field + ".expression";
    if (IsBlank(text)) {
      causes_.push_back(RequiredError(expression_at));
    } else {
      Compile(std::string(TrimSpace(text)), expression_at, declared_);
    }
  }

  void CheckValidation(const Json& validation, const std::string& at) {
    const std::string expression = TextAt(validation, {"expression"});
    if (IsBlank(expression)) {
      causes_.push_back(RequiredError(at + ".expression", "expression is not specified"));
    } else {
      Compile(expression, at + ".expression", declared_);
    }
    const std::string of_message = TextAt(validation, {"messageExpression"});
    if (!of_message.empty() && IsBlank(of_message)) {
      causes_.push_back(
          InvalidError(at + ".messageExpression", of_message, "must be non-empty if specified"));
    } else if (!of_message.empty()) {
      DeclaredVariables declared = declared_;
      declared.authorizer = false;
      Compile(of_message, at + ".messageExpression", declared);
    }
    const std::string message = TextAt(validation, {"message"});
    if (!message.empty() && IsBlank(message)) {
      causes_.push_back(InvalidError(at + ".message", message, "must be non-empty if specified"));
    } else if (TrimSpace(message).find_first_of("\n\r") != std::string_view::npos) {
      causes_.push_back(InvalidError(at + ".message", message, "must not contain line breaks"));
    }
    const std::vector<std::string> reasons{"Forbidden", "Invalid", "RequestEntityTooLarge"};
    const std::string reason = TextAt(validation, {"reason"});
    if (!reason.empty() && std::find(reasons.begin(), reasons.end(), reason) == reasons.end()) {
      causes_.push_back(NotSupportedError(at + ".reason", reason, reasons));
    }
  }

  const Json& spec_;
  std::vector<Cause>& causes_;
  DeclaredVariables declared_;
};

// Requests that only read, and deletions, have no object to change.
void CheckMutatingRules(const Json& resources, const std::string& path,
                        std::vector<Cause>& causes) {
  const std::vector<std::string> known{"*", "CONNECT", "CREATE", "UPDATE"};
  for (const Json& rule : ArrayAt(resources, {"resourceRules"})) {
    for (const Json& operation : ArrayAt(rule, {"operations"})) {
      if (std::find(known.begin(), known.end(), operation) == known.end()) {
        causes.push_back(NotSupportedError(path + ".resourceRules.operations", operation, known));
      }
    }
  }
}

// What both kinds of policies have.
void CheckScope(const Json& spec, std::vector<Cause>& causes) {
  CheckSupported(spec, "failurePolicy", "spec", {"Fail", "Ignore"}, causes);
  const Json* kind = Member(spec, "paramKind");
  if (kind != nullptr && kind->is_object()) CheckParamKind(*kind, "spec.paramKind", causes);
  const Json* constraints = Member(spec, "matchConstraints");
  if (constraints == nullptr || !constraints->is_object()) {
    causes.push_back(RequiredError("spec.matchConstraints"));
  } else {
    CheckMatchResources(*constraints, "spec.matchConstraints", causes);
    if (ArrayAt(*constraints, {"resourceRules"}).empty()) {
      causes.push_back(RequiredError("spec.matchConstraints.resourceRules"));
    }
  }
}

std::vector<Cause> CheckMutatingPolicy(const Json& policy) {
  std::vector<Cause> causes;
  const Json* given = Member(policy, "spec");
  const Json spec = given == nullptr ? Json::object() : *given;
  CheckScope(spec, causes);
  if (const Json* constraints = Member(spec, "matchConstraints")) {
    CheckMutatingRules(*constraints, "spec.matchConstraints", causes);
  }
  ExpressionChecks checks(spec, causes);
  CheckMatchConditions(ArrayAt(spec, {"matchConditions"}), "spec.matchConditions", checks.params(),
                       causes);
  checks.CheckVariables();
  checks.CheckMutations();
  CheckSupported(spec, "reinvocationPolicy", "spec", {"IfNeeded", "Never"}, causes);
  return causes;
}

std::vector<Cause> CheckPolicy(const Json& policy) {
  std::vector<Cause> causes;
  const Json* given = Member(policy, "spec");
  const Json spec = given == nullptr ? Json::object() : *given;
  CheckScope(spec, causes);
  ExpressionChecks checks(spec, causes);
  CheckMatchConditions(ArrayAt(spec, {"matchConditions"}), "spec.matchConditions", checks.params(),
                       causes);
  checks.CheckVariables();
  if (ArrayAt(spec, {"validations"}).empty() && ArrayAt(spec, {"auditAnnotations"}).empty()) {
    for (const char* field : {"spec.validations", "spec.auditAnnotations"}) {
      causes.push_back(
          RequiredError(field, "validations or auditAnnotations must contain at least one item"));
    }
    return causes;
  }
  checks.CheckValidations();
  checks.CheckAuditAnnotations(NameOf(policy));
  return causes;
}

void CheckParamRef(const Json& reference, const std::string& path, std::vector<Cause>& causes) {
  constexpr const char* kExclusive = "name and selector are mutually exclusive";
  const std::string name = TextAt(reference, {"name"});
  const Json* selector = Member(reference, "selector");
  const bool has_selector = selector != nullptr && selector->is_object();
  if (!name.empty()) {
    AddProblems(PathSegmentNameErrors(name), path + ".name", name, causes);
    if (has_selector) causes.push_back(ForbiddenError(path + ".name", kExclusive));
  }
  if (has_selector) {
    CheckLabelSelectorField(reference, "selector", path, causes);
    if (!name.empty()) causes.push_back(ForbiddenError(path + ".selector", kExclusive));
  }
  if (name.empty() && !has_selector) {
    causes.push_back(RequiredError(path, "one of name or selector must be specified"));
  }
  CheckSupported(reference, "parameterNotFoundAction", path, {"Deny", "Allow"}, causes);
}

void CheckActions(const Json& actions, const std::string& path, std::vector<Cause>& causes) {
  const std::vector<std::string> known{"Audit", "Deny", "Warn"};
  std::set<std::string> seen;
  for (std::size_t i = 0; i < actions.size(); ++i) {
    const std::string action = actions[i].is_string() ? actions[i].get<std::string>() : "";
    if (std::find(known.begin(), known.end(), action) == known.end()) {
      causes.push_back(NotSupportedError(IndexPath(path, i), action, known));
    }
    if (!seen.insert(action).second) {
      causes.push_back(DuplicateError(IndexPath(path, i), action));
    }
  }
  if (seen.contains("Deny") && seen.contains("Warn")) {
    causes.push_back(InvalidError(path, actions,
                                  "must not contain both Deny and Warn (repeating the same "
                                  "validation failure information in the API response and headers "
                                  "serves no purpose)"));
  }
  if (seen.empty()) {
    causes.push_back(RequiredError(path, "at least one validation action is required"));
  }
}

std::vector<Cause> CheckTarget(const Json& binding) {
  std::vector<Cause> causes;
  const Json* given = Member(binding, "spec");
  const Json spec = given == nullptr ? Json::object() : *given;
  const std::string policy = TextAt(spec, {"policyName"});
  if (policy.empty()) {
    causes.push_back(RequiredError("spec.policyName"));
  } else {
    AddProblems(Dns1123SubdomainErrors(policy), "spec.policyName", policy, causes);
  }
  const Json* reference = Member(spec, "paramRef");
  if (reference != nullptr && reference->is_object()) {
    CheckParamRef(*reference, "spec.paramRef", causes);
  }
  const Json* resources = Member(spec, "matchResources");
  if (resources != nullptr && resources->is_object()) {
    CheckMatchResources(*resources, "spec.matchResources", causes);
  }
  return causes;
}

std::vector<Cause> CheckBinding(const Json& binding) {
  std::vector<Cause> causes = CheckTarget(binding);
  CheckActions(ArrayAt(binding, {"spec", "validationActions"}), "spec.validationActions", causes);
  return causes;
}

std::vector<Cause> CheckMutatingBinding(const Json& binding) {
  std::vector<Cause> causes = CheckTarget(binding);
  if (const Json* resources = At(binding, {"spec", "matchResources"})) {
    CheckMutatingRules(*resources, "spec.matchResources", causes);
  }
  return causes;
}

// The state that Kubernetes' controller of policies writes; the registry adds warnings about types
// (policy_types.h).
void SetStatus(Json& policy) {
  policy["status"] = {{"observedGeneration", IntAt(policy, {"metadata", "generation"}, 1)},
                      {"typeChecking", Json::object()}};
}

class PolicyStrategy final : public Strategy {
 public:
  void PrepareForCreate(const ResourceInfo& resource, Json& object, WallTime now) const override {
    Strategy::PrepareForCreate(resource, object, now);
    SetStatus(object);
  }
  void PrepareForUpdate(const ResourceInfo& resource, Json& object, const Json& old_object,
                        std::string_view subresource, WallTime now) const override {
    Strategy::PrepareForUpdate(resource, object, old_object, subresource, now);
    if (subresource.empty() && !SameAt(object, old_object, {"metadata", "generation"})) {
      SetStatus(object);
    }
  }
  std::vector<Cause> Validate(const ResourceInfo& resource, const Json& object) const override {
    std::vector<Cause> causes = Strategy::Validate(resource, object);
    AppendCauses(causes, CheckPolicy(object));
    return causes;
  }
  std::vector<Cause> ValidateUpdate(const ResourceInfo& resource, const Json& object,
                                    const Json& old_object,
                                    std::string_view subresource) const override {
    std::vector<Cause> causes = Strategy::ValidateUpdate(resource, object, old_object, subresource);
    if (subresource.empty()) AppendCauses(causes, CheckPolicy(object));
    return causes;
  }
};

// A strategy whose objects have one check.
class CheckedStrategy final : public Strategy {
 public:
  using Check = std::vector<Cause> (*)(const Json& object);
  explicit CheckedStrategy(Check check) : check_(check) {}

  std::vector<Cause> Validate(const ResourceInfo& resource, const Json& object) const override {
    std::vector<Cause> causes = Strategy::Validate(resource, object);
    AppendCauses(causes, check_(object));
    return causes;
  }
  std::vector<Cause> ValidateUpdate(const ResourceInfo& resource, const Json& object,
                                    const Json& old_object,
                                    std::string_view subresource) const override {
    std::vector<Cause> causes = Strategy::ValidateUpdate(resource, object, old_object, subresource);
    AppendCauses(causes, check_(object));
    return causes;
  }

 private:
  const Check check_;
};

}  // namespace

std::unique_ptr<const Strategy> MakeAdmissionPolicyStrategy() {
  return std::make_unique<PolicyStrategy>();
}
std::unique_ptr<const Strategy> MakeAdmissionPolicyBindingStrategy() {
  return std::make_unique<CheckedStrategy>(CheckBinding);
}
std::unique_ptr<const Strategy> MakeMutatingPolicyStrategy() {
  return std::make_unique<CheckedStrategy>(CheckMutatingPolicy);
}
std::unique_ptr<const Strategy> MakeMutatingPolicyBindingStrategy() {
  return std::make_unique<CheckedStrategy>(CheckMutatingBinding);
}

}  // namespace berth::local
