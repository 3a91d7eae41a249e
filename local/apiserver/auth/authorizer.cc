#include "local/apiserver/auth/authorizer.h"

#include <algorithm>

namespace berth::local {
namespace {

bool IsIn(const UserInfo& user, std::string_view group) {
  return std::find(user.groups.begin(), user.groups.end(), group) != user.groups.end();
}

}  // namespace

bool IsHealthPath(std::string_view path) {
  for (const std::string_view root : {"/healthz", "/livez", "/readyz"}) {
    if (path.substr(0, root.size()) != root) continue;
    if (path.size() == root.size() || path[root.size()] == '/') return true;
  }
  return false;
}

bool IsOpenPath(std::string_view path) { return path == "/version" || IsHealthPath(path); }

Access Authorize(const UserInfo& user, const AccessAttributes& attributes) {
  if (attributes.resource.empty() && IsOpenPath(attributes.path)) {
    return {true, "the path is open to everybody"};
  }
  if (!attributes.resource.empty() && attributes.verb == "impersonate") {
    return {false, "impersonation is not honoured by this server"};
  }
  if (IsIn(user, "system:authenticated") || IsIn(user, "system:masters")) {
    return {true, "this server has no roles: every authenticated user may do everything"};
  }
  return {false, "user \"" + user.name +
                     "\" is not in the group system:authenticated, in which every user is whom "
                     "this server knows"};
}

}  // namespace berth::local
