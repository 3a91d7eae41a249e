// tests/simulation/faults/shared_edits.h — what happens to objects that others name: a flavor,
// check, topology or cohort is deleted while it is in use and made again, a queue does without one
// of its flavors for a while, a cohort gets another parent; or to what jobs get from their
// namespace and classes.
//
// Pure.
#pragma once

#include "base/random.h"
#include "tests/simulation/faults/story.h"

namespace berth::sim {

// The kinds whose lines in a story's setup stand for shared objects.
bool IsShared(const std::string& line);

// Adds one such edit; needs story.setup and story.length.
void EditShared(Story& story, Random& random);

// Adds one edit of what jobs are given: for a while a LimitRange asks for a resource that no queue
// has, or forbids pods that some jobs have; a WorkloadPriorityClass gets another value, and another
// one again. Needs story.length.
void EditDefaults(Story& story, Random& random);

}  // namespace berth::sim
