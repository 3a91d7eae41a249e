// tests/faults/dask_edits.h — Dask clusters in stories: their growth, and what users do
// to them.
//
// Pure: equal random numbers give equal lines.
#pragma once

#include "base/random.h"
#include "tests/faults/story.h"

namespace berth::sim {

// Adds the framework, and clusters in the story's LocalQueues.
void AddDask(Story& story, Random& random);

}  // namespace berth::sim
