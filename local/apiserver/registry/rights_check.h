// local/apiserver/registry/rights_check.h — the rights that the writer of an object needs beside
// the right to the write itself. Nobody may grant rights that they lack, or read objects through a
// policy that they may not read.
//
// Threads: any.
// Errors: 403 Forbidden, 404 for a binding to a role that does not exist, 422 for policies.
// Source: Kubernetes "Using RBAC Authorization", privilege escalation prevention, restated.
#pragma once

#include <optional>
#include <vector>

#include "local/apiserver/api.h"
#include "local/apiserver/auth/policy_rule.h"
#include "local/apiserver/auth/role_index.h"
#include "local/apiserver/registry/request.h"
#include "local/apiserver/store/store.h"

namespace berth::local {

class RightsCheck {
 public:
  RightsCheck(const Store& store, RoleIndex& roles) : store_(store), roles_(roles) {}

  // Checks the right to create, which an update or an apply needs if its object does not exist.
  std::optional<ApiError> CheckMayCreate(const RequestContext& context) const;
  // The refusal if the user writes a role or binding that grants more than the user has, or a
  // policy that reads more. `old_object`: null: the object is new.
  std::optional<ApiError> CheckEscalation(const RequestContext& context, const Json& object,
                                          const Json* old_object) const;

 private:
  std::optional<ApiError> CheckRole(const RequestContext& context, const Json& role,
                                    const Json* old_role) const;
  std::optional<ApiError> CheckBinding(const RequestContext& context, const Json& binding) const;
  std::optional<ApiError> CheckGrants(const RequestContext& context,
                                      const std::vector<PolicyRule>& rules) const;

  const Store& store_;
  RoleIndex& roles_;
};

}  // namespace berth::local
