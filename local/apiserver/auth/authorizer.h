// local/apiserver/auth/authorizer.h — the rights of a user: the rules by which the front serves
// requests, and by which reviews of authorization.k8s.io are answered.
//
// Every authenticated user is in the group system:authenticated and may do everything except act as
// another user. Every client may read version and health.
//
// Threads: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "local/apiserver/registry/request.h"

namespace berth::local {

struct AccessAttributes {
  std::string verb;
  std::string group;     // of a resource
  std::string resource;  // plural; empty: the question is about `path`
  std::string path;
};

struct Access {
  bool allowed = false;
  std::string reason;
};

Access Authorize(const UserInfo& user, const AccessAttributes& attributes);

// Whether the path is served without credentials: version and health are.
bool IsOpenPath(std::string_view path);
bool IsHealthPath(std::string_view path);

}  // namespace berth::local
