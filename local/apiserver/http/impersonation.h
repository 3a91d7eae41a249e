// local/apiserver/http/impersonation.h — requests that act as another user: `kubectl --as`.
//
// Threads: any thread. Source: Kubernetes user impersonation.
#pragma once

#include "local/apiserver/api.h"
#include "local/apiserver/auth/role_index.h"
#include "net/http.h"

namespace berth::local {

// The user that the Impersonate- headers name, if `user` may impersonate this user, each group, the
// uid and each extra value; Returns `user` if there are no such headers. Errors: 403; 400 (headers
// without Impersonate-User, or with a bad escape).
ApiResult<UserInfo> ActingUser(const net::Headers& headers, RoleIndex& roles, const UserInfo& user);

}  // namespace berth::local
