// local/apiserver/http/share.h — the rule by which users share what one server has few of: threads,
// streams, calls of the proxy.
//
// A user may hold at most three times as much as is free. One user alone gets three quarters, a
// second one three quarters of the rest, and so on: no user leaves the others nothing. The rule
// needs neither a list of users nor configured shares (Choudhury and Hahne, Dynamic queue length
// thresholds, 1998).
#pragma once

#include <cstddef>

namespace berth::local {

// Whether a user with `held` of `most` may take one more while all users together hold `used`.
constexpr bool HasShare(std::size_t held, std::size_t used, std::size_t most) {
  return used < most && held < 3 * (most - used);
}

}  // namespace berth::local
