// local/apiserver/registry/strategies/job_status.h — what a Job's status may become.
#pragma once

#include <vector>

#include "local/apiserver/api.h"
#include "local/apiserver/schema/field_error.h"

namespace berth::local {

// Only what changes is checked: a controller may leave an odd status as it found it.
std::vector<Cause> ValidateJobStatusUpdate(const Json& job, const Json& old_job);

}  // namespace berth::local
