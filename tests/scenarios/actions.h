// tests/scenarios/actions.h — what a story does to objects that exist: set, patch, delete, answer a
// check, set a condition.
#pragma once

#include <optional>

#include "base/result.h"
#include "tests/scenarios/script.h"
#include "tests/simulation/sim_world.h"

namespace berth::scenarios {

// nullopt: the step's verb is none of these.
std::optional<Status> Act(sim::SimWorld& world, const Step& step);

}  // namespace berth::scenarios
