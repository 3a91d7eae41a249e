// local/apiserver/policies/policy_params.h — the objects that a policy of admission is evaluated
// with.
//
//     paramKind of the policy + paramRef of the binding ──▶ objects, one evaluation each
//
// Threads: any; blocks only while a conversion webhook is called.
// Source: admissionregistration.k8s.io/v1; k8s.io/apiserver pkg/admission/plugin/policy, restated.
#pragma once

#include <string>
#include <vector>

#include "local/apiserver/api.h"
#include "local/apiserver/registry/crd_conversion.h"
#include "local/apiserver/registry/request.h"
#include "local/apiserver/store/store.h"

namespace berth::local {

struct PolicyParams {
  std::vector<Json> objects;
  bool none = false;       // one evaluation, with `params` null
  std::string error;       // not empty: the policy cannot be evaluated
  bool of_policy = false;  // `error` is about the policy, not about the binding
};

PolicyParams ParamsOfBinding(const Store& store, const Converter& converter,
                             const RequestContext& context, const Json& policy,
                             const Json& binding);

// Whether the resource is a kind of policy or of policy binding. Their objects are never checked,
// so that a policy cannot block its removal.
bool IsAdmissionPolicy(const ResourceInfo& resource);

}  // namespace berth::local
