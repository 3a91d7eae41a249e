// local/apiserver/registry/strategies/job_status.h — validates updates of a Job's status.
#pragma once

#include <vector>

#include "local/apiserver/api.h"
#include "local/apiserver/schema/field_error.h"

namespace berth::local {

// Validates changed fields only: a controller may keep an invalid field that it found.
std::vector<Cause> ValidateJobStatusUpdate(const Json& job, const Json& old_job);

}  // namespace berth::local
