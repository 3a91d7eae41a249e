// tests/faults/gang_edits.h — jobs of a story whose pods need several nodes at once:
// sets with pods of two pools, and gangs on pools that only react to pending pods.
//
// Pure: equal random numbers give equal stories.
#pragma once

#include "base/random.h"
#include "tests/faults/policy_edits.h"
#include "tests/faults/story.h"

namespace berth::sim {

// JobSets in the queue of AddPolicy (policy_edits.h), with pods that select both of its pools.
void AddSplitSets(Story& story, Random& random);

// Two pools that bring nodes for pending pods, their flavors, and a queue with the check of pending
// pods, whose policy holds nodes by placeholders, or as `traits` say; jobs of two or three pods. At
// the end the machines on demand are in stock, no machine is taken back, and no budget is left.
void AddGangs(Story& story, Random& random, const PolicyTraits& traits);
bool HasGangs(const Story& story);

}  // namespace berth::sim
