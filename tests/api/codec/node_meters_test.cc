// Goal: meters read as they are written; what others have written is bounded.
#include "api/codec/node_meters.h"

#include <gtest/gtest.h>

namespace berth::api {
namespace {

WallTime At(std::int64_t at) { return WallTime(std::chrono::seconds(at)); }

TEST(NodeMetersTest, ReadAsTheyAreWritten) {
  QueueMeters meters{.folded_seconds = 7, .folded_nano = 9};
  meters.meters["a-b"] = {.node = "n",
                          .workload = "w",
                          .charge = "c",
                          .provisioning_class = "p",
                          .from = At(100),
                          .until = At(200),
                          .hourly_nano = 3'500'000'000,
                          .open = true};
  meters.meters["c-d"] = {.node = "m", .workload = "v", .from = At(1), .until = At(1)};
  const auto read = DecodeMeters(EncodeMeters(meters));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, meters);
  EXPECT_EQ(EncodeMeters({}), R"({"meters":{}})");
}

TEST(NodeMetersTest, NegativeAmountsAreReadAsZero) {
  const auto read = DecodeMeters(R"({"foldedSeconds": -1, "foldedNanoUSD": -2, "meters": {"a": {
    "from": "2026-01-01T00:01:00Z", "until": "2026-01-01T00:00:00Z", "nanoUSDPerHour": -3}}})");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->folded_seconds, 0);
  EXPECT_EQ(read->folded_nano, 0);
  EXPECT_EQ(read->meters.at("a").until, read->meters.at("a").from);
  EXPECT_EQ(read->meters.at("a").hourly_nano, 0);
}

TEST(NodeMetersTest, RejectsTextsThatAreNoMeters) {
  EXPECT_FALSE(DecodeMeters("{]"));
  EXPECT_FALSE(DecodeMeters(R"({"meters": {"a": {"from": "yesterday"}}})"));
  EXPECT_FALSE(DecodeMeters("[" + std::string(200'001, ',') + "]"));
}

}  // namespace
}  // namespace berth::api
