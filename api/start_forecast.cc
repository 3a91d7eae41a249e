#include "api/start_forecast.h"

namespace berth::api {

JudgedForecast FirstOf(const StartForecast& forecast) {
  return forecast.first ? *forecast.first : Alone(forecast);
}

JudgedForecast Alone(const StartForecast& forecast) {
  return {.at = forecast.at,
          .p10 = forecast.p10,
          .p50 = forecast.p50,
          .p90 = forecast.p90,
          .drawn = forecast.drawn};
}

std::optional<DrawnForecast> DrawnOf(const JudgedForecast& forecast) {
  if (forecast.drawn) return forecast.drawn;
  if (!forecast.p10 || !forecast.p50 || !forecast.p90) return std::nullopt;
  return DrawnForecast{*forecast.p10, *forecast.p50, *forecast.p90};
}

ForecastHit HitOf(const JudgedForecast& forecast, WallTime started) {
  if (forecast.p10 && started <= *forecast.p10) return ForecastHit::kP10;
  if (forecast.p50 && started <= *forecast.p50) return ForecastHit::kP50;
  if (forecast.p90 && started <= *forecast.p90) return ForecastHit::kP90;
  return ForecastHit::kLater;
}

}  // namespace berth::api
