// tests/faults/fault_maker.h — adds faults to a story. A third of the stories have
// none.
//
// Pure.
#pragma once

#include "base/random.h"
#include "tests/faults/story.h"

namespace berth::sim {

// Draws from `random`; needs story.length.
void AddFaults(Story& story, Random& random);

// Watches end, and for a while those of one kind cannot be opened again, nor the kind listed: the
// controllers see an outdated part of the world. Needs story.length.
void AddBlindness(Story& story, Random& random);

}  // namespace berth::sim
