// forecast/eta_pasts.h — compares the forecasts that the controller keeps on Workloads
// (program/eta_writer.h) with the starts, to correct new forecasts.
//
//     annotation berth.dev/eta: the first and the later forecast of the wait ──┐
//     condition Admitted, or now ─────────────────────────────────────────────┴─▶ Calibration
//
// Threads: pure functions. Errors: none; an annotation that does not decode counts as none.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/start_forecast.h"
#include "api/workload.h"
#include "base/clock.h"
#include "simulation/calibration.h"
#include "view/screens/cluster_view.h"

namespace berth::forecast {

// The forecast on the Workload; nullopt: it has none.
std::optional<api::StartForecast> NoteOn(const api::Workload& workload);

// The first forecast of the present wait; nullopt: `note` is of a wait before the last start.
std::optional<api::JudgedForecast> FirstOfThisWait(const api::Workload& workload,
                                                   const api::StartForecast& note);

// The first and the later forecast of a wait in this ClusterQueue, each compared with `until`, the
// instant of the start or the present one. Forecasts that were made after `until`, or that have no
// quantiles to compare a start with, are left out.
std::vector<simulation::Calibration::Past> PastsOf(const api::StartForecast& note,
                                                   const std::string& cluster_queue, WallTime until,
                                                   bool started);

// The start of an admitted Workload, compared with the forecasts of the wait that it ended. `pasts`
// is empty if there are no such forecasts.
struct StartPasts {
  WallTime at{};
  std::vector<simulation::Calibration::Past> pasts;
};
StartPasts StartPastsOf(const api::Workload& workload);

// The pasts of a Workload that still waits in this ClusterQueue.
std::vector<simulation::Calibration::Past> WaitingPastsOf(const api::Workload& workload,
                                                          const std::string& cluster_queue,
                                                          WallTime now);

// The starts, in their order.
simulation::Calibration CalibrationOf(std::vector<StartPasts> starts);
// Calibrates by all Workloads of a cluster at one moment, those that wait included.
simulation::Calibration CalibrationOf(const view::ClusterView& view);

}  // namespace berth::forecast
