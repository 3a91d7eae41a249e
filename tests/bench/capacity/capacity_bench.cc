// capacity_bench [SEEDS] — policies in a market of 90 days: starts, waits and cost with and without
// a policy in one table; the coverage of forecasts; and the cost of deciding about 1,000 requests
// in flight. SEEDS markets (default 5), added up.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "api/labels.h"
#include "api/reasons.h"
#include "provisioning/decide.h"
#include "tests/bench/support/process.h"
#include "tests/market/market.h"

namespace berth::bench {
namespace {

using api::ProvisioningPolicy;
using sim::MarketOptions;
using sim::MarketPool;
using sim::MarketResult;
using std::chrono::hours;
using std::chrono::seconds;

ProvisioningPolicy ChainOf(const std::vector<MarketPool>& pools) {
  ProvisioningPolicy policy;
  policy.on_revoked = ProvisioningPolicy::OnRevoked::kRequeue;
  for (const MarketPool& pool : pools) {
    policy.steps.push_back(
        {.name = pool.flavor,
         .flavor = pool.flavor,
         .provisioning_class_name = pool.provisioning_class,
         .price_per_hour = *api::Quantity::Parse(std::to_string(pool.usd_per_hour))});
  }
  policy.steps[0].max_attempts = 3;
  policy.steps[1].max_wait_seconds = 3600;
  return policy;
}

struct Way {
  const char* name;
  std::vector<MarketPool> pools;
  std::vector<ProvisioningPolicy> policies;
};

std::vector<Way> Ways() {
  const std::vector<MarketPool> pools = sim::UsualPools();
  ProvisioningPolicy capped = ChainOf(pools);
  capped.max_price_per_hour = *api::Quantity::Parse("2");
  return {{"spot alone", {pools[0]}, {}},
          {"queued provisioning alone", {pools[1]}, {}},
          {"on demand alone", {pools[2]}, {}},
          {"policy: spot, queued, on demand", pools, {ChainOf(pools)}},
          {"the same, at most 2 USD an hour", pools, {capped}}};
}

void Add(MarketResult part, MarketResult& sum) {
  sum.jobs += part.jobs;
  sum.finished += part.finished;
  sum.given_up += part.given_up;
  sum.evictions += part.evictions;
  sum.usd += part.usd;
  sum.useful_node_hours += part.useful_node_hours;
  sum.dearest_usd_per_hour = std::max(sum.dearest_usd_per_hour, part.dearest_usd_per_hour);
  sum.waits_seconds.insert(sum.waits_seconds.end(), part.waits_seconds.begin(),
                           part.waits_seconds.end());
}

void PrintMarket(int seeds) {
  std::printf("%d markets of 90 days, a job an hour, A100 machines\n", seeds);
  std::printf("%-32s %6s %8s %8s %8s %9s %9s %9s %9s %9s\n", "", "jobs", "started", "finished",
              "given up", "wait p50", "wait p90", "evictions", "USD", "USD/use h");
  for (const Way& way : Ways()) {
    MarketResult sum;
    for (int seed = 1; seed <= seeds; ++seed) {
      Add(sim::PlayMarket({.seed = static_cast<std::uint64_t>(seed),
                           .pools = way.pools,
                           .policies = way.policies}),
          sum);
    }
    std::sort(sum.waits_seconds.begin(), sum.waits_seconds.end());
    std::printf("%-32s %6d %8zu %8d %8d %7.1f m %7.1f m %9d %9.0f %9.2f\n", way.name, sum.jobs,
                sum.waits_seconds.size(), sum.finished, sum.given_up,
                static_cast<double>(sim::WaitPercentile(sum, 50)) / 60,
                static_cast<double>(sim::WaitPercentile(sum, 90)) / 60, sum.evictions, sum.usd,
                sum.usd / std::max(sum.useful_node_hours, 1.0));
  }
}

void PrintForecasts(int seeds) {
  for (const bool forgets : {false, true}) {
    std::vector<sim::MarketForecast> all;
    std::string by_seed;
    for (int seed = 1; seed <= seeds; ++seed) {
      MarketOptions options = sim::OnAndOffMarket(static_cast<std::uint64_t>(seed));
      options.forgets_open_waits = forgets;
      const MarketResult result = sim::PlayMarket(options);
      const sim::ForecastScore score = sim::ScoreOf(result.forecasts, hours(7 * 24));
      by_seed += (by_seed.empty() ? "" : ", ") + std::to_string(score.covered / 10) + " %";
      all.insert(all.end(), result.forecasts.begin(), result.forecasts.end());
    }
    const sim::ForecastScore score = sim::ScoreOf(all, hours(7 * 24));
    std::printf(
        "\nforecasts%s: %d, within [p10, p90] %.1f %% (%s), Brier score of a start within an hour "
        "0.%03lld, of the base rate 0.%03lld, median width %.1f m, median wait %.1f m\n",
        forgets ? ", waits without an end left out" : "", score.forecasts,
        static_cast<double>(score.covered) / 10, by_seed.c_str(),
        static_cast<long long>(score.brier), static_cast<long long>(score.base_brier),
        static_cast<double>(score.median_width_seconds) / 60,
        static_cast<double>(score.median_wait_seconds) / 60);
  }
}

// ---- The cost of a pass over requests that wait.

struct InFlight {
  api::Workload workload;
  provisioning::Situation situation;
};

class Pass {
 public:
  // `gain`: minEtaGainSeconds of the steps but the last; 0: none.
  Pass(int count, std::int64_t gain) {
    const std::vector<MarketPool> pools = sim::UsualPools();
    policy_ = ChainOf(pools);
    policy_.max_price_per_hour = *api::Quantity::Parse("10");
    config_.managed_resources = {"nvidia.com/gpu"};
    config_.provisioning_class_name = pools[1].provisioning_class;
    for (const MarketPool& pool : pools) flavors_[pool.flavor].meta.name = pool.flavor;
    policy_.steps[0].min_eta_gain_seconds = gain;
    policy_.steps[1].min_eta_gain_seconds = gain;
    FillStock();
    all_.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) Add(i);
  }
  // Decides about each; returns the number of decisions that had something to do.
  int Decide() {
    int busy = 0;
    for (const InFlight& each : all_) {
      const auto decision = provisioning::Decide(each.situation, {}, now_);
      const bool rests = decision.lessons.empty() && !decision.memory && decision.checks.empty() &&
                         decision.actions.empty();
      busy += rests ? 0 : 1;
    }
    return busy;
  }

