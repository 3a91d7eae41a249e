// scenarios/topology_words.h — the steps of stories about topologies: objects, losses, and
// placements of jobs. README.md has the words with examples.
//
// Errors: kInvalid with the error of the line.
#pragma once

#include <vector>

#include "base/result.h"
#include "scenarios/expectations.h"
#include "scenarios/script.h"
#include "scenarios/short_forms.h"
#include "scenarios/world/sim_world.h"

namespace berth::scenarios {

// topology NAME LEVEL LEVEL …: node labels, widest first.
Result<std::vector<Json>> MakeTopology(const Step& step);

// pod [NS/]NAME node=N cpu=4 runs=1h: a pod of no queue.
Result<std::vector<Json>> MakePod(const Step& step);

// kill pods of JOB [node=N]: deletes the pods at once, as if their machine had died.
Status KillPods(sim::SimWorld& world, const Step& step);

// placed JOB DOMAIN=COUNT … [podset=main]: the whole assignment; a domain of several levels is
// written block1/rack2. "placed JOB nowhere": the job has no assignment.
Result<Finding> PlacementIs(sim::SimWorld& world, const Step& step);

}  // namespace berth::scenarios
