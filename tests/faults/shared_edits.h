// tests/faults/shared_edits.h — edits of objects that other objects name: a flavor,
// check, topology or cohort is deleted while in use and created again, a queue loses one of its
// flavors for a while, a cohort gets another parent; and edits of namespace defaults and classes of
// jobs.
//
// Pure.
#pragma once

#include "base/random.h"
#include "tests/faults/story.h"

namespace berth::sim {

// Whether the setup line creates a shared object.
bool IsShared(const std::string& line);

// Adds one such edit; needs story.setup and story.length.
void EditShared(Story& story, Random& random);

// Adds one edit of the defaults of jobs: for a while a LimitRange requests a resource that no queue
// has, or forbids pods of some jobs; or a WorkloadPriorityClass gets another value, and then a
// third. Needs story.length.
void EditDefaults(Story& story, Random& random);

}  // namespace berth::sim
