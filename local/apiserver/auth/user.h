// local/apiserver/auth/user.h — the user of a request.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace berth::local {

inline constexpr char kMastersGroup[] = "system:masters";  // may do everything
inline constexpr char kAuthenticatedGroup[] = "system:authenticated";
inline constexpr char kUnauthenticatedGroup[] = "system:unauthenticated";
inline constexpr char kAnonymousUser[] = "system:anonymous";

struct UserInfo {
  std::string name = "system:apiserver";
  std::string uid;
  std::vector<std::string> groups = {kMastersGroup, kAuthenticatedGroup};
  std::map<std::string, std::vector<std::string>> extra;
};

}  // namespace berth::local
