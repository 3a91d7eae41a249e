// scenarios/actions.h — the steps of a story on existing objects: set, patch, delete, answer
// a check, set a condition.
#pragma once

#include <optional>

#include "base/result.h"
#include "scenarios/script.h"
#include "scenarios/world/sim_world.h"

namespace berth::scenarios {

// nullopt: the step has another verb.
std::optional<Status> Act(sim::SimWorld& world, const Step& step);

}  // namespace berth::scenarios
