// view/screens/eta_cell.h — the controller's forecast of a start, as a column of `berth status` and
// `berth list`: the annotation berth.dev/eta.
//
// A forecast older than kStaleForecast is not shown: no controller keeps it up to date.
//
// Threads: pure functions. Errors: none; an annotation that is no forecast counts as none.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "api/start_forecast.h"
#include "view/screens/cluster_view.h"

namespace berth::view {

inline constexpr Duration kStaleForecast = std::chrono::minutes(90);

// nullopt: the Workload does not wait, or has no forecast, or has a forecast that is too old.
std::optional<api::StartForecast> ForecastOf(const ClusterView& view,
                                             const api::Workload& workload);
// Whether one of the Workloads has a forecast.
bool HasForecast(const ClusterView& view, const std::vector<const api::Workload*>& workloads);
// The median: "~12m", "now", "never"; "-": no forecast.
std::string EtaCell(const ClusterView& view, const api::Workload& workload);
// {"at", "p10", "p50", "p90"}: instants, null: never.
nlohmann::json ForecastJson(const api::StartForecast& forecast);

}  // namespace berth::view
