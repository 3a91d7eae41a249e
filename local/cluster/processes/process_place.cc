#include "local/cluster/processes/process_place.h"

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

namespace berth::local::cluster {
namespace {

// A file of /proc, or −1 if it stands for the same as this process' own.
Result<int> OpenUnlessOwn(pid_t process, const std::string& name, int flags) {
  const std::string path = "/proc/" + std::to_string(process) + "/" + name;
  struct stat theirs {};
  struct stat own {};
  if (stat(path.c_str(), &theirs) != 0 || stat(("/proc/self/" + name).c_str(), &own) != 0) {
    return Error{ErrorCode::kNotFound,
                 "the container has ended: " + path + ": " + std::strerror(errno)};
  }
  if (theirs.st_ino == own.st_ino && theirs.st_dev == own.st_dev) return -1;
  const int file = open(path.c_str(), flags | O_CLOEXEC);
  if (file < 0) return Error{ErrorCode::kUnavailable, path + ": " + std::strerror(errno)};
  return file;
}

}  // namespace

Result<ProcessPlace> ProcessPlace::Of(pid_t process) {
  ProcessPlace place;
  BERTH_TRY(place.user_, OpenUnlessOwn(process, "ns/user", O_RDONLY));
  BERTH_TRY(place.mount_, OpenUnlessOwn(process, "ns/mnt", O_RDONLY));
  BERTH_TRY(place.host_name_, OpenUnlessOwn(process, "ns/uts", O_RDONLY));
  if (place.mount_ >= 0) {
    BERTH_TRY(place.root_, OpenUnlessOwn(process, "root", O_PATH | O_DIRECTORY));
  }
  return place;
}

bool ProcessPlace::Enter() const {
  if (user_ >= 0 && setns(user_, CLONE_NEWUSER) != 0) return false;
  if (host_name_ >= 0 && setns(host_name_, CLONE_NEWUTS) != 0) return false;
  if (mount_ >= 0 && setns(mount_, CLONE_NEWNS) != 0) return false;
  return root_ < 0 || (fchdir(root_) == 0 && chroot(".") == 0);
}

ProcessPlace::ProcessPlace(ProcessPlace&& other) noexcept { *this = std::move(other); }

ProcessPlace& ProcessPlace::operator=(ProcessPlace&& other) noexcept {
  std::swap(user_, other.user_);
  std::swap(mount_, other.mount_);
  std::swap(host_name_, other.host_name_);
  std::swap(root_, other.root_);
  return *this;
}

ProcessPlace::~ProcessPlace() {
  for (const int file : {user_, mount_, host_name_, root_}) {
    if (file >= 0) close(file);
  }
}

}  // namespace berth::local::cluster
