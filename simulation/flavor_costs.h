// simulation/flavor_costs.h — the cost of runs by the prices of their flavors, for simulations
// without node pools.
//
// A run costs the dearest price among its flavors for each of its pods, as in the ledger
// (AttemptRecord::hourly_nano, ledger/records.h): the price of a node, annotation
// berth.dev/price-per-hour of the ResourceFlavor. A run with a pod set of which no flavor has a
// price costs nothing.
//
// Units: USD. Threads: one. Errors: none; an annotation that is no price counts as none.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "simulation/cluster_objects.h"
#include "simulation/world.h"

namespace berth::simulation {

class FlavorCosts {
 public:
  // For a run of `jobs` jobs on the cluster.
  FlavorCosts(const Cluster& cluster, std::size_t jobs);

  bool has_prices() const { return !prices_.empty(); }
  // Call it from WorldOptions::on_event.
  void Note(const WorldEvent& event);
  // USD by job; runs that go on end at `end`. Empty: no flavor has a price.
  std::vector<double> Take(Duration end);

 private:
  struct OpenRun {
    double rate = 0;  // USD an hour; 0: the job does not run
    Duration since{};
  };

  double RateOf(const api::Admission& admission) const;
  void End(std::size_t job, Duration at);

  std::map<std::string, double> prices_;  // USD an hour, by flavor
  std::vector<OpenRun> open_;             // by job; empty: no flavor has a price
  std::vector<double> costs_;             // by job
};

}  // namespace berth::simulation
