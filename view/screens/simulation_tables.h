// view/screens/simulation_tables.h — the tables of `berth simulate`, for terminals and for pages.
//
// Pure: data in, text out. Threads: pure functions. Errors: none.
#pragma once

#include <string>
#include <vector>

#include "simulation/run_report.h"
#include "view/screens/simulation.h"
#include "view/screens/text.h"

namespace berth::view {

struct NamedTable {
  std::string title;
  TextTable table;
};

// By queue and class, by quota, by pool; without pools there is no table of pools.
std::vector<NamedTable> SimulationTables(const simulation::Report& report);
std::vector<NamedTable> ComparisonTables(const simulation::Comparison& difference);

// "12 jobs in 3h of virtual time: 10 finished, 2 did not\n".
std::string SimulationHeadLine(const SimulationView& view);
// Lines about the parts that were left out and the jobs that never finished; may be empty.
std::string SimulationRemarks(const SimulationView& view);

// The resource whose use the tables show: a GPU resource if jobs use one, else CPUs.
std::string MainResource(const simulation::Figures& total);
std::string HoursName(const std::string& resource);  // "GPU-H", "CPU-H"
// MeasureColumns: the columns of queue, class and of Measures() except cost. RowNames: the cells of
// the first two columns; a queue without a name stands for all queues.
std::vector<Column> MeasureColumns();
std::vector<std::string> RowNames(const std::string& local_queue,
                                  const std::string& priority_class);

// A span of seconds, rounded: "12m", "-3h", "0s".
std::string SpanOf(double seconds);

// The shortest text that reads as the same number, for CSV.
std::string Shortest(double value);

inline constexpr double kPercent = 100;
double HoursOf(const simulation::UnitHours& hours, const std::string& resource);

}  // namespace berth::view
