// forecast/eta_pasts.h — what came of the forecasts that the controller keeps on Workloads
// (program/eta_writer.h), for the correction of new ones.
//
//     annotation berth.dev/eta: the first forecast of the wait ──┐
//     condition Admitted, or now ────────────────────────────────┴─PastOf──▶ Calibration
//
// Threads: pure functions. Errors: none; an annotation that does not decode counts as none.
#pragma once

#include <optional>
#include <vector>

#include "api/start_forecast.h"
#include "api/workload.h"
#include "base/clock.h"
#include "simulation/calibration.h"

namespace berth::forecast {

// The forecast on the Workload; nullopt: it has none.
std::optional<api::StartForecast> NoteOn(const api::Workload& workload);

// The first forecast of the wait that goes on; nullopt: `note` is of a wait before the last start.
std::optional<api::FirstForecast> FirstOfThisWait(const api::Workload& workload,
                                                  const api::StartForecast& note);

// What `until` says of the forecast; nullopt: it has no quantiles that a start can be measured by.
std::optional<simulation::Calibration::Past> PastOf(const api::FirstForecast& forecast,
                                                    WallTime until, bool started);

// The start of an admitted Workload against its first forecast; nullopt: there is none of the wait
// before this start.
struct StartPast {
  WallTime at{};
  simulation::Calibration::Past past;
};
std::optional<StartPast> StartPastOf(const api::Workload& workload);

// The past of a Workload that still waits.
std::optional<simulation::Calibration::Past> WaitingPastOf(const api::Workload& workload,
                                                           WallTime now);

// The starts, in their order.
simulation::Calibration CalibrationOf(std::vector<StartPast> starts);
// Calibrates by all Workloads of a cluster at one moment, those that wait included.
simulation::Calibration CalibrationOf(const std::vector<api::Workload>& workloads, WallTime now);

}  // namespace berth::forecast
