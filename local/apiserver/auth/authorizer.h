// local/apiserver/auth/authorizer.h — the rights of a user: the rules by which the front serves
// requests, and by which reviews of authorization.k8s.io are answered.
//
// Members of system:masters may do everything. Every client may read version and health. All other
// rights come from the stored roles and bindings.
//
// Threads: any thread. Source: Kubernetes authorization; texts as k8s.io/apiserver writes them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "local/apiserver/api.h"
#include "local/apiserver/auth/role_index.h"

namespace berth::local {

struct Access {
  bool allowed = false;
  std::string reason;  // why the right is granted
};

Access Authorize(RoleIndex& roles, const UserInfo& user, const AccessAttributes& attributes);

bool IsMaster(const UserInfo& user);

// 403: `pods is forbidden: User "u" cannot list resource "pods" in API group "" in the namespace
// "n"`.
ApiError ForbiddenTo(const UserInfo& user, const AccessAttributes& attributes);

// Returns the error 403 if the user lacks the right, else nullopt.
std::optional<ApiError> CheckAccess(RoleIndex& roles, const UserInfo& user,
                                    const AccessAttributes& attributes);

// Whether the path is served without credentials: version and health are.
bool IsOpenPath(std::string_view path);
bool IsHealthPath(std::string_view path);

}  // namespace berth::local
