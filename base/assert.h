// base/assert.h — bugs abort, in release too.
//
// For what can only be false through a bug of ours. What a user, a file or a peer can cause is an
// operating error and goes through Result (base/result.h).
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
