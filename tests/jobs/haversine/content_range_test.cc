#include "jobs/haversine/content_range.h"

#include <vector>

#include <gtest/gtest.h>

namespace berth::haversine {
namespace {

TEST(ContentRange, OnlyACompleteByteRangeWithinTheSizeIsRead) {
  struct Row {
    std::string_view text;
    std::optional<ContentRange> range;
  };
  const std::vector<Row> rows = {
      {"bytes 0-0/1", ContentRange{0, 0, 1}},
      {"bytes 100-199/146515", ContentRange{100, 199, 146515}},
      {" Bytes 5-9/10 ", ContentRange{5, 9, 10}},
      {"bytes 0-0/*", std::nullopt},
      {"bytes */10", std::nullopt},
      {"bytes 0-10/10", std::nullopt},
      {"bytes 5-4/10", std::nullopt},
      {"bytes -5-9/10", std::nullopt},
      {"bytes 0-+9/10", std::nullopt},
      {"items 0-9/10", std::nullopt},
      {"bytes 0-9", std::nullopt},
      {"bytes 0/9-10", std::nullopt},
      {"bytes 0-99999999999999999999/999999999999999999999", std::nullopt},
      {"bytes ", std::nullopt},
      {"", std::nullopt},
  };
  for (const Row& row : rows) EXPECT_EQ(ParseContentRange(row.text), row.range) << row.text;
}

}  // namespace
}  // namespace berth::haversine
