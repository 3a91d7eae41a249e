#include "view/screens/eta_cell.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "api/codec/start_forecast.h"
#include "base/rfc3339.h"

namespace berth::view {
namespace {

nlohmann::json InstantOrNull(const std::optional<WallTime>& instant) {
  return instant ? nlohmann::json(FormatTime(*instant)) : nlohmann::json();
}

}  // namespace

std::optional<api::StartForecast> ForecastOf(const ClusterView& view,
                                             const api::Workload& workload) {
  if (!IsWaiting(workload)) return std::nullopt;
  const std::string* text = api::FindValue(workload.meta.annotations, api::kEtaAnnotation);
  if (text == nullptr) return std::nullopt;
  const auto forecast = api::DecodeStartForecast(*text);
  if (!forecast || view.now - forecast->at > kStaleForecast) return std::nullopt;
  return *forecast;
}

bool HasForecast(const ClusterView& view, const std::vector<const api::Workload*>& workloads) {
  return std::any_of(workloads.begin(), workloads.end(), [&view](const api::Workload* each) {
    return ForecastOf(view, *each).has_value();
  });
}

std::string EtaCell(const ClusterView& view, const api::Workload& workload) {
  const auto forecast = ForecastOf(view, workload);
  if (!forecast) return "-";
  if (!forecast->p50) return "never";
  return *forecast->p50 <= view.now ? "now" : "~" + HumanDuration(*forecast->p50 - view.now);
}

nlohmann::json ForecastJson(const api::StartForecast& forecast) {
  return {{"at", FormatTime(forecast.at)},
          {"p10", InstantOrNull(forecast.p10)},
          {"p50", InstantOrNull(forecast.p50)},
          {"p90", InstantOrNull(forecast.p90)}};
}

}  // namespace berth::view
