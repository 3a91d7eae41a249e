// Goal: the taxi files of 2015 and similar files are read correctly, and unreadable rows are
// counted, with line and column.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobs/haversine/csv_line.h"
#include "tests/jobs/haversine/memory_reader.h"

namespace berth::haversine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kTaxiHeader =
    "VendorID,tpep_pickup_datetime,tpep_dropoff_datetime,passenger_count,trip_distance,"
    "pickup_longitude,pickup_latitude,RateCodeID,store_and_fwd_flag,dropoff_longitude,"
    "dropoff_latitude,payment_type,fare_amount,extra,mta_tax,tip_amount,tolls_amount,"
    "improvement_surcharge,total_amount";

TEST(ParseCoordinate, ReadsDecimalNumbersAndRefusesOtherText) {
  struct Row {
    std::string_view text;
    std::optional<double> value;
  };
  const std::vector<Row> rows = {
      {"-73.993896484375", -73.993896484375},
      {"40.750110626220703", 40.750110626220703},  // more digits than the short way takes
      {"0", 0.0},
      {"-0", -0.0},
      {".5", 0.5},
      {"5.", 5.0},
      {"+7.25", 7.25},
      {" 40.1 ", 40.1},
      {"1e1", 10.0},
      {"000000000000000001", 1.0},
      {"0.1", 0.1},
      {"", std::nullopt},
      {"-", std::nullopt},
      {".", std::nullopt},
      {"1.2.3", std::nullopt},
      {"40,1", std::nullopt},
      {"4 0", std::nullopt},
      {"0x10", std::nullopt},
      {"--1", std::nullopt},
      {"+-1", std::nullopt},
      {"NULL", std::nullopt},
  };
  for (const Row& row : rows) EXPECT_EQ(ParseCoordinate(row.text), row.value) << row.text;
}

TEST(ParseCoordinate, AgreesWithTheLibraryOnEveryShortDecimal) {
  for (int i = 0; i < 20000; ++i) {
    const double value = std::fmod(i * 0.000731 * i, 180.0) - 90.0;
    std::array<char, 40> text{};
    std::snprintf(text.data(), text.size(), "%.*f", i % 13, value);
    EXPECT_EQ(ParseCoordinate(text.data()), std::strtod(text.data(), nullptr)) << text.data();
  }
}

TEST(CsvLayout, FindsColumnsByName) {
  const auto layout = CsvLayout::FromHeader(kTaxiHeader);
  ASSERT_TRUE(layout);
  const auto trip = layout->Parse(
      "2,2015-01-15 19:05:39,2015-01-15 19:23:42,1,1.59,-73.99,40.75,1,N,-73.97,40.76,1,12,1,0.5,"
      "3.25,0,0.3,17.05");
  ASSERT_TRUE(trip);
  EXPECT_THAT(*trip, ElementsAre(-73.99, 40.75, -73.97, 40.76));
}

TEST(CsvLayout, ReadsColumnNamesInAnyOrderCaseQuotesAndBlanks) {
  const auto layout = CsvLayout::FromHeader(
      "\xEF\xBB\xBF\"Dropoff_Latitude\", note ,PICKUP_LATITUDE,dropoff_longitude,"
      "pickup_longitude");
  ASSERT_TRUE(layout);
  const auto trip = layout->Parse(R"(4,"a, b",2,"3",1)");
  ASSERT_TRUE(trip);
  EXPECT_THAT(*trip, ElementsAre(1, 2, 3, 4));
}

TEST(CsvLayout, NamesTheColumnsThatAreMissing) {
  const auto layout = CsvLayout::FromHeader("VendorID,pickup_longitude,PULocationID");
  ASSERT_FALSE(layout);
  EXPECT_EQ(layout.error().message,
            "the header has no column pickup_latitude, dropoff_longitude, dropoff_latitude; it "
            "has: vendorid, pickup_longitude, pulocationid");
}

TEST(CsvLayout, NamesTheColumnOfABadValue) {
  const auto layout =
      CsvLayout::FromHeader("pickup_longitude,pickup_latitude,dropoff_longitude,dropoff_latitude");
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->Parse("1,2,abc,4").error().message,
            "column dropoff_longitude: \"abc\" is not a number");
  EXPECT_EQ(layout->Parse("1,2").error().message,
            "column dropoff_longitude: missing: the line has 2 columns, the header 4");
  EXPECT_EQ(layout->Parse("1,,3,4").error().message,
            "column pickup_latitude: \"\" is not a number");
  EXPECT_LT(layout->Parse("1," + std::string(5000, 'x')).error().message.size(), 120U);
}

