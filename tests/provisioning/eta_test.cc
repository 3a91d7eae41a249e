// Goal: the expected wait follows the outcomes that are known, those included that did not come to
// an end. Method: memories made by hand, and the quantiles that follow from them.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "provisioning/expected_wait.h"

namespace berth::provisioning {
namespace {

using api::StockResult;
using std::chrono::seconds;

class EtaTest : public ::testing::Test {
 protected:
  static constexpr char kClass[] = "queued-provisioning.gke.io";
  static constexpr std::int64_t kDay = 86400;

  // An outcome of a request that was made `ago` seconds before now.
  void Record(std::int64_t ago, std::int64_t wait, StockResult result, const api::StockKey& key) {
    stock_.Record({.provisioning_class = kClass,
                   .key = key,
                   .outcome = {.id = std::to_string(++last_id_),
                               .asked_at = now_ - seconds(ago),
                               .wait_seconds = wait,
                               .pods = 1,
                               .result = result},
                   .reason = result == StockResult::kGranted ? "" : "ResourcePoolExhausted",
                   .at = now_ - seconds(ago - wait)});
  }
  EtaInput Input(std::int64_t waited = 0) const {
    return {.stock = stock_,
            .provisioning_class = kClass,
            .key = key_,
            .now = now_,
            .waited_seconds = waited};
  }

  const WallTime now_{seconds(1'700'000'000)};
  api::StockKey key_{.flavor = "t4", .shape = "nvidia.com/gpu=1", .size = 1};
  StockMemory stock_;
  int last_id_ = 0;
};

TEST_F(EtaTest, PriorDependsOnTheMachineType) {
  EXPECT_EQ(EtaOf(Input()), (Eta{.p10_seconds = 2, .p50_seconds = 20, .p90_seconds = 165}));
  key_.flavor = "h100-pool";
  EXPECT_EQ(EtaOf(Input()).p50_seconds, 67900);
  key_.flavor = "pool4";
  EXPECT_EQ(EtaOf(Input()).p50_seconds, 180);
}

TEST_F(EtaTest, OutcomesOutweighThePrior) {
  for (std::int64_t i = 1; i <= 40; ++i) Record(kDay, 100 * i, StockResult::kGranted, key_);
  const Eta eta = EtaOf(Input());
  EXPECT_EQ(eta.basis, Eta::Basis::kObserved);
  EXPECT_EQ(eta.outcomes, 40);
  EXPECT_NEAR(static_cast<double>(eta.p50_seconds), 1900, 150);
  EXPECT_NEAR(static_cast<double>(eta.p90_seconds), 3600, 150);
  EXPECT_NEAR(static_cast<double>(EtaOf(Input(2000)).p50_seconds), 1000, 150);
}

TEST_F(EtaTest, TimedOutWaitCountsAsLonger) {
  for (int i = 0; i < 20; ++i) Record(kDay, 30, StockResult::kGranted, key_);
  EXPECT_EQ(EtaOf(Input()).p90_seconds, 30);
  for (int i = 0; i < 30; ++i) Record(kDay, 3600, StockResult::kTimeout, key_);
  EXPECT_EQ(EtaOf(Input()).p10_seconds, 30);
  EXPECT_GT(EtaOf(Input()).p50_seconds, 3600);
}

TEST_F(EtaTest, WaitingRequestsLengthenTheForecast) {
  for (int i = 0; i < 20; ++i) Record(kDay, 30, StockResult::kGranted, key_);
  EtaInput input = Input();
  for (int i = 0; i < 40; ++i) input.waiting.push_back({key_, 50});
  EXPECT_GT(EtaOf(input).p50_seconds, 50);
  EXPECT_EQ(EtaOf(Input()).p50_seconds, 30);
}

TEST_F(EtaTest, OutcomesOfOtherSizesCountUntilOwnOnesAreKnown) {
  api::StockKey larger = key_;
  larger.size = 5;
  for (int i = 0; i < 40; ++i) Record(kDay, 5000, StockResult::kGranted, larger);
  EXPECT_EQ(EtaOf(Input()).p50_seconds, 5000);
  for (int i = 0; i < 40; ++i) Record(kDay, 30, StockResult::kGranted, key_);
  EXPECT_EQ(EtaOf(Input()).p90_seconds, 30);
}

TEST_F(EtaTest, OldOutcomesFade) {
  for (int i = 0; i < 20; ++i) Record(60 * kDay, 9000, StockResult::kGranted, key_);
  for (int i = 0; i < 20; ++i) Record(kDay, 30, StockResult::kGranted, key_);
  EXPECT_EQ(EtaOf(Input()).p50_seconds, 30);
  EXPECT_LT(EtaOf(Input()).p90_seconds, 9000);
}

// Requests that came while others waited took long, the others took no time.
TEST_F(EtaTest, OtherWaitingRequestsRaiseTheForecast) {
  for (std::int64_t day = 1; day <= 12; ++day) {
    Record(day * kDay, 7200, StockResult::kGranted, key_);
    for (std::int64_t i = 1; i <= 3; ++i) {
      Record(day * kDay - 600 * i, 7200 - 600 * i, StockResult::kGranted, key_);
      Record(day * kDay - 20000 * i, 25, StockResult::kGranted, key_);
    }
  }
  EtaInput input = Input();
  EXPECT_EQ(EtaOf(input).p50_seconds, 25);
  input.waiting = {{key_, 900}};
  EXPECT_GE(EtaOf(input).p50_seconds, 5400);
}

TEST_F(EtaTest, ReturnsTheChanceOfAStartWithinATime) {
  for (std::int64_t i = 1; i <= 100; ++i) Record(kDay, 100 * i, StockResult::kGranted, key_);
  const WaitForecast forecast(Input());
  EXPECT_EQ(forecast.ChanceWithin(0), 0);
  EXPECT_NEAR(static_cast<double>(forecast.ChanceWithin(5000)), 515, 20);
  EXPECT_GT(forecast.ChanceWithin(kMostEtaSeconds), 990);
}

}  // namespace
}  // namespace berth::provisioning
