// Goal: forecasts of waits are as right as they say, and a policy starts more jobs for less money
// than one class alone. Method: markets of 90 days in virtual time, several seeds.
#include "tests/market/market.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::sim {
namespace {

using api::ProvisioningPolicy;
using std::chrono::hours;

ForecastScore ScoreOfSeeds(bool forgets_open_waits) {
  std::vector<MarketForecast> forecasts;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    MarketOptions options = OnAndOffMarket(seed);
    options.forgets_open_waits = forgets_open_waits;
    const MarketResult result = PlayMarket(options);
    forecasts.insert(forecasts.end(), result.forecasts.begin(), result.forecasts.end());
  }
  return ScoreOf(forecasts, hours(7 * 24));
}

TEST(MarketTest, EightOfTenWaitsAreWithinTheForecast) {
  const ForecastScore score = ScoreOfSeeds(/*forgets_open_waits=*/false);
  EXPECT_GT(score.forecasts, 3000);
  EXPECT_GE(score.covered, 750);
  EXPECT_LE(score.covered, 850);
  EXPECT_LT(score.brier, score.base_brier);
}

TEST(MarketTest, ForecastsThatForgetOpenWaitsAreTooShort) {
  EXPECT_LT(ScoreOfSeeds(/*forgets_open_waits=*/true).covered, 750);
}

MarketResult Chain(std::uint64_t seed, const char* limit) {
  MarketOptions options{.seed = seed, .pools = UsualPools()};
  ProvisioningPolicy policy;
  policy.on_revoked = ProvisioningPolicy::OnRevoked::kRequeue;
  for (const MarketPool& pool : options.pools) {
    policy.steps.push_back(
        {.name = pool.flavor,
         .flavor = pool.flavor,
         .provisioning_class_name = pool.provisioning_class,
         .price_per_hour = *api::Quantity::Parse(std::to_string(pool.usd_per_hour))});
  }
  policy.steps[0].max_attempts = 3;
  policy.steps[1].max_wait_seconds = 3600;
  if (limit != nullptr) policy.max_price_per_hour = *api::Quantity::Parse(limit);
  options.policies = {policy};
  return PlayMarket(options);
}

TEST(MarketTest, ChainStartsSoonerThanQueuedAndCostsLessThanOnDemand) {
  const MarketResult chain = Chain(1, nullptr);
  MarketOptions queue{.seed = 1, .pools = {UsualPools()[1]}};
  MarketOptions demand{.seed = 1, .pools = {UsualPools()[2]}};
  const MarketResult queued = PlayMarket(queue);
  const MarketResult demanded = PlayMarket(demand);
  EXPECT_EQ(chain.jobs, queued.jobs);
  EXPECT_EQ(chain.given_up, 0);
  EXPECT_LT(WaitPercentile(chain, 90), WaitPercentile(queued, 90));
  EXPECT_LT(chain.usd / chain.useful_node_hours, demanded.usd / demanded.useful_node_hours);
  EXPECT_GT(chain.dearest_usd_per_hour, 3.5);
}

TEST(MarketTest, NoNodeCostsMoreThanTheLimit) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const MarketResult capped = Chain(seed, "2");
    EXPECT_LE(capped.dearest_usd_per_hour, 2);
    EXPECT_EQ(capped.given_up, 0);
  }
}

TEST(MarketTest, EqualOptionsGiveEqualResults) {
  const MarketResult one = Chain(2, nullptr);
  const MarketResult two = Chain(2, nullptr);
  EXPECT_EQ(one.waits_seconds, two.waits_seconds);
  EXPECT_EQ(one.usd, two.usd);
}

}  // namespace
}  // namespace berth::sim
