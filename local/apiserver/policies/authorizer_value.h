// local/apiserver/policies/authorizer_value.h — the variables `authorizer` and
// `authorizer.requestResource` of expressions in admission: questions about rights.
//
//     authorizer.group('apps').resource('deployments').namespace('n').check('create').allowed()
//     authorizer.path('/metrics').check('get').allowed()
//     authorizer.serviceAccount('n', 'name').group('').resource('pods').check('get').allowed()
//     authorizer.requestResource.check('custom-verb').allowed()
//
// fieldSelector() and labelSelector() change nothing: no role looks at selectors.
//
// Threads: any. Source: k8s.io/apiserver pkg/cel/library (authz).
#pragma once

#include "cel/value.h"
#include "local/apiserver/auth/policy_rule.h"
#include "local/apiserver/auth/role_index.h"
#include "local/apiserver/auth/user.h"

namespace berth::local {

// `roles` must outlive the value.
cel::Value AuthorizerValue(RoleIndex& roles, const UserInfo& user);
// `resource`: the resource of the request; its verb is replaced by the argument of check().
cel::Value RequestResourceValue(RoleIndex& roles, const UserInfo& user, AccessAttributes resource);

}  // namespace berth::local