 private:
  // Makes the memory of a class as full as it becomes: 64 keys of 64 outcomes, those of the steps'
  // machines among them.
  void FillStock() {
    api::Workload like;
    Ask(like);
    for (int i = 0; i < 64 * 64; ++i) {
      std::string flavor = "flavor-" + std::to_string(i % 64);
      std::string asked = config_.provisioning_class_name;
      if (i % 64 < static_cast<int>(policy_.steps.size())) {
        const api::ProvisioningStep& step = policy_.steps[static_cast<std::size_t>(i % 64)];
        flavor = step.flavor;
        asked = step.provisioning_class_name;
      }
      stock_.Record(
          {.provisioning_class = asked,
           .key = *provisioning::StockKeyOf(like, config_, flavor, {flavor}),
           .outcome = {.id = std::to_string(i), .asked_at = now_ - seconds(i), .wait_seconds = 60},
           .at = now_});
    }
  }
  // The pods of each Workload.
  static void Ask(api::Workload& workload) {
    api::PodSet pods;
    pods.count = 4;
    api::Container container;
    container.requests = {{"cpu", 1000}, {"nvidia.com/gpu", 1}};
    pods.pod_template.spec.containers = {container};
    workload.spec.pod_sets = {pods};
  }
  void Add(int number) {
    InFlight& each = all_.emplace_back();
    const std::string name = "job-" + std::to_string(number);
    each.workload.meta = {.namespace_name = "default", .name = name, .uid = "uid-of-" + name};
    each.workload.spec.maximum_execution_time_seconds = 3600;
    Ask(each.workload);
    each.workload.status.admission =
        api::Admission{.cluster_queue = "queue",
                       .pod_set_assignments = {
                           {.name = "main", .flavors = {{"nvidia.com/gpu", "flex"}}, .count = 4}}};
    each.workload.status.conditions = {
        {.type = api::kQuotaReserved, .status = api::ConditionStatus::kTrue}};
    each.workload.status.admission_checks = {{.name = "capacity"}};
    each.situation.workload = &each.workload;
    each.situation.checks = {{"capacity", &config_, 0, &policy_}};
    each.situation.stock = &stock_;
    each.situation.flavors = &flavors_;
    // Plays the driver until the request waits in the cloud.
    for (int round = 0; round < 10; ++round) {
      const auto decision = provisioning::Decide(each.situation, {}, now_);
      if (decision.memory) each.situation.memory = decision.memory->memory;
      for (const auto& state : decision.checks) each.workload.status.admission_checks = {state};
      for (const auto& action : decision.actions) Perform(action, each);
    }
  }
  void Perform(const provisioning::Action& action, InFlight& each) const {
    if (const auto* make = std::get_if<provisioning::CreateTemplate>(&action)) {
      each.situation.templates.push_back(
          {make->name, make->owner ? make->owner->uid : each.workload.meta.uid});
    } else if (const auto* own = std::get_if<provisioning::OwnTemplate>(&action)) {
      for (auto& seen : each.situation.templates) seen.controller_uid = own->owner.uid;
    } else if (const auto* ask = std::get_if<provisioning::CreateRequest>(&action)) {
      each.situation.requests = {ask->request};
      each.situation.requests[0].meta.uid = "uid-of-" + ask->request.meta.name;
      each.situation.requests[0].meta.creation_timestamp = now_;
      each.situation.requests[0].conditions = {{.type = "Accepted",
                                                .status = api::ConditionStatus::kTrue,
                                                .reason = "SuccessfullyQueued"}};
    }
  }

