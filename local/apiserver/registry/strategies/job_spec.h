// local/apiserver/registry/strategies/job_spec.h — validates the spec of a Job, for Jobs and the
// templates of CronJobs.
#pragma once

#include <vector>

#include "local/apiserver/api.h"
#include "local/apiserver/schema/field_error.h"

namespace berth::local {

// `job`: an object with the Job's spec under "spec".
std::vector<Cause> ValidateJobSpec(const Json& job);

}  // namespace berth::local
