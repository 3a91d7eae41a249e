#include "base/token_bucket.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace berth {
namespace {

constexpr double kMicrosPerSecond = 1e6;

}  // namespace

Duration TokenBucket::Wait(SteadyTime now, double turns) {
  if (now > refilled_at_) {
    const double seconds = static_cast<double>((now - refilled_at_).count()) / kMicrosPerSecond;
    tokens_ = std::min<double>(limit_.burst, tokens_ + seconds * limit_.per_second);
    refilled_at_ = now;
  }
  if (tokens_ >= turns) return Duration::zero();
  const double seconds = (turns - tokens_) / limit_.per_second;
  constexpr double kLongest = 1e9;  // a rate so low that no time is long enough
  return Duration(
      static_cast<std::int64_t>(std::ceil(std::min(seconds, kLongest) * kMicrosPerSecond)));
}

}  // namespace berth
