#include "local/apiserver/auth/authorizer.h"

#include <algorithm>

#include "local/apiserver/registry/status_errors.h"
#include "local/apiserver/schema/field_error.h"

namespace berth::local {

bool IsHealthPath(std::string_view path) {
  for (const std::string_view root : {"/healthz", "/livez", "/readyz"}) {
    if (path.substr(0, root.size()) != root) continue;
    if (path.size() == root.size() || path[root.size()] == '/') return true;
  }
  return false;
}

bool IsOpenPath(std::string_view path) { return path == "/version" || IsHealthPath(path); }

bool IsMaster(const UserInfo& user) {
  return std::find(user.groups.begin(), user.groups.end(), kMastersGroup) != user.groups.end();
}

Access Authorize(RoleIndex& roles, const UserInfo& user, const AccessAttributes& attributes) {
  if (IsMaster(user)) return {true, "the user is in the group system:masters"};
  if (attributes.resource.empty() && attributes.verb == "get" && IsOpenPath(attributes.path)) {
    return {true, "the path is open to everybody"};
  }
  auto binding = roles.Allows(user, attributes);
  if (!binding) return {};
  return {true, "RBAC: allowed by " + *std::move(binding)};
}

ApiError ForbiddenTo(const UserInfo& user, const AccessAttributes& attributes) {
  std::string why = "User " + GoQuote(user.name) + " cannot " + attributes.verb;
  if (attributes.resource.empty()) {
    why += " path " + GoQuote(attributes.path);
    return {403, "Forbidden", "forbidden: " + why, Json::object()};
  }
  why += " resource " + GoQuote(attributes.FullResource()) + " in API group " +
         GoQuote(attributes.group);
  why += attributes.namespace_name.empty()
             ? std::string(" at the cluster scope")
             : " in the namespace " + GoQuote(attributes.namespace_name);
  return ForbiddenStatus({attributes.group, attributes.version, attributes.resource},
                         attributes.name, why);
}

std::optional<ApiError> CheckAccess(RoleIndex& roles, const UserInfo& user,
                                    const AccessAttributes& attributes) {
  if (Authorize(roles, user, attributes).allowed) return std::nullopt;
  return ForbiddenTo(user, attributes);
}

}  // namespace berth::local
