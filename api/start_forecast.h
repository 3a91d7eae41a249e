// api/start_forecast.h — when a waiting Workload starts, as the controller forecasts it: the
// annotation berth.dev/eta of the Workload.
//
// Units: instants. Threads: data. Errors: none.
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"

namespace berth::api {

inline constexpr char kEtaAnnotation[] = "berth.dev/eta";

// A forecast as it was drawn, before earlier starts corrected it.
struct DrawnForecast {
  WallTime p10{};
  WallTime p50{};
  WallTime p90{};
  friend bool operator==(const DrawnForecast&, const DrawnForecast&) = default;
};

// A forecast by which the start is judged: the instants until which 10, 50 and 90 of 100 futures
// start the Workload; nullopt: in fewer futures the Workload starts at all.
struct JudgedForecast {
  WallTime at{};  // when the forecast was made
  std::optional<WallTime> p10;
  std::optional<WallTime> p50;
  std::optional<WallTime> p90;
  std::optional<DrawnForecast> drawn;  // nullopt: nothing corrected the quantiles
  friend bool operator==(const JudgedForecast&, const JudgedForecast&) = default;
};

// A deadline that is kept in fewer of 100 futures is in danger.
inline constexpr std::int32_t kSafeDeadline = 50;

struct StartForecast {
  WallTime at{};
  std::optional<WallTime> p10;
  std::optional<WallTime> p50;
  std::optional<WallTime> p90;
  std::optional<DrawnForecast> drawn;  // the quantiles above as they were drawn, not corrected
  // The futures of 100 in which the Workload ends by its deadline; nullopt: it has none.
  std::optional<std::int32_t> in_time;
  // The first forecast of this wait, by which a start is judged; nullopt: this is the first.
  std::optional<JudgedForecast> first;
  // The earliest forecast of this wait that is half an hour or more younger than the first one:
  // forecasts of jobs that have waited are judged apart. nullopt: there is none.
  std::optional<JudgedForecast> later;
  friend bool operator==(const StartForecast&, const StartForecast&) = default;
};

// The outcome of a forecast: the first quantile that is not before the start. kLater: the start was
// later than all of them.
enum class ForecastHit : std::uint8_t { kP10, kP50, kP90, kLater };

// The first forecast of the wait, whether or not it is this one.
JudgedForecast FirstOf(const StartForecast& forecast);
// The forecast without the earlier forecasts of the wait, `first` and `later`.
JudgedForecast Alone(const StartForecast& forecast);
// The forecast as it was drawn; nullopt: in fewer than 9 of 10 futures the Workload starts.
std::optional<DrawnForecast> DrawnOf(const JudgedForecast& forecast);
ForecastHit HitOf(const JudgedForecast& forecast, WallTime started);

}  // namespace berth::api
