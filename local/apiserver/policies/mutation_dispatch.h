// local/apiserver/policies/mutation_dispatch.h — performs the stored MutatingAdmissionPolicies.
//
//   request ─▶ policies whose matchConstraints match ─▶ their bindings whose matchResources match
//           ─▶ the objects of paramRef ─▶ matchConditions ─▶ mutations, in order:
//              JSONPatch (a list of operations) │ ApplyConfiguration (merged as in server-side
//              apply) ─▶ the object is normalised
//
// Policies with reinvocationPolicy IfNeeded are performed once more if others have changed the
// object since. A mutation does not own the fields that it sets. Requests that write nothing (exec,
// attach) are not mutated.
//
// Threads: any; blocks only while a conversion webhook is called.
// Errors: Invalid, in Kubernetes' words, unless the policy ignores failures.
// Source: admissionregistration.k8s.io/v1; k8s.io/apiserver pkg/admission/plugin/policy/mutating,
// restated.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "local/apiserver/api.h"
#include "local/apiserver/auth/role_index.h"
#include "local/apiserver/policies/kept_programs.h"
#include "local/apiserver/policies/policy_program.h"
#include "local/apiserver/registry/crd_conversion.h"
#include "local/apiserver/store/store.h"

namespace berth::local {

struct AdmissionRequest;

inline constexpr char kMutatingPolicies[] =
    "mutatingadmissionpolicies.admissionregistration.k8s.io";
inline constexpr char kMutatingPolicyBindings[] =
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io";

class MutationDispatch {
 public:
  // Normalises an object that has been changed: types, defaults, pruning.
  using Accept = std::function<std::optional<ApiError>(Json& object)>;

  MutationDispatch(const Store& store, const Converter& converter, RoleIndex& roles)
      : store_(store), converter_(converter), roles_(roles) {}

  // A policy, one of its bindings and one object of params.
  struct Invocation {
    std::shared_ptr<const PolicyProgram> program;
    std::string policy;
    std::string binding;
    std::string version;  // the object's version in the rule that matched
    std::optional<Json> params;
    bool ignores_failures = false;
    bool may_repeat = false;
    Json seen;  // the object after the invocation, if it may be repeated
  };

  // Performs all policies that match; returns the invocations for Repeat.
  ApiResult<std::vector<Invocation>> Mutate(const AdmissionRequest& request, Json& object,
                                            const Accept& accept) const;
  // Performs those invocations again that may be repeated and whose object has changed since.
  std::optional<ApiError> Repeat(const AdmissionRequest& request,
                                 const std::vector<Invocation>& invocations, Json& object,
                                 const Accept& accept) const;

 private:
  ApiResult<std::vector<Invocation>> Find(const AdmissionRequest& request,
                                          const Json& object) const;
  std::optional<ApiError> Perform(const AdmissionRequest& request, const Invocation& invocation,
                                  Json& object, const Accept& accept) const;
  Status PerformIn(const AdmissionRequest& request, const Invocation& invocation, Json& object,
                   bool& is_changed) const;

  const Store& store_;
  const Converter& converter_;
  RoleIndex& roles_;
  mutable KeptPrograms programs_;
};

}  // namespace berth::local
