// Goal: generated trips, raw trips and their files have the same trips.
#include "jobs/haversine/source.h"

#include <cstring>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobs/haversine/write_trips.h"
#include "tests/jobs/haversine/memory_reader.h"

namespace berth::haversine {
namespace {

using testing::HasSubstr;

TEST(Generator, EqualSeedsGiveEqualTrips) {
  const auto trips = ReadAll(*MakeGenerator(1000, 3)).trips;
  EXPECT_EQ(trips, ReadAll(*MakeGenerator(1000, 3)).trips);
  EXPECT_NE(trips, ReadAll(*MakeGenerator(1000, 4)).trips);
  // A longer run begins with the shorter one.
  const auto longer = ReadAll(*MakeGenerator(kBatchRows + 10, 3));
  EXPECT_EQ(longer.batches, 2U);
  EXPECT_EQ(longer.trips.size(), kBatchRows + 10);
  EXPECT_TRUE(std::equal(trips.begin(), trips.end(), longer.trips.begin()));
}

TEST(Generator, TripsAreAroundManhattan) {
  for (const auto& trip : ReadAll(*MakeGenerator(5000, 1)).trips) {
    EXPECT_EQ(JudgeTrip(trip), Verdict::kGood);
    EXPECT_NEAR(trip[0], -73.9, 0.3);
    EXPECT_NEAR(trip[3], 40.7, 0.35);
  }
}

TEST(JudgeTrip, ATripIsGoodZeroOrImpossibleByItsCoordinates) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  struct Row {
    std::array<double, 4> trip;
    Verdict verdict;
  };
  const std::vector<Row> rows = {
      {{1, 2, 3, 4}, Verdict::kGood},
      {{-180, -90, 180, 90}, Verdict::kGood},
      {{0, 2, 3, 4}, Verdict::kZero},
      {{1, 2, 3, -0.0}, Verdict::kZero},
      {{0, 200, 3, 4}, Verdict::kZero},
      {{200, 2, 3, 0}, Verdict::kZero},
      {{180.0001, 2, 3, 4}, Verdict::kImpossible},
      {{1, 2, 3, 90.0001}, Verdict::kImpossible},
      {{1, kNan, 3, 4}, Verdict::kImpossible},
      {{1, 2, -kInfinite, 4}, Verdict::kImpossible},
  };
  for (const Row& row : rows) EXPECT_EQ(JudgeTrip(row.trip), row.verdict) << row.trip[0];
}

TEST(Files, CsvAndRawHoldTheGeneratedTripsExactly) {
  const ScratchFolder folder;
  constexpr std::uint64_t kRows = 20'000;
  const auto expected = ReadAll(*MakeGenerator(kRows, 9)).trips;

  const auto csv_rows = WriteCsv(*MakeGenerator(kRows, 9), folder.Path("trips.csv"), nullptr);
  ASSERT_TRUE(csv_rows);
  EXPECT_EQ(*csv_rows, kRows);
  auto csv = OpenCsv(*OpenFile(folder.Path("trips.csv")), {});
  ASSERT_TRUE(csv);
  EXPECT_EQ(ReadAll(**csv).trips, expected);

  ASSERT_TRUE(WriteRaw(*MakeGenerator(kRows, 9), kRows, folder.Path("trips.raw"), nullptr));
  EXPECT_EQ(ReadFile(folder.Path("trips.raw")).size(), kRows * 32);
  auto raw = OpenRaw(*OpenFile(folder.Path("trips.raw")));
  ASSERT_TRUE(raw);
  EXPECT_EQ(ReadAll(**raw).trips, expected);
}

TEST(Raw, ColumnsFollowOneAnotherAndBadRowsAreDropped) {
  const std::vector<double> columns = {1, 5, 0, 2, 6, 2, 3, 7, 3, 4, 99, 4};  // three rows
  std::string bytes(columns.size() * sizeof(double), '\0');
  std::memcpy(bytes.data(), columns.data(), bytes.size());
  const auto source = OpenRaw(std::make_unique<MemoryReader>(bytes));
  ASSERT_TRUE(source);
  const AllTrips all = ReadAll(**source);
  EXPECT_THAT(all.trips, testing::ElementsAre(std::array<double, 4>{1, 2, 3, 4}));
  EXPECT_EQ(all.counts, (RowCounts{3, 1, 1, 1, 0}));
}

TEST(Raw, RefusesALengthThatIsNoTable) {
  const auto source = OpenRaw(std::make_unique<MemoryReader>(std::string(33, 'x')));
  ASSERT_FALSE(source);
  EXPECT_EQ(source.error().message,
            "memory: 33 bytes are not four float64 columns of one length (32 bytes a row)");
}

TEST(OpenFile, ReportsMissingEmptyAndIrregularFiles) {
  const ScratchFolder folder;
  const auto missing = OpenFile(folder.Path("missing.csv"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(missing.error().message, folder.Path("missing.csv") + ": No such file or directory");

  WriteFile(folder.Path("empty.csv"), "");
  EXPECT_THAT(OpenFile(folder.Path("empty.csv")).error().message, HasSubstr("is empty"));
  EXPECT_THAT(OpenFile(folder.path()).error().message, HasSubstr("is not a regular file"));
}

TEST(OpenFile, ReportsAFileThatBecameShorter) {
  const ScratchFolder folder;
  WriteFile(folder.Path("a"), "0123456789");
  const auto reader = OpenFile(folder.Path("a"));
  ASSERT_TRUE(reader);
  WriteFile(folder.Path("a"), "01234");
  std::array<char, 10> bytes{};
  const Status status = (*reader)->ReadAt(0, bytes);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("ends at byte 5, before the 10 bytes"));
}

}  // namespace
}  // namespace berth::haversine
