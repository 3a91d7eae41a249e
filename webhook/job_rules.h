// webhook/job_rules.h — batch Jobs on their way into a queue: defaults on create, and what labels
// and annotations may say.
//
// Source: Kueue pkg/controller/jobframework (defaults, validation), pkg/controller/jobs/job.
#pragma once

#include <string>

#include "api/job.h"
#include "webhook/field_error.h"

namespace berth::webhook {

// What of the cluster matters to one Job.
struct JobFacts {
  bool kind_managed = true;             // integrations.frameworks; else nothing is reviewed
  bool default_local_queue = false;     // LocalQueue "default" exists in the Job's namespace
  bool default_priority_class = false;  // WorkloadPriorityClass "default" exists
  bool namespace_managed = true;        // managedJobsNamespaceSelector
  bool manage_without_queue_name = false;
  bool ancestor_managed = false;  // an owner is in a queue itself
};

// Whether a Job belongs to somebody's queue at all.
bool IsManagedJob(const api::Job& job);

// Changes labels and `suspend` of a Job that is being created.
void DefaultJob(const JobFacts& facts, api::Job& job);

// `old`: null on create.
FieldErrors ValidateJob(const api::Job& job, const api::Job* old, const JobFacts& facts);

// What such a job asks for and does not get, though it is allowed.
std::vector<std::string> WarningsOfJob(const api::Job& job);

}  // namespace berth::webhook
