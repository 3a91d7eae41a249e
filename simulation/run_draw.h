// simulation/run_draw.h — the runs of all jobs in one draw of a forecast.
//
// A run that is drawn joins the urns that it came through (simulation/run_model.h): the next job of
// its batch is likely to run as long, so that runs of a batch are alike in each draw and differ
// between draws. Jobs that run are drawn first, each run longer than it has lasted so far; their
// runs influence the draws of jobs that wait. A run is spread a little about the known run that it
// repeats.
//
// Units: seconds. Threads: one for each RunDraw. Errors: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/random.h"
#include "simulation/run_model.h"

namespace berth::simulation {

class RunDraw {
 public:
  explicit RunDraw(const RunModel& model);  // must outlive the draw

  // Begins another draw: forgets what was drawn.
  void Restart();
  // Draws the whole run of the member; call it in the order of RunModel::open. `share`, in [0, 1),
  // chooses the run, `random` spreads it.
  double Take(std::size_t member, double share, Random& random);

 private:
  // The weight of the urn's runs that are longer than `elapsed`, drawn runs included.
  double WeightAbove(std::uint32_t urn, double elapsed) const;
  double WeightOf(std::uint32_t urn) const;
  // The run at `share` of the weight of the runs that are longer than `elapsed`.
  double RunAbove(std::uint32_t urn, double elapsed, double share) const;

  struct Drawn {
    std::vector<double> runs;
    double least = 0;  // the shortest
  };

  const RunModel& model_;
  std::vector<Drawn> drawn_;            // by urn
  std::vector<std::uint32_t> touched_;  // urns with drawn runs
  std::vector<double> above_;           // shares above the age of Take, by urn of the chain
};

}  // namespace berth::simulation
