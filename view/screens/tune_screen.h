// view/screens/tune_screen.h — `berth tune`: the figures of each policy that was tried, and the
// proposal.
//
// Pure: data in, text out. Keys of JSON are stable; waits are in seconds.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "simulation/tuning.h"
#include "view/screens/text.h"

namespace berth::view {

struct TuneView {
  std::vector<simulation::PolicyTrial> trials;
  std::optional<std::size_t> proposed;  // index in `trials`; nullopt: nothing is better
  std::string resource;                 // the resource whose destroyed hours are shown
  std::vector<std::string> notes;       // what the simulation left out
};

std::string RenderTune(const TuneView& view, const TextStyle& style);
// {"trials": [{"name", "annotations", "waitMean", …, "destroyedHours"}], "proposed": NAME or null,
// "resource", "notes"}
nlohmann::json TuneJson(const TuneView& view);

}  // namespace berth::view
