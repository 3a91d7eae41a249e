// Goal: the time after which a queue keeps a place follows the waits of that queue. Method: waits
// by hand.
#include "admission/policies/queue_waits.h"

#include <gtest/gtest.h>

namespace berth::admission {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

constexpr std::int64_t kHour = 3600;

TEST(QueueWaitsTest, PlaceIsKeptAfterALongWaitPlusAUsualRun) {
  QueueWaits waits;
  for (int i = 0; i < 990; ++i) waits.Add(0, minutes(5), kHour);
  for (int i = 0; i < 20; ++i) waits.Add(0, hours(10), kHour);
  for (int i = 0; i < 200; ++i) waits.Add(1, minutes(1), 60);
  EXPECT_EQ(waits.ReserveAfter(0), hours(11));
  EXPECT_EQ(waits.ReserveAfter(1), minutes(2));
}

TEST(QueueWaitsTest, FewStartsGiveNoEstimate) {
  QueueWaits waits;
  for (std::size_t i = 1; i < QueueWaits::kFewest; ++i) waits.Add(0, minutes(1), 60);
  EXPECT_EQ(waits.ReserveAfter(0), QueueWaits::kUnknown);
  waits.Add(0, minutes(1), 60);
  EXPECT_EQ(waits.ReserveAfter(0), minutes(2));
}

}  // namespace
}  // namespace berth::admission
