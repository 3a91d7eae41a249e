// Goal: the quantile is the least value that the share of the values do not exceed. Method: a table
// of shares, and the definition for all small numbers of values.
#include "base/nearest_rank.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(NearestRankTest, GivesTheValueAtTheShareInAnyOrder) {
  const struct {
    std::vector<int> values;
    double share;
    std::optional<int> quantile;
  } rows[] = {{{}, 0.5, std::nullopt}, {{7}, 0, 7},
              {{7}, 0.99, 7},          {{7}, 1, 7},
              {{2, 1}, 0.5, 1},        {{3, 1, 2}, 0.5, 2},
              {{4, 1, 3, 2}, 0, 1},    {{4, 1, 3, 2}, 0.25, 1},
              {{4, 1, 3, 2}, 0.26, 2}, {{4, 1, 3, 2}, 0.5, 2},
              {{4, 1, 3, 2}, 0.9, 4},  {{5, 5, 1, 5}, 0.5, 5}};
  for (const auto& row : rows) {
    EXPECT_EQ(QuantileOf(row.values, row.share), row.quantile)
        << row.values.size() << " values, share " << row.share;
  }
  using std::chrono::seconds;
  EXPECT_EQ(QuantileOf(std::vector{seconds(9), seconds(-3)}, 0.5), seconds(-3));
}

TEST(NearestRankTest, IsTheLeastValueThatTheShareDoesNotExceed) {
  for (std::size_t count = 1; count <= 200; ++count) {
    std::vector<std::size_t> values(count);
    std::iota(values.rbegin(), values.rend(), std::size_t{1});
    for (const std::size_t percent : {10U, 50U, 90U, 99U, 100U}) {
      // The rank from 1, without fractions.
      const std::size_t rank = std::max<std::size_t>((count * percent + 99) / 100, 1);
      const double share = static_cast<double>(percent) / 100;
      EXPECT_EQ(NearestRank(share, count), rank - 1) << count << " values, " << percent << " %";
      EXPECT_EQ(QuantileOf(values, share), rank) << count << " values, " << percent << " %";
    }
  }
}

}  // namespace
}  // namespace berth