Result<std::unique_ptr<Source>> Open(std::string text, std::size_t piece_bytes = 1 << 20) {
  return OpenCsv(std::make_unique<MemoryReader>(std::move(text)), {2, piece_bytes});
}

TEST(CsvSource, CountsZeroImpossibleAndUnreadableTrips) {
  const auto source =
      Open(CsvOf({"-74,40,-73,41", "0,0,-73,41", "-74,40,-73,0", "-74,95,-73,41", "-181,40,-73,41",
                  "nan,40,-73,41", "x,40,-73,41", "-74,40", "-74,40,-73,42"}));
  ASSERT_TRUE(source);
  const AllTrips all = ReadAll(**source);
  EXPECT_EQ(all.counts, (RowCounts{9, 2, 2, 3, 2}));
  EXPECT_THAT(all.trips, ElementsAre(std::array<double, 4>{-74, 40, -73, 41},
                                     std::array<double, 4>{-74, 40, -73, 42}));
  ASSERT_EQ(all.bad.size(), 1U);
  EXPECT_EQ(all.bad[0].line, 7U);
  EXPECT_EQ(all.bad[0].what, "column pickup_longitude: \"x\" is not a number");
}

TEST(CsvSource, ReadsEveryLineEndAndSkipsBlankLines) {
  const std::string header = CsvOf({});
  for (const std::string& body :
       {std::string("1,2,3,4\n5,6,7,8\n"), std::string("1,2,3,4\n5,6,7,8"),
        std::string("1,2,3,4\r\n5,6,7,8\r\n\r\n"), std::string("\n1,2,3,4\n\n5,6,7,8\n\n")}) {
    const auto source = Open(header + body);
    ASSERT_TRUE(source);
    const AllTrips all = ReadAll(**source);
    EXPECT_THAT(all.trips,
                ElementsAre(std::array<double, 4>{1, 2, 3, 4}, std::array<double, 4>{5, 6, 7, 8}))
        << body;
    EXPECT_EQ(all.counts.read, 2U);
  }
}

// Wherever the pieces are cut, the trips are the same.
TEST(CsvSource, PieceSizeDoesNotChangeTheTrips) {
  std::vector<std::string> lines;
  for (int i = 1; i < 60; ++i) {
    lines.push_back(std::to_string(-i) + ".5," + std::to_string(i) + "," +
                    (i % 7 == 0 ? "bad" : std::to_string(i)) + ",-" + std::to_string(i % 9));
  }
  const std::string text = CsvOf(lines);
  const auto whole = Open(text);
  ASSERT_TRUE(whole);
  const AllTrips expected = ReadAll(**whole);
  ASSERT_GT(expected.trips.size(), 40U);
  for (std::size_t piece = 1; piece < text.size() + 2; piece += 1 + piece / 8) {
    const auto source = Open(text, piece);
    ASSERT_TRUE(source) << piece;
    const AllTrips all = ReadAll(**source);
    EXPECT_EQ(all.trips, expected.trips) << piece;
    EXPECT_EQ(all.counts, expected.counts) << piece;
  }
}

TEST(CsvSource, AFileOfAHeaderAloneHasNoRows) {
  for (const std::string& text : {CsvOf({}), CsvOf({}).substr(0, CsvOf({}).size() - 1)}) {
    const auto source = Open(text);
    ASSERT_TRUE(source);
    EXPECT_EQ(ReadAll(**source).counts, RowCounts());
  }
}

TEST(CsvSource, ErrorsNameTheInput) {
  const auto no_header = Open("1,2,3,4\n5,6,7,8\n");
  ASSERT_FALSE(no_header);
  EXPECT_THAT(no_header.error().message, HasSubstr("memory: the header has no column pickup_"));

  const auto no_lines = Open(std::string(3 << 20, 'x'));
  ASSERT_FALSE(no_lines);
  EXPECT_EQ(no_lines.error().message, "memory: a line of more than 1 MiB: this is no CSV file");

  const std::string text = CsvOf({"1,2,3,4", "5,6,7,8"});
  const auto source = OpenCsv(std::make_unique<MemoryReader>(text, text.size() - 1), {1, 80});
  ASSERT_TRUE(source);
  Batch batch;
  Result<bool> taken = true;
  while (taken && *taken) taken = (*source)->Take(batch);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().message, "memory: bad byte");
  // And it stays so, rather than going on behind the hole.
  EXPECT_FALSE((*source)->Take(batch));
}

}  // namespace
}  // namespace berth::haversine
