// local/apiserver/auth/authorizer.h — what a user may do: the rules by which the front serves
// requests, as the reviews of authorization.k8s.io tell them.
//
// Every user whom the Authenticator knows is in the group system:authenticated and may do
// everything but act as another user. Everybody may read the version and the health.
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
  std::string resource;  // plural; empty: `path` is asked for
  std::string path;
};

struct Access {
  bool allowed = false;
  std::string reason;
};

Access Authorize(const UserInfo& user, const AccessAttributes& attributes);

// Paths that are served without credentials: the version and the health.
bool IsOpenPath(std::string_view path);
bool IsHealthPath(std::string_view path);

}  // namespace berth::local
