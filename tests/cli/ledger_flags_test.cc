// Goal: --ledger and its limits, and --eta-interval, become options, or errors that name the flag.
#include "cli/ledger_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/eta_flags.h"

namespace berth::cli {
namespace {

TEST(LedgerFlags, FileIsTheFlagsFileTheDefaultFileOrNone) {
  const auto usual = LedgerOptionsOf({}, "/data/ledger.db");
  ASSERT_TRUE(usual);
  EXPECT_EQ((*usual)->path, "/data/ledger.db");
  EXPECT_EQ((*usual)->limits.bytes, 256 * 1024 * 1024);
  EXPECT_FALSE(*LedgerOptionsOf({}, ""));
  EXPECT_FALSE(*LedgerOptionsOf({.file = ""}, "/data/ledger.db"));
  EXPECT_EQ((*LedgerOptionsOf({.file = "/x.db", .days = 7}, ""))->limits.age, std::chrono::days(7));
}

TEST(EtaFlags, AGivenIntervalOverridesTheDefaultAndZeroDisables) {
  using std::chrono_literals::operator""min;
  EXPECT_EQ(*EtaIntervalOf(std::nullopt, 1min), Duration(1min));
  EXPECT_EQ(*EtaIntervalOf(std::nullopt, std::nullopt), std::nullopt);
  EXPECT_EQ(*EtaIntervalOf("0", 1min), std::nullopt);
  EXPECT_EQ(*EtaIntervalOf("5m", 1min), Duration(5min));
  for (const char* wrong : {"", "soon", "10ms", "-1m"}) {
    EXPECT_THAT(EtaIntervalOf(wrong, 1min).error().message, ::testing::HasSubstr("--eta-interval"));
  }
}

TEST(LedgerFlags, LimitsOutOfRangeAreRefused) {
  for (const LedgerFlags& flags : {LedgerFlags{.days = 0}, LedgerFlags{.days = 99'999}}) {
    EXPECT_THAT(LedgerOptionsOf(flags, "x").error().message,
                ::testing::HasSubstr("--ledger-maxage"));
  }
  EXPECT_THAT(LedgerOptionsOf({.megabytes = 0}, "x").error().message,
              ::testing::HasSubstr("--ledger-maxsize"));
}

}  // namespace
}  // namespace berth::cli
