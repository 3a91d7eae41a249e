// tests/market/market_play.h — plays one market. Internal to market.cc.
//
// Threads: one.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/provisioning_request.h"
#include "api/workload.h"
#include "base/random.h"
#include "provisioning/decide.h"
#include "provisioning/expected_wait.h"
#include "provisioning/stock.h"
#include "tests/market/market.h"

namespace berth::sim {

class MarketPlay {
 public:
  explicit MarketPlay(const MarketOptions& options);

  MarketResult Run();

 private:
  struct Job {
    explicit Job(std::uint64_t seed) : random(seed) {}
    Random random;
    api::Workload workload;
    api::MemoryByCheck memory;
    std::vector<api::ProvisioningRequest> requests;
    std::vector<provisioning::TemplateSeen> templates;
    const api::ProvisioningPolicy* policy = nullptr;
    std::int64_t nodes = 0;
    std::int64_t run_seconds = 0;
    WallTime arrived{};
    WallTime not_before{};  // queued again
    bool started = false;
    int made = 0;  // requests
    // The pool, time and number of the request that has nodes.
    std::optional<std::size_t> pool;
    WallTime granted_at{};
    std::uint64_t grant = 0;  // 0: none
  };
  struct Pool {
    explicit Pool(std::uint64_t seed) : random(seed) {}
    Random random;
    MarketPool market;
    bool in_stock = true;
    std::int64_t used = 0;
    std::deque<std::pair<std::size_t, std::string>> waiting;  // job, request
  };

  static double Exponential(Random& random, double mean);
  void At(WallTime at, std::function<void()> run);
  void In(double seconds, std::function<void()> run);
  void Arrive(std::size_t index);
  void Toggle(std::size_t pool);

  provisioning::Situation Observe(const Job& job) const;
  void Settle(std::size_t index);
  bool Step(std::size_t index);
  bool Reserve(Job& job);
  void Remember(Job& job, const provisioning::MemoryWrite& write);
  void Perform(std::size_t index, const provisioning::Action& action);
  void Drop(std::size_t index, const std::string& request);
  void Follow(std::size_t index, const api::AdmissionCheckState& state);
  void Release(Job& job);
  void SetCondition(Job& job, const char* type, bool is_true);

  void Ask(std::size_t index, const api::ProvisioningRequest& request);
  void Serve(std::size_t pool);
  void Grant(std::size_t index, const std::string& request, std::size_t pool);
  void Answer(std::size_t index, const std::string& request, const char* type, bool is_true,
              const char* reason);
  void Start(std::size_t index);
  void End(std::size_t index, bool evicted);
  void PayAndReturn(Job& job, bool idles);
  std::size_t PoolOf(const Job& job) const;
  api::ProvisioningRequest* Find(Job& job, const std::string& request);

  api::StockKey KeyOf(const Job& job) const;
  void Forecast(std::size_t index, const api::ProvisioningRequest& request);
  void Resolve(const std::string& uid);

  const MarketOptions options_;
  const WallTime begin_{std::chrono::seconds(1'700'000'000)};
  const WallTime end_;
  WallTime now_ = begin_;
  std::map<std::pair<WallTime, std::uint64_t>, std::function<void()>> events_;
  std::uint64_t last_event_ = 0;
  std::uint64_t last_grant_ = 0;
  Random arrivals_;
  std::vector<Pool> pools_;
  std::vector<Job> jobs_;
  api::ProvisioningRequestConfig config_;
  provisioning::FlavorsByName flavors_;
  provisioning::StockMemory stock_;
  std::map<std::string, std::pair<WallTime, MarketForecast>> open_;  // by the request's UID
  MarketResult result_;
};

}  // namespace berth::sim
