// local/apiserver/policies/admission_variables.h — the variables of expressions in admission: of
// matchConditions, and of policies.
//
//   object, oldObject   the objects of the request, in the version that the rule names, or null
//   request             the request of an AdmissionReview, without the objects
//   namespaceObject     the namespace of the object, or null
//   params              an object of the policy's paramKind, or null
//   authorizer, authorizer.requestResource   authorizer_value.h
//   variables.NAME      of a policy
//
// Threads: none; one thread at a time. Source: k8s.io/apiserver pkg/admission/plugin/cel.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cel/program.h"
#include "local/apiserver/api.h"
#include "local/apiserver/auth/policy_rule.h"
#include "local/apiserver/auth/role_index.h"
#include "local/apiserver/auth/user.h"

namespace berth::local {

struct AdmissionVariables {
  const Json* object = nullptr;
  const Json* old_object = nullptr;
  // Called where an expression reads `request`; the value is valid during the evaluation.
  std::function<const Json*()> request;
  const Json* params = nullptr;
  const Json* namespace_object = nullptr;
  RoleIndex* roles = nullptr;  // null: `authorizer` has no value
  const UserInfo* user = nullptr;
  AccessAttributes resource = {};  // the access attributes of the request; the verb is not used
};

// The variables that an expression may read in addition to the first four.
struct DeclaredVariables {
  bool params = false;
  bool authorizer = false;
  std::vector<std::string> composed;  // "variables.NAME"
  bool patches = false;               // constructs JSONPatch, Object and Object.spec, …
};
Result<cel::Program> CompileForAdmission(const std::string& text,
                                         const DeclaredVariables& declared);

class AdmissionActivation {
 public:
  // `variables` must outlive the activation.
  explicit AdmissionActivation(const AdmissionVariables& variables);

  // Sets the variables that the program reads and that earlier programs did not read.
  const cel::Activation& For(const cel::Program& program);
  void Set(const std::string& name, cel::Value value) { activation_.Set(name, std::move(value)); }

 private:
  const AdmissionVariables& variables_;
  cel::Activation activation_;
  bool has_request_ = false;
  bool has_namespace_ = false;
  bool has_authorizer_ = false;
  bool has_resource_ = false;
  Json namespace_;  // only the fields that expressions may read
};

}  // namespace berth::local
