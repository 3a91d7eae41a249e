#include "tests/market/market.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "tests/market/market_play.h"

namespace berth::sim {
namespace {

using std::chrono::hours;

std::int64_t MedianOf(std::vector<std::int64_t> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

MarketResult PlayMarket(const MarketOptions& options) { return MarketPlay(options).Run(); }

std::int64_t WaitPercentile(const MarketResult& result, int percent) {
  const std::vector<std::int64_t>& waits = result.waits_seconds;
  if (waits.empty()) return 0;
  return waits[(waits.size() - 1) * static_cast<std::size_t>(percent) / 100];
}

ForecastScore ScoreOf(const std::vector<MarketForecast>& forecasts, Duration warm_up) {
  ForecastScore score;
  std::vector<std::int64_t> widths;
  std::vector<std::int64_t> waits;
  double covered = 0;
  double in_time = 0;
  double squares = 0;
  for (const MarketForecast& each : forecasts) {
    if (each.at < warm_up) continue;
    ++score.forecasts;
    const bool inside =
        each.p10_seconds <= each.wait_seconds && each.wait_seconds <= each.p90_seconds;
    covered += inside ? 1 : 0;
    const double came = each.wait_seconds <= 3600 ? 1 : 0;
    const double chance = static_cast<double>(each.chance_per_mille) / 1000;
    in_time += came;
    squares += (chance - came) * (chance - came);
    widths.push_back(each.p90_seconds - each.p10_seconds);
    waits.push_back(each.wait_seconds);
  }
  if (score.forecasts == 0) return score;
  const double count = score.forecasts;
  const double rate = in_time / count;
  score.covered = std::lround(1000 * covered / count);
  score.brier = std::lround(1000 * squares / count);
  score.base_brier = std::lround(1000 * rate * (1 - rate));
  score.median_width_seconds = MedianOf(std::move(widths));
  score.median_wait_seconds = MedianOf(std::move(waits));
  return score;
}

std::vector<MarketPool> UsualPools() {
  constexpr char kQueued[] = "queued-provisioning.gke.io";
  constexpr char kAtOnce[] = "best-effort-atomic-scale-up.autoscaling.x-k8s.io";
  return {{.flavor = "spot",
           .provisioning_class = kAtOnce,
           .usd_per_hour = 1.1,
           .in_stock = hours(6),
           .out_of_stock = hours(4),
           .nodes = 12,
           .queues = false,
           .evictions_per_hour = 0.1},
          {.flavor = "flex",
           .provisioning_class = kQueued,
           .usd_per_hour = 1.85,
           .in_stock = hours(8),
           .out_of_stock = hours(6),
           .nodes = 12},
          {.flavor = "demand",
           .provisioning_class = kAtOnce,
           .usd_per_hour = 3.67,
           .in_stock = hours(48),
           .out_of_stock = hours(2),
           .nodes = 12,
           .queues = false}};
}

MarketOptions OnAndOffMarket(std::uint64_t seed) {
  MarketOptions options{.seed = seed};
  options.pools = {UsualPools()[1]};
  options.pools[0].nodes = 40;
  api::ProvisioningPolicy patient;
  patient.stock = api::ProvisioningPolicy::Stock::kIgnored;
  api::ProvisioningPolicy impatient = patient;
  impatient.max_wait_seconds = 3600;
  impatient.when_exhausted = api::ProvisioningPolicy::WhenExhausted::kReject;
  options.policies = {patient, impatient};
  return options;
}

}  // namespace berth::sim