  const WallTime now_{seconds(1'700'000'000)};
  ProvisioningPolicy policy_;
  api::ProvisioningRequestConfig config_;
  provisioning::FlavorsByName flavors_;
  provisioning::StockMemory stock_;
  std::vector<InFlight> all_;
};

void PrintPass(std::int64_t gain) {
  constexpr int kInFlight = 1000;
  constexpr int kPasses = 51;
  Pass pass(kInFlight, gain);
  std::vector<double> milliseconds;
  int busy = 0;
  for (int i = 0; i < kPasses; ++i) {
    const double begun = OwnCpuSeconds();
    busy = pass.Decide();
    milliseconds.push_back((OwnCpuSeconds() - begun) * 1000);
  }
  std::sort(milliseconds.begin(), milliseconds.end());
  std::printf(
      "\n%d requests in flight, a policy of three steps%s, 64 keys of 64 outcomes: a pass takes "
      "%.2f "
      "ms of CPU (median of %d; %.2f to %.2f; aim 5); %d decisions had something to do\n",
      kInFlight, gain == 0 ? "" : " with minEtaGainSeconds", milliseconds[kPasses / 2], kPasses,
      milliseconds.front(), milliseconds.back(), busy);
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) {
  int seeds = 5;
  const std::string_view text = argc > 1 ? argv[1] : "5";
  const auto read = std::from_chars(text.data(), text.data() + text.size(), seeds);
  if (argc > 2 || read.ec != std::errc() || read.ptr != text.data() + text.size() || seeds < 1) {
    std::fputs("usage: capacity_bench [SEEDS]\n", stderr);
    return 2;
  }
  berth::bench::PrintMarket(seeds);
  berth::bench::PrintForecasts(seeds);
  berth::bench::PrintPass(/*gain=*/0);
  berth::bench::PrintPass(/*gain=*/600);
}
