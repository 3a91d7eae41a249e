#include "local/cluster/processes/program_user.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

namespace berth::local::cluster {
namespace {

constexpr int kMostGroups = 1024;

Error Refuse(const std::string& name, const std::string& why) {
  return {ErrorCode::kInvalid, "--job-user " + name + ": " + why};
}

bool LetsThrough(const struct stat& info, const ProcessUser& user) {
  if (info.st_uid == user.user) return (info.st_mode & S_IXUSR) != 0;
  const bool is_in_group =
      info.st_gid == user.group ||
      std::find(user.groups.begin(), user.groups.end(), info.st_gid) != user.groups.end();
  return (info.st_mode & (is_in_group ? S_IXGRP : S_IXOTH)) != 0;
}

}  // namespace

Result<ProcessUser> FindJobUser(const std::string& name) {
  passwd entry{};
  passwd* found = nullptr;
  std::array<char, 16384> buffer{};
  getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
  if (found == nullptr) return Refuse(name, "there is no such user");
  if (entry.pw_uid == 0) return Refuse(name, "a user other than root is needed");
  if (geteuid() != 0) {
    return Refuse(name, "only root can run programs as another user (sudo berth up …)");
  }
  ProcessUser user{.name = name, .user = entry.pw_uid, .group = entry.pw_gid};
  int count = kMostGroups;
  user.groups.resize(kMostGroups);
  if (getgrouplist(name.c_str(), entry.pw_gid, user.groups.data(), &count) < 0) {
    return Refuse(name, "is in more than " + std::to_string(kMostGroups) + " groups");
  }
  user.groups.resize(static_cast<std::size_t>(count));
  return user;
}

Status CheckReachable(const std::string& folder, const ProcessUser& user) {
  std::filesystem::path path = folder;
  while (path.has_relative_path()) {
    path = path.parent_path();
    struct stat info {};
    if (stat(path.c_str(), &info) == 0 && !LetsThrough(info, user)) {
      return Refuse(user.name, "the programs' folder " + folder + " is out of its reach, for " +
                                   path.string() +
                                   " is closed to it; choose another place: --data-dir");
    }
  }
  return OkStatus();
}

}  // namespace berth::local::cluster
