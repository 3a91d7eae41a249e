// scenarios/expectations.h — checks a story's expectations. README.md has every form.
//
// Reads only. Errors: kInvalid: the line cannot be understood.
#pragma once

#include <string>

#include "base/result.h"
#include "scenarios/chronicle.h"
#include "scenarios/script.h"
#include "scenarios/world/sim_world.h"

namespace berth::scenarios {

struct Finding {
  bool holds = false;
  std::string found;  // the actual state, for people
};

// `step` begins with the subject: "job x running".
Result<Finding> Examine(sim::SimWorld& world, const Chronicle& chronicle, const Step& step);

}  // namespace berth::scenarios
