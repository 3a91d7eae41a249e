#include "cli/forecast_threads.h"

#include <algorithm>
#include <thread>

namespace berth::cli {
namespace {

constexpr int kMostThreads = 16;  // each has a world of its own in memory

}  // namespace

simulation::Forecast MakeForecastInThreads(const simulation::Cluster& cluster,
                                           const std::vector<simulation::ForecastJob>& jobs,
                                           const simulation::ForecastOptions& options) {
  const int processors = static_cast<int>(std::thread::hardware_concurrency());
  const int count = std::clamp(processors, 1, std::min(kMostThreads, std::max(options.draws, 1)));
  std::vector<simulation::Forecast> parts(static_cast<std::size_t>(count));
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      simulation::ForecastOptions part = options;
      part.first = options.draws * i / count;
      part.end = options.draws * (i + 1) / count;
      parts[static_cast<std::size_t>(i)] = simulation::MakeForecast(cluster, jobs, part);
    });
  }
  for (std::thread& each : threads) each.join();
  return simulation::JoinForecasts(std::move(parts));
}

}  // namespace berth::cli
