// api/start_forecast.h — when a waiting Workload starts, as the controller forecasts it: the
// annotation berth.dev/eta of the Workload.
//
// Units: instants. Threads: data. Errors: none.
#pragma once

#include <optional>

#include "base/clock.h"

namespace berth::api {

inline constexpr char kEtaAnnotation[] = "berth.dev/eta";

struct StartForecast {
  WallTime at{};  // of the forecast
  // The instants until which 10, 50 and 90 of 100 futures start the Workload; nullopt: in fewer
  // futures the Workload starts at all.
  std::optional<WallTime> p10;
  std::optional<WallTime> p50;
  std::optional<WallTime> p90;
  friend bool operator==(const StartForecast&, const StartForecast&) = default;
};

}  // namespace berth::api
