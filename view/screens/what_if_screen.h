// view/screens/what_if_screen.h — `berth what-if`: what a change does to the jobs of a cluster, as
// text and JSON.
//
// Pure: data in, text out. The keys of JSON are stable; spans end in Seconds, instants are RFC
// 3339.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "simulation/what_if.h"
#include "view/screens/text.h"

namespace berth::view {

struct WhatIfView {
  WallTime now{};
  int draws = 0;
  std::uint64_t seed = 0;
  std::vector<std::string> changes;         // in words
  std::vector<simulation::JobChange> jobs;  // the changes of all jobs
  std::vector<std::string> notes;           // what the forecasts leave out
};

// Jobs that are worse off come first, then new jobs, then jobs that are better off; jobs that the
// change does not affect are left out.
std::string RenderWhatIf(const WhatIfView& view, const TextStyle& style);
nlohmann::json WhatIfJson(const WhatIfView& view);

// The number of jobs that are worse off.
std::int64_t WorseOff(const WhatIfView& view);

}  // namespace berth::view
