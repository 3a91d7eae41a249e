// local/apiserver/policies/policy_dispatch.h — enforces the stored ValidatingAdmissionPolicies.
//
//   request ─▶ policies whose matchConstraints match ─▶ their bindings whose matchResources match
//           ─▶ the objects of paramRef ─▶ PolicyProgram ─▶ validationActions: Deny │ Warn │ Audit
//
// The first refusal is the answer. Policies and bindings themselves are never checked, so that a
// policy cannot block its removal.
//
// Threads: any; blocks only while a conversion webhook is called.
// Errors: Invalid, Forbidden, Unauthorized or RequestEntityTooLarge, in Kubernetes' words.
// Source: admissionregistration.k8s.io/v1; k8s.io/apiserver pkg/admission/plugin/policy, restated.
#pragma once

#include <optional>
#include <string>

#include "local/apiserver/api.h"
#include "local/apiserver/auth/role_index.h"
#include "local/apiserver/policies/kept_programs.h"
#include "local/apiserver/policies/policy_program.h"
#include "local/apiserver/registry/crd_conversion.h"
#include "local/apiserver/store/store.h"

namespace berth::local {

struct AdmissionRequest;

inline constexpr char kValidatingPolicies[] =
    "validatingadmissionpolicies.admissionregistration.k8s.io";
inline constexpr char kValidatingPolicyBindings[] =
    "validatingadmissionpolicybindings.admissionregistration.k8s.io";

class PolicyDispatch {
 public:
  PolicyDispatch(const Store& store, const Converter& converter, RoleIndex& roles)
      : store_(store), converter_(converter), roles_(roles) {}

  // `object`: null on delete. Warnings and audit annotations go to the request's context.
  std::optional<ApiError> Validate(const AdmissionRequest& request, const Json* object) const;

 private:
  friend class PolicyRound;

  const Store& store_;
  const Converter& converter_;
  RoleIndex& roles_;
  mutable KeptPrograms programs_;
};

}  // namespace berth::local
