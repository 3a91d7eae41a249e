// local/apiserver/auth/default_roles.h — the cluster roles and bindings that every cluster has, as
// Kubernetes 1.36 has them for the kinds and components of this server.
#pragma once

#include <vector>

#include "local/apiserver/api.h"

namespace berth::local {

// Objects without system metadata. Roles that collect others (aggregationRule) have no rules.
std::vector<Json> DefaultClusterRoles();
std::vector<Json> DefaultClusterRoleBindings();

// Returns `stored` with the rules or subjects that only `wanted` has; unchanged if the annotation
// rbac.authorization.kubernetes.io/autoupdate is "false".
Json WithDefaults(Json stored, const Json& wanted);

}  // namespace berth::local
