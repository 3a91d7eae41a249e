// simulation/deadline_chance.h — the chance that a job ends by its deadline, from the draws of a
// forecast.
//
//     starts and ends of the draws ───────────────┐
//     quantiles of the starts: drawn, corrected ──┴▶ each draw moves as the quantiles beside it
//                                                    ─▶ the share of ends by the deadline
//
// Pure. Threads: any. Errors: none.
#pragma once

#include <optional>

#include "simulation/calibration.h"
#include "simulation/forecast.h"

namespace berth::simulation {

// The chance as drawn, 0 to 1. nullopt: the job has no deadline, or there is no draw.
std::optional<double> ChanceInTime(const JobForecast& forecast);
// The chance with the starts moved from `drawn`, the quantiles of the draws, to `corrected`.
std::optional<double> ChanceInTime(const JobForecast& forecast, const StartQuantiles& drawn,
                                   const StartQuantiles& corrected);

}  // namespace berth::simulation
