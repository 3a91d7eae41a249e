// Goal: the estimator counts what has not ended as "longer than that". Method: samples by hand.
#include "provisioning/survival.h"

#include <gtest/gtest.h>

namespace berth::provisioning {
namespace {

TEST(SurvivalTest, WithoutSamplesIsOne) { EXPECT_EQ(Survival().Of(100), 1); }

TEST(SurvivalTest, FallsAtEachEnd) {
  const Survival survival({{30, 1, true}, {10, 1, true}, {20, 1, true}, {20, 1, true}});
  EXPECT_DOUBLE_EQ(survival.Of(9), 1);
  EXPECT_DOUBLE_EQ(survival.Of(10), 0.75);
  EXPECT_DOUBLE_EQ(survival.Of(20), 0.25);
  EXPECT_DOUBLE_EQ(survival.Of(30), 0);
  EXPECT_EQ(survival.Quantile(0, 0.5, 1000), 20);
}

TEST(SurvivalTest, UnfinishedSpanCountsUntilItsCutoff) {
  const Survival survival({{10, 1, false}, {10, 1, true}, {20, 1, true}, {20, 1, true}});
  EXPECT_DOUBLE_EQ(survival.Of(10), 0.75);  // if spans are equal, the end goes first
  EXPECT_DOUBLE_EQ(survival.Of(20), 0);
}

TEST(SurvivalTest, RemainingTimeIsConditionalOnTheElapsedTime) {
  const Survival survival({{10, 1, true}, {20, 1, true}, {30, 1, true}});
  EXPECT_DOUBLE_EQ(survival.LeftAfter(10, 10), 0.5);
  EXPECT_EQ(survival.Quantile(10, 0.5, 1000), 10);
  EXPECT_EQ(survival.Quantile(50, 0.5, 1000), 35);  // longer than all: goes on as long as it lasted
  EXPECT_EQ(survival.Quantile(50, 0.5, 20), 20);
}

}  // namespace
}  // namespace berth::provisioning
