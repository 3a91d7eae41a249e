// Goal: turns come at the rate, and no more than the burst at once. Method: chosen instants.
#include "base/token_bucket.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

using namespace std::chrono_literals;

TEST(TokenBucket, WaitsFollowRateAndBurst) {
  const SteadyTime start{1s};
  TokenBucket bucket({.per_second = 10, .burst = 2}, start);
  EXPECT_EQ(bucket.Wait(start, 2), 0s);
  EXPECT_EQ(bucket.Wait(start, 3), 100ms);
  bucket.Take();
  bucket.Take();
  EXPECT_EQ(bucket.Wait(start), 100ms);
  EXPECT_EQ(bucket.Wait(start + 100ms), 0s);
  bucket.Take();
  bucket.Take();  // ahead of its time
  EXPECT_EQ(bucket.Wait(start + 100ms), 200ms);
  bucket.GiveBack();
  EXPECT_EQ(bucket.Wait(start + 100ms), 100ms);
  bucket.set_per_second(1);
  EXPECT_EQ(bucket.Wait(start + 100ms), 1s);
  EXPECT_EQ(bucket.Wait(start + 1h, 2), 0s);
  EXPECT_EQ(bucket.Wait(start + 1h, 3), 1s) << "never above the burst";
}

}  // namespace
}  // namespace berth
