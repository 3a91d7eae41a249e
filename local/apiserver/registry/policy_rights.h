// local/apiserver/registry/policy_rights.h — admission policies whose expressions read params:
// nobody may write a policy that reads objects which its writer may not read.
//
// Threads: any.
// Errors: 422 Invalid, which names spec.paramKind or spec.paramRef.
// Source: k8s.io/kubernetes pkg/registry/admissionregistration (authz.go), restated.
#pragma once

#include <optional>

#include "local/apiserver/api.h"
#include "local/apiserver/auth/role_index.h"
#include "local/apiserver/registry/request.h"
#include "local/apiserver/store/store.h"

namespace berth::local {

// `object`: a policy or a policy binding. `old_object`: its stored state; null: the object is new.
// Unchanged params are not checked again.
std::optional<ApiError> CheckParamsRights(const Store& store, RoleIndex& roles,
                                          const RequestContext& context, const Json& object,
                                          const Json* old_object);

}  // namespace berth::local
