// Goal: times survive the trip to text and back, and spans read as kubectl prints them.
#include "base/rfc3339.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(Rfc3339, RoundTripsMicroseconds) {
  const auto time = ParseTime("2026-11-20T07:03:22.589518Z");
  ASSERT_TRUE(time.has_value());
  EXPECT_EQ(FormatMicroTime(*time), "2026-11-20T07:03:22.589518Z");
  EXPECT_EQ(FormatTime(*time), "2026-11-20T07:03:22Z");
}

TEST(Rfc3339, AppliesOffset) {
  EXPECT_EQ(ParseTime("2026-11-20T09:03:22+02:00"), ParseTime("2026-11-20T07:03:22Z"));
}

TEST(Rfc3339, CutsNanoseconds) {
  EXPECT_EQ(ParseTime("2026-11-20T07:03:22.123456789Z"), ParseTime("2026-11-20T07:03:22.123456Z"));
}

TEST(Rfc3339, RejectsInvalidTimes) {
  for (const char* text :
       {"", "2026-11-20", "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z", "2026-11-20T24:00:00Z",
        "2026-11-20T07:03:22", "2026-11-20T07:03:22.Z", "2026-11-20T07:03:22Zx"}) {
    EXPECT_FALSE(ParseTime(text).has_value()) << text;
  }
}

TEST(HumanDuration, IsFormattedAsByKubectl) {
  EXPECT_EQ(HumanDuration(seconds(45)), "45s");
  EXPECT_EQ(HumanDuration(seconds(119)), "119s");
  EXPECT_EQ(HumanDuration(minutes(5) + seconds(3)), "5m3s");
  EXPECT_EQ(HumanDuration(minutes(12)), "12m");
  EXPECT_EQ(HumanDuration(hours(3) + minutes(5)), "3h5m");
  EXPECT_EQ(HumanDuration(hours(30)), "30h");
  EXPECT_EQ(HumanDuration(hours(72)), "3d");
  EXPECT_EQ(HumanDuration(hours(24 * 30)), "30d");
  EXPECT_EQ(HumanDuration(seconds(-60)), "<invalid>");
}

}  // namespace
}  // namespace berth
