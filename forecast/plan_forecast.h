// forecast/plan_forecast.h — when a job that is not created yet would start: a forecast of the
// cluster in which the job is the newest.
//
// Threads: makes threads of its own for the draws (forecast_threads.h). Errors: none; a job that no
// queue holds never starts, and says why.
#pragma once

#include "view/screens/cluster_view.h"
#include "view/screens/plan_screen.h"

namespace berth::forecast {

// `view`: read for a forecast (view::ReadScope::Screen::kForecast).
view::PlannedStart ForecastPlanned(const view::ClusterView& view, const view::PlannedJob& job);

}  // namespace berth::forecast
