// tests/market/market.h — months of a market for machines in virtual time: stock that
// comes and goes, evictions, prices; and jobs whose capacity the deciders of provisioning/ ask for.
//
//     jobs arrive ─▶ Decide ─▶ requests ─▶ pools: wait, fail or get nodes ─▶ Decide ─▶ runs, bills
//
// Each pool and each job has random numbers of its own, so that a market is the same whatever asks
// for its machines. Quota never binds. A job that is evicted begins anew.
//
// Units: USD for one node and hour. Threads: one. Errors: none; equal options give equal results.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/provisioning_policy.h"
#include "base/clock.h"

namespace berth::sim {

struct MarketPool {
  std::string flavor;
  std::string provisioning_class;
  double usd_per_hour = 0;
  Duration in_stock{};      // mean of the times with stock, which alternate with those without
  Duration out_of_stock{};  // mean
  std::int64_t nodes = 0;   // while in stock, with those in use
  bool queues = true;       // requests wait for stock, in order; false: they fail without stock
  double evictions_per_hour = 0;  // evictions of one node
};

struct MarketOptions {
  std::uint64_t seed = 1;
  int days = 90;
  double jobs_per_hour = 1;
  std::vector<MarketPool> pools;  // flavors in the order of the queue
  // Each job follows the next one, in turn; empty: Kueue's rules.
  std::vector<api::ProvisioningPolicy> policies;
  // Forecasts leave out waits that did not end in nodes: they come out too short.
  bool forgets_open_waits = false;
};

// A forecast for a request without a limit of waiting, made at its creation.
struct MarketForecast {
  Duration at{};  // from the beginning
  std::int64_t p10_seconds = 0;
  std::int64_t p50_seconds = 0;
  std::int64_t p90_seconds = 0;
  std::int64_t chance_per_mille = 0;  // the chance of nodes within an hour
  std::int64_t wait_seconds = 0;      // what it came to
};

struct MarketResult {
  int jobs = 0;
  int finished = 0;
  int given_up = 0;  // deactivated
  int evictions = 0;
  std::vector<std::int64_t> waits_seconds;  // from the arrival to the first start; sorted
  double usd = 0;                           // includes boots, idle nodes and lost runs
  double useful_node_hours = 0;             // hours of finished runs
  double dearest_usd_per_hour = 0;          // the price of one node that was used
  std::vector<MarketForecast> forecasts;
  int unresolved = 0;  // forecasts whose requests wait at the end
};

MarketResult PlayMarket(const MarketOptions& options);

// The wait that `percent` of the started jobs do not exceed; 0 where none started.
std::int64_t WaitPercentile(const MarketResult& result, int percent);

// How the forecasts of the time after `warm_up` came out, in thousandths.
struct ForecastScore {
  int forecasts = 0;
  std::int64_t covered = 0;     // waits within [p10, p90]
  std::int64_t brier = 0;       // the score of the chance of nodes within an hour: 0 is perfect
  std::int64_t base_brier = 0;  // the score of the base rate, given to every request
  std::int64_t median_width_seconds = 0;  // the median of p90 - p10
  std::int64_t median_wait_seconds = 0;
};
ForecastScore ScoreOf(const std::vector<MarketForecast>& forecasts, Duration warm_up);

// The market of the benchmark: A100 machines as spot, flex start and on demand.
std::vector<MarketPool> UsualPools();

// The market of forecasts: queued machines that are in stock and out of stock in turn; every second
// job waits for an hour at most.
MarketOptions OnAndOffMarket(std::uint64_t seed);

}  // namespace berth::sim
