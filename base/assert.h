// base/assert.h — assertions that abort the process, in release builds too.
//
// For conditions that only a bug of Berth can make false. A failure that a user, a file or a peer
// can cause is an operating error and goes through Result (base/result.h).
#pragma once

#include <cstdio>
#include <cstdlib>

namespace berth::internal {

[[noreturn]] inline void AssertFailed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: bug: %s does not hold\n", file, line, condition);
  std::abort();
}

}  // namespace berth::internal

#define BERTH_ASSERT(condition)                                                        \
  do {                                                                                 \
    if (!(condition)) ::berth::internal::AssertFailed(#condition, __FILE__, __LINE__); \
  } while (false)
