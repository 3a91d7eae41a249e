// tests/faults/elastic_edits.h — elastic Jobs in stories: their sizes change while they
// wait and run, and users stop and delete them. A fault follows the first change of size of every
// third. The rules are those of all Jobs.
//
// Pure: equal random numbers give equal lines.
#pragma once

#include "base/random.h"
#include "tests/faults/story.h"

namespace berth::sim {

void AddElastic(Story& story, Random& random);
bool HasElastic(const Story& story);

}  // namespace berth::sim
