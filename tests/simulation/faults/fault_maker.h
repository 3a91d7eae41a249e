// tests/simulation/faults/fault_maker.h — what goes wrong in a story. A third of the stories go
// without.
//
// Pure.
#pragma once

#include "base/random.h"
#include "tests/simulation/faults/story.h"

namespace berth::sim {

// Draws from `random`; needs story.length.
void AddFaults(Story& story, Random& random);

// Watches end, and for a while those of one kind cannot be opened again, nor the kind listed: the
// controllers see a part of the world as it was. Needs story.length.
void AddBlindness(Story& story, Random& random);

}  // namespace berth::sim
