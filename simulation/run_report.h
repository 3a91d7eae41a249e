// simulation/run_report.h — the figures of a simulated run by queue and priority class.
//
// Units: waits in seconds; use in unit-hours (CPUs, GPUs, items; GiB of memory and storage).
// Percentiles are by nearest rank. Threads: pure functions. Errors: none.
// Source of the bounded slowdown: Feitelson, Metrics for parallel job scheduling (2001): response
// time over run time, a run time below ten seconds counting as ten, at least 1.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "simulation/cluster_objects.h"
#include "simulation/jobs.h"
#include "simulation/node_charges.h"
#include "simulation/world.h"

namespace berth::simulation {

double SecondsOf(Duration span);
// CPUs, GPUs, items; GiB of memory and storage.
double UnitsOf(const api::ResourceName& resource, api::Amount amount);

using UnitHours = std::map<api::ResourceName, double>;

// Figures of a set of jobs. A wait lasts from submission to the first start; means and percentiles
// of waits are of the jobs that started, the slowdown is the mean of those that finished.
struct Figures {
  double jobs = 0;
  double finished = 0;
  double unfinished = 0;  // they wait at the end: nothing admits them
  double wait_mean = 0;
  double wait_p50 = 0;
  double wait_p90 = 0;
  double wait_p99 = 0;
  double slowdown = 0;
  double preemptions = 0;
  double evictions = 0;  // the cloud took a node of a job back
  double failed = 0;     // the part of `finished` whose runs ended in failure
  // USD for the time of nodes that is charged; the total row counts all nodes. Without pools: for
  // runs, by the prices of their flavors.
  double cost = 0;
  UnitHours used;       // by runs that finished
  UnitHours destroyed;  // by runs that a preemption or an eviction ended
  // The charged hours of nodes (simulation/node_charges.h), by the resources that jobs request; in
  // the total row: the hours of all nodes. Without pools: used and destroyed.
  UnitHours charged;
  // Used and destroyed over the nominal quota of the ClusterQueue for the whole run; the total row
  // counts all ClusterQueues. Resources without nominal quota are left out.
  std::map<api::ResourceName, double> utilisation;
};

// The numbers of Figures, without the figures by resource, in the order in which they are shown.
struct Measure {
  const char* name;  // in JSON and CSV
  double Figures::*value;
};
const std::vector<Measure>& Measures();

struct ReportRow {
  std::string local_queue;  // "NAMESPACE/NAME"; empty: all
  std::string cluster_queue;
  std::string priority_class;  // empty: jobs without one
  Figures figures;
};

struct QuotaRow {
  std::string cluster_queue;
  api::ResourceName resource;
  double nominal = 0;      // units, of all flavors
  double used = 0;         // unit-hours, those that preemptions destroyed included
  double utilisation = 0;  // used over nominal for the whole run; above 1 with borrowing; 0 of 0: 0
};

struct PoolRow {
  std::string pool;
  double peak = 0;        // nodes at one time
  double node_hours = 0;  // hours of all nodes, boots and idle times included
  double busy = 0;        // the share of node_hours in which a node had pods; 0 of 0: 0
  double boot_hours = 0;  // the part of node_hours before the nodes were ready
  double cost = 0;        // USD: node_hours at the price of the pool
};

struct UnfinishedRow {
  std::string local_queue;
  std::int64_t jobs = 0;
  std::int64_t first_line = 0;  // the first line in the workload
  std::string why;
};

struct Report {
  std::vector<ReportRow> rows;  // by LocalQueue, then priority falling, then class
  ReportRow total;
  std::vector<QuotaRow> quota;            // by ClusterQueue and resource
  std::vector<PoolRow> pools;             // in the order of the pools
  std::vector<UnfinishedRow> unfinished;  // by LocalQueue and reason
  double hours = 0;                       // from the first submission to the last event
  std::int64_t cycles = 0;
  std::int64_t decisions = 0;
  bool stopped_early = false;
};

// `charges`: the charges of the run with `pools`. `costs`: USD by job, of a run without pools
// (simulation/flavor_costs.h); empty: unknown.
Report MakeReport(const Cluster& cluster, const std::vector<Job>& jobs, const WorldResult& result,
                  const std::vector<NodePool>& pools = {}, const Charges& charges = {},
                  const std::vector<double>& costs = {});

// Each figure of `after` less that of `before`, for each queue and class that either has; figures
// of a row that one report lacks count as 0. A report compared with itself gives 0 everywhere.
struct Comparison {
  std::vector<ReportRow> rows;
  ReportRow total;
  std::vector<QuotaRow> quota;
  std::vector<PoolRow> pools;
};
Comparison Compare(const Report& before, const Report& after);

}  // namespace berth::simulation
