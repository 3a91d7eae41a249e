// cli/planned_jobs.h — jobs of files that are not created, as the Workloads that their controllers
// would make.
//
// Threads: pure functions.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "cli/screens/plan.h"

namespace berth::cli {

struct PlannedJobsInput {
  std::string namespace_name;  // of jobs that name none
  std::string queue;           // LocalQueue; empty: the one that each job names
  const std::vector<api::PriorityClass>* priority_classes =
      nullptr;  // null: priorities do not count
};

// Documents that are no jobs are left out. Errors: kInvalid with kind, name and field; kNotFound: a
// priority class that does not exist.
Result<std::vector<PlannedJob>> PlannedJobsOf(const std::vector<nlohmann::json>& documents,
                                              const PlannedJobsInput& input);

}  // namespace berth::cli
