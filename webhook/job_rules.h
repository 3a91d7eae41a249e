// webhook/job_rules.h — reviews of batch Jobs: defaults on create, and validation of labels and
// annotations.
//
// Source: Kueue pkg/controller/jobframework (defaults, validation), pkg/controller/jobs/job.
#pragma once

#include <string>

#include "api/job.h"
#include "webhook/field_error.h"

namespace berth::webhook {

// The facts of the cluster that the review of a Job needs.
struct JobFacts {
  bool kind_managed = true;             // integrations.frameworks; false: no review
  bool default_local_queue = false;     // LocalQueue "default" exists in the Job's namespace
  bool default_priority_class = false;  // WorkloadPriorityClass "default" exists
  bool namespace_managed = true;        // managedJobsNamespaceSelector
  bool manage_without_queue_name = false;
  bool ancestor_managed = false;  // an owner is queued itself
};

// Whether the Job is to be queued.
bool IsManagedJob(const api::Job& job);

// Sets labels and `suspend` of a Job on create.
void DefaultJob(const JobFacts& facts, api::Job& job);

// `old`: null on create.
FieldErrors ValidateJob(const api::Job& job, const api::Job* old, const JobFacts& facts);

// Warnings for requests that are allowed and have no effect.
std::vector<std::string> WarningsOfJob(const api::Job& job);

}  // namespace berth::webhook
