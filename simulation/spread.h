// simulation/spread.h — the figures of several runs: their mean, and how far apart they are.
//
// The runs differ in the seed of the workload alone. A difference of two sets of manifests is made
// run by run, on the same workload, before means are made.
//
// Threads: pure functions. Errors: none.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "simulation/run_report.h"

namespace berth::simulation {

// Mean, deviation and range of the values of one figure.
struct Spread {
  double mean = 0;
  double deviation = 0;  // standard deviation of the values; 0 if there is one value
  double least = 0;
  double most = 0;
};

using SpreadByResource = std::map<api::ResourceName, Spread>;

struct SpreadRow {
  std::string local_queue;  // "NAMESPACE/NAME"; empty: all
  std::string priority_class;
  std::vector<Spread> measures;  // in the order of Measures()
  // These are the fields of Figures; a resource that a run lacks counts as 0 there.
  SpreadByResource used;
  SpreadByResource destroyed;
  SpreadByResource charged;
  SpreadByResource utilisation;
};

struct SpreadPool {
  std::string pool;
  Spread peak;
  Spread node_hours;
  Spread busy;
  Spread cost;
};

struct SpreadReport {
  std::int64_t runs = 0;
  std::vector<SpreadRow> rows;  // by LocalQueue and class; a row that a run lacks counts as 0
  SpreadRow total;
  std::vector<SpreadPool> pools;
};

SpreadReport SpreadOf(const std::vector<Report>& reports);
// The spread, over the runs, of `after` less `before`; both have a report for each run.
SpreadReport SpreadOfDifferences(const std::vector<Report>& before,
                                 const std::vector<Report>& after);

}  // namespace berth::simulation
