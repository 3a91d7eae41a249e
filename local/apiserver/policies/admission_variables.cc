#include "local/apiserver/policies/admission_variables.h"

#include <utility>

#include "local/apiserver/policies/authorizer_value.h"
#include "local/apiserver/registry/json_access.h"

namespace berth::local {
namespace {

constexpr const char* kAuthorizerName = "authorizer";
constexpr const char* kRequestResourceName = "authorizer.requestResource";

cel::Value ViewOf(const Json* object) {
  return object == nullptr ? cel::Value() : cel::Value::View(*object);
}

// What `namespaceObject` shows of a Namespace.
Json ShownNamespace(const Json& stored) {
  Json shown = stored;
  if (const auto metadata = shown.find("metadata"); metadata != shown.end()) {
    for (const char* hidden : {"managedFields", "ownerReferences", "selfLink"}) {
      metadata->erase(hidden);
    }
  }
  return shown;
}

}  // namespace

Result<cel::Program> CompileForAdmission(const std::string& text,
                                         const DeclaredVariables& declared) {
  cel::Environment environment;
  environment.variables = {"object", "oldObject", "request", "namespaceObject"};
  auto& names = environment.variables;
  if (declared.params) names.emplace_back("params");
  if (declared.authorizer) {
    names.emplace_back(kAuthorizerName);
    names.emplace_back(kRequestResourceName);
  }
  if (declared.patches) environment.objects = {"JSONPatch", "Object", "Object.*"};
  names.insert(names.end(), declared.composed.begin(), declared.composed.end());
  return cel::Compile(text, environment);
}

AdmissionActivation::AdmissionActivation(const AdmissionVariables& variables)
    : variables_(variables) {
  activation_.Set("object", ViewOf(variables.object))
      .Set("oldObject", ViewOf(variables.old_object))
      .Set("params", ViewOf(variables.params));
}

const cel::Activation& AdmissionActivation::For(const cel::Program& program) {
  if (!has_request_ && program.Reads("request")) {
    activation_.Set("request", ViewOf(variables_.request()));
    has_request_ = true;
  }
  if (!has_namespace_ && program.Reads("namespaceObject")) {
    const Json* stored = variables_.namespace_object;
    if (stored != nullptr) namespace_ = ShownNamespace(*stored);
    activation_.Set("namespaceObject", stored == nullptr ? cel::Value() : ViewOf(&namespace_));
    has_namespace_ = true;
  }
  if (variables_.roles == nullptr) return activation_;
  if (!has_authorizer_ && program.Reads(kAuthorizerName)) {
    activation_.Set(kAuthorizerName, AuthorizerValue(*variables_.roles, *variables_.user));
    has_authorizer_ = true;
  }
  if (!has_resource_ && program.Reads(kRequestResourceName)) {
    activation_.Set(kRequestResourceName,
                    RequestResourceValue(*variables_.roles, *variables_.user, variables_.resource));
    has_resource_ = true;
  }
  return activation_;
}

}  // namespace berth::local
