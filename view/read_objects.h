// view/read_objects.h — the objects of a cluster that jobs of files read beside themselves.
#pragma once

#include "view/planned_jobs.h"
#include "view/session.h"

namespace berth::view {

// One GET for each object; one that cannot be read counts as absent. `session` must outlive the
// function.
FindReadObject ReadsFrom(Session& session);

}  // namespace berth::view
