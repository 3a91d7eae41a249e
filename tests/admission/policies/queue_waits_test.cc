// Goal: the time after which a queue keeps a place follows the waits of that queue. Method: waits
// by hand.
#include "admission/policies/queue_waits.h"

#include <gtest/gtest.h>

namespace berth::admission {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

constexpr std::int64_t kHour = 3600;

TEST(QueueWaitsTest, PlaceIsKeptAfterALongWaitPlusHalfOfAUsualRun) {
  QueueWaits waits;
  for (int i = 0; i < 990; ++i) waits.Add(0, minutes(5), kHour);
  for (int i = 0; i < 20; ++i) waits.Add(0, hours(10), kHour);
  for (int i = 0; i < 200; ++i) waits.Add(1, minutes(1), 60);
  EXPECT_EQ(waits.ReserveAfter(0), hours(10) + minutes(30));
  EXPECT_EQ(waits.ReserveAfter(1), std::chrono::seconds(90));
}

TEST(QueueWaitsTest, FewStartsGiveNoEstimate) {
  QueueWaits waits;
  for (std::size_t i = 1; i < QueueWaits::kFewest; ++i) waits.Add(0, minutes(1), 60);
  EXPECT_EQ(waits.ReserveAfter(0), QueueWaits::kUnknown);
  waits.Add(0, minutes(1), 60);
  EXPECT_EQ(waits.ReserveAfter(0), std::chrono::seconds(90));
}

}  // namespace
}  // namespace berth::admission
