// tests/faults/jobset_edits.h — JobSets in stories, and what users do to them.
//
// Pure: equal random numbers give equal lines.
#pragma once

#include "base/random.h"
#include "tests/faults/story.h"

namespace berth::sim {

// Adds the framework, and JobSets in the story's LocalQueues.
void AddJobSets(Story& story, Random& random);

}  // namespace berth::sim
