// forecast/forecast_threads.h — a forecast whose draws are made by all processors.
//
// Threads: starts threads of its own and waits for them. The result does not depend on their
// number.
#pragma once

#include <vector>

#include "simulation/forecast.h"

namespace berth::forecast {

simulation::Forecast MakeForecastInThreads(const simulation::Cluster& cluster,
                                           const std::vector<simulation::ForecastJob>& jobs,
                                           const simulation::ForecastOptions& options);

}  // namespace berth::forecast
