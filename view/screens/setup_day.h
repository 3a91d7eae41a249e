// view/screens/setup_day.h — a day of the teams of a first set-up: its jobs, and the table of their
// waits.
//
//     FirstSetup ──DayOf──▶ jobs ──simulation/world.h──▶ Report ──RenderDay──▶ table
//
// Each team has jobs of an eighth, a quarter and half of its quota, which use about three quarters
// of the quota over the day. Equal set-ups have equal days.
//
// Threads: pure functions. Errors: those of simulation/generator.h.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "simulation/generator.h"
#include "simulation/run_report.h"
#include "view/screens/setup_options.h"
#include "view/screens/text.h"

namespace berth::view {

// One source for each team.
std::vector<simulation::JobSource> SourcesOf(const FirstSetup& setup);
Result<simulation::Trace> DayOf(const FirstSetup& setup);

// Jobs, waits, and use of quota by team.
std::string RenderDay(const FirstSetup& setup, const simulation::Report& report,
                      const TextStyle& style);

}  // namespace berth::view
