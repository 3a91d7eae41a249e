// scenarios/played_objects.h — the objects of played jobs (played_jobs.h).
//
// Pure. Errors: none.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "simulation/cluster_objects.h"
#include "simulation/jobs.h"

namespace berth::scenarios {

// "job-00000012" in the namespace of the job's LocalQueue.
std::string PlayedJobName(std::size_t job);

// The Job; its pods take the run time of the job.
nlohmann::json MakePlayedJob(const simulation::Cluster& cluster, const simulation::Job& job,
                             std::size_t number);

// The objects that the jobs need: Namespaces of the cluster, WorkloadPriorityClasses for
// priorities that are numbers.
std::vector<nlohmann::json> ObjectsForJobs(const simulation::Cluster& cluster,
                                           const std::vector<simulation::Job>& jobs);

// The objects of `documents` (also the items of lists) with which a played cluster begins:
// Namespaces first, and without the fields that an API server owns.
std::vector<nlohmann::json> PlayableObjects(const std::vector<nlohmann::json>& documents);

}  // namespace berth::scenarios
