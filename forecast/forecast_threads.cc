#include "forecast/forecast_threads.h"

#include <algorithm>
#include <exception>
#include <thread>

namespace berth::forecast {
namespace {

constexpr int kMostThreads = 16;  // each has a world of its own in memory

simulation::ForecastOptions PartOf(simulation::ForecastOptions options, int i, int count) {
  options.first = options.draws * i / count;
  options.end = options.draws * (i + 1) / count;
  return options;
}

}  // namespace

simulation::Forecast MakeForecastInThreads(const simulation::Cluster& cluster,
                                           const std::vector<simulation::ForecastJob>& jobs,
                                           const simulation::ForecastOptions& options) {
  const int processors = static_cast<int>(std::thread::hardware_concurrency());
  const int count = std::clamp(processors, 1, std::min(kMostThreads, std::max(options.draws, 1)));
  std::vector<simulation::Forecast> parts(static_cast<std::size_t>(count));
  std::vector<std::exception_ptr> thrown(parts.size());  // a forecast without a part would be wrong
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < count; ++i) {
      threads.emplace_back([&, i] {
        const auto at = static_cast<std::size_t>(i);
        try {
          parts[at] = simulation::MakeForecast(cluster, jobs, PartOf(options, i, count));
        } catch (...) {
          thrown[at] = std::current_exception();
        }
      });
    }
  }
  for (const std::exception_ptr& each : thrown) {
    if (each) std::rethrow_exception(each);
  }
  return simulation::JoinForecasts(std::move(parts));
}

}  // namespace berth::forecast
