// Goal: the annotation berth.dev/eta is read as it is written, and whatever another client writes
// there is either refused or a forecast whose quantiles are in order.
#include "api/codec/start_forecast.h"

#include <gtest/gtest.h>

namespace berth::api {
namespace {

WallTime AtSecond(std::int64_t seconds) { return WallTime(std::chrono::seconds(seconds)); }

TEST(StartForecastTest, IsReadAsItIsWritten) {
  for (const StartForecast& forecast :
       {StartForecast{
            .at = AtSecond(100), .p10 = AtSecond(100), .p50 = AtSecond(160), .p90 = AtSecond(4000)},
        StartForecast{.at = AtSecond(100),
        .p10 = AtSecond(100),
        .p50 = AtSecond(160),
        .p90 = AtSecond(4000),
        .drawn = DrawnForecast{AtSecond(100), AtSecond(110), AtSecond(120)},
        .in_time = 85,
        .first = JudgedForecast{.at = AtSecond(50), .p10 = AtSecond(90)},
        .later = JudgedForecast{.at = AtSecond(80), .p10 = AtSecond(95)}},
        StartForecast{.at = AtSecond(100), .p10 = AtSecond(200)},
        StartForecast{.at = AtSecond(100)}}) {
    const auto read = DecodeStartForecast(EncodeStartForecast(forecast));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, forecast);
  }
  EXPECT_EQ(EncodeStartForecast({.at = AtSecond(0), .p10 = AtSecond(60)}),
            R"({"at":"1970-01-01T00:00:00Z","p10":"1970-01-01T00:01:00Z","p50":null,"p90":null})");
}

TEST(StartForecastTest, QuantilesAreInOrder) {
  const auto read = DecodeStartForecast(
      R"({"at":"1970-01-01T00:00:00Z","p10":"1970-01-01T00:02:00Z","p50":"1970-01-01T00:01:00Z"})");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->p50, AtSecond(120));
  const auto later = DecodeStartForecast(R"({"at":null,"p50":"1970-01-01T00:01:00Z"})");
  ASSERT_TRUE(later) << later.error().message;
  EXPECT_EQ(later->p50, std::nullopt);
}

TEST(StartForecastTest, IncompleteOrUnorderedDrawsAreLeftOut) {
  for (const char* drawn : {"{}", R"({"p10":"1970-01-01T00:01:00Z"})",
                            R"({"p10":"1970-01-01T00:01:00Z","p50":"1970-01-01T00:00:00Z",)"
                            R"("p90":"1970-01-01T00:01:00Z"})"}) {
    const auto read =
        DecodeStartForecast(R"({"at":"1970-01-01T00:00:00Z","drawn":)" + std::string(drawn) + "}");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->drawn, std::nullopt) << drawn;
  }
}

TEST(StartForecastTest, RejectsTextsThatAreNoForecast) {
  for (const char* text : {"", "soon", "[]", R"({"at":7})", R"({"p50":"tomorrow"})"}) {
    EXPECT_FALSE(DecodeStartForecast(text)) << text;
  }
}

}  // namespace
}  // namespace berth::api
