// Goal: durations are read as Go reads them.
#include "base/go_duration.h"

#include <chrono>
#include <optional>

#include <gtest/gtest.h>

namespace berth {
namespace {

using namespace std::chrono_literals;

TEST(GoDuration, ReadsNumbersWithUnits) {
  EXPECT_EQ(ParseGoDuration("1h30m0s"), 90min);
  EXPECT_EQ(ParseGoDuration("300ms"), 300ms);
  EXPECT_EQ(ParseGoDuration("0"), 0s);
  EXPECT_EQ(ParseGoDuration("1.5h"), 90min);
  EXPECT_EQ(ParseGoDuration(".5s"), 500ms);
  EXPECT_EQ(ParseGoDuration("2.s"), 2s);
  EXPECT_EQ(ParseGoDuration("1500us"), 1500us);
  EXPECT_EQ(ParseGoDuration("2562047h"), 2562047h) << "the most that Go's durations hold";
}

TEST(GoDuration, RefusesWhatGoRefuses) {
  for (const char* bad : {"", "5", "m", "-5m", "5x", "5m ", ".s", "1.5.5h", "99999999999h",
                          "2562048h", "2562047.9h", "153722868m", "2562047h2562047h"}) {
    EXPECT_EQ(ParseGoDuration(bad), std::nullopt) << bad;
  }
}

}  // namespace
}  // namespace berth
