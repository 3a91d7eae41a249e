// cli/read_objects.h — the objects of a cluster that jobs of files read beside themselves.
#pragma once

#include "cli/planned_jobs.h"
#include "cli/session.h"

namespace berth::cli {

// One GET for each object; one that cannot be read counts as absent. `session` must outlive the
// function.
FindReadObject ReadsFrom(Session& session);

}  // namespace berth::cli
