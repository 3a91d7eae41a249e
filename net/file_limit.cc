#include "net/file_limit.h"

#include <algorithm>
#include <string>

#include <sys/resource.h>

namespace berth::net {

// Child programs inherit the limit. Programs that use select(2) cannot handle descriptors above
// 1024, and open fewer than that.
Status RaiseFileLimit() {
  constexpr rlim_t kFiles = 65'536;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= kFiles) return OkStatus();
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = std::min(limit.rlim_max, kFiles);
  if (::setrlimit(RLIMIT_NOFILE, &limit) == 0) return OkStatus();
  return Error{ErrorCode::kUnavailable,
               "the limit on open files stays at " + std::to_string(before)};
}

}  // namespace berth::net
