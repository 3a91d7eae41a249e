#include "simulation/deadline_chance.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

namespace berth::simulation {
namespace {

// How far the start that `share` of the draws do not exceed is moved: straight lines between the
// quantiles, and the way of the nearest quantile outside of them.
Duration MoveAt(double share, const StartQuantiles& drawn, const StartQuantiles& corrected) {
  struct Point {
    double share;
    Duration way;
  };
  const Point points[] = {{0.1, corrected.p10 - drawn.p10},
                          {0.5, corrected.p50 - drawn.p50},
                          {0.9, corrected.p90 - drawn.p90}};
  if (share <= points[0].share) return points[0].way;
  for (std::size_t i = 1; i < std::size(points); ++i) {
    const Point& below = points[i - 1];
    const Point& above = points[i];
    if (share > above.share) continue;
    const double part = (share - below.share) / (above.share - below.share);
    const auto way = static_cast<double>((above.way - below.way).count());
    return below.way + Duration(std::llround(part * way));
  }
  return std::end(points)[-1].way;
}

// The numbers of the draws in the order of their starts; those without a start come last.
std::vector<std::size_t> ByStart(const JobForecast& forecast) {
  std::vector<std::size_t> draws(forecast.starts.size());
  std::iota(draws.begin(), draws.end(), std::size_t{0});
  std::stable_sort(draws.begin(), draws.end(), [&forecast](std::size_t a, std::size_t b) {
    return forecast.starts[a].value_or(Duration::max()) <
           forecast.starts[b].value_or(Duration::max());
  });
  return draws;
}

}  // namespace

std::optional<double> ChanceInTime(const JobForecast& forecast) {
  return ChanceInTime(forecast, {}, {});
}

std::optional<double> ChanceInTime(const JobForecast& forecast, const StartQuantiles& drawn,
                                   const StartQuantiles& corrected) {
  if (!forecast.deadline || forecast.ends.empty()) return std::nullopt;
  const auto draws = static_cast<double>(forecast.ends.size());
  double rank = 0.5;
  double in_time = 0;
  for (const std::size_t draw : ByStart(forecast)) {
    const Duration way = MoveAt(rank++ / draws, drawn, corrected);
    const auto& start = forecast.starts[draw];
    const auto& end = forecast.ends[draw];
    // A corrected start is not before the moment of the forecast.
    if (start && end && *end + std::max(way, -*start) <= *forecast.deadline) ++in_time;
  }
  return in_time / draws;
}

}  // namespace berth::simulation
