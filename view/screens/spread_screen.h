// view/screens/spread_screen.h — `berth simulate --seeds N`: the figures of several runs, each with
// its spread, as text, JSON and CSV.
//
// Pure: data in, text out. Keys of JSON and columns of CSV are stable; waits are in seconds.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "simulation/spread.h"
#include "view/screens/text.h"

namespace berth::view {

// Whether each figure is of a run, or is the difference of two runs.
enum class SpreadKind { kRuns, kDifferences };

std::string RenderSpread(const simulation::SpreadReport& report, SpreadKind kind,
                         const TextStyle& style);
// {"runs", "queues": [{"localQueue", "priorityClass", "waitP50": {"mean", "deviation", "least",
// "most"}, …}], "total", "pools"}
nlohmann::json SpreadJson(const simulation::SpreadReport& report);
// One row for each LocalQueue, class and figure, and the rows for all jobs.
std::string SpreadCsv(const simulation::SpreadReport& report);

}  // namespace berth::view
