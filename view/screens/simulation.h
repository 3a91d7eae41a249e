// view/screens/simulation.h — `berth simulate`: the report of a run in virtual time, as text, JSON
// and CSV; and the differences of two runs.
//
// Pure: data in, text out. Keys of JSON and columns of CSV are stable. Waits are in seconds, use is
// in unit-hours (simulation/run_report.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "simulation/run_report.h"
#include "view/screens/text.h"

namespace berth::view {

struct SimulationView {
  simulation::Report report;
  std::vector<std::string> notes;  // what the simulation leaves out of the manifests
  std::int64_t skipped = 0;        // rows of the workload without run time or processors
  simulation::TraceUnit unit = simulation::TraceUnit::kLine;  // the unit of the workload
};

std::string RenderSimulation(const SimulationView& view, const TextStyle& style);
nlohmann::json SimulationJson(const SimulationView& view);
// One row for each LocalQueue and class, and one row for all jobs.
std::string SimulationCsv(const SimulationView& view);

// Shows the figures of `after` less those of `before`.
std::string RenderComparison(const SimulationView& before, const SimulationView& after,
                             const TextStyle& style);
nlohmann::json ComparisonJson(const SimulationView& before, const SimulationView& after);
std::string ComparisonCsv(const SimulationView& before, const SimulationView& after);

}  // namespace berth::view
