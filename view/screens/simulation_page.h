// view/screens/simulation_page.h — `berth simulate --html`: one page with pictures of a run, or of
// two that are compared.
//
// The page is self-contained: it includes its styles and SVG, has no script and refers to no
// address. Its colors, light or dark, follow the reader's settings. Pure: data in, text out.
// Threads: pure functions. Errors: none.
#pragma once

#include <string>
#include <vector>

#include "simulation/gantt.h"
#include "simulation/timeline.h"
#include "view/screens/simulation.h"

namespace berth::view {

struct SimulationPictures {
  SimulationView view;
  std::string resource;  // the resource whose use is shown: MainResource of the report
  simulation::Timeline timeline;
  simulation::Gantt gantt;
};

std::string SimulationPage(const SimulationPictures& run, const std::string& workload);
// The charts of both runs have the same scales. `workload` names the file of the jobs.
std::string ComparisonPage(const SimulationPictures& before, const SimulationPictures& after,
                           const std::string& workload);

}  // namespace berth::view
