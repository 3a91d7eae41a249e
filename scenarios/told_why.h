// scenarios/told_why.h — the answer of `berth why` in a world.
#pragma once

#include <string>

#include "base/result.h"
#include "scenarios/world/sim_world.h"

namespace berth::scenarios {

Result<std::string> TellWhy(sim::SimWorld& world, const std::string& job);

}  // namespace berth::scenarios
