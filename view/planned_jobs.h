// view/planned_jobs.h — jobs of files that are not created, as the Workloads that their controllers
// would make once the API server and the reviews have filled in their defaults.
//
//     Job, CronJob (each Job of its template), the kinds of `berth kinds`   one Workload
//     StatefulSet, LeaderWorkerSet                                          one per group of pods
//     Deployment, and pods whose template alone names a queue               one per pod
//     Pods: one per pod, or one per pod group
//
// Threads: pure functions.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "integrations/kind_description.h"
#include "simulation/lint.h"
#include "view/screens/plan_screen.h"

namespace berth::view {

// An object that a job reads beside itself, as its training runtime; null: it does not exist.
using FindReadObject = std::function<std::shared_ptr<const nlohmann::json>(
    const integrations::ReadRule& rule, const std::string& namespace_name,
    const std::string& name)>;

struct PlannedJobsInput {
  std::string namespace_name;  // the namespace of jobs that name none
  std::string queue;           // LocalQueue of all jobs; empty: each job names its own
  const std::vector<api::PriorityClass>* priority_classes =
      nullptr;  // null: priorities do not count
  // A LocalQueue "default" among these takes the jobs of its namespace that name no queue.
  const std::vector<api::LocalQueue>* local_queues = nullptr;
  // integrations.frameworks; null: each kind is queued.
  const std::vector<std::string>* frameworks = nullptr;
  FindReadObject find;  // finds objects that the documents lack; null: only the documents count
  // How a message says that an object does not exist.
  std::string absent = "does not exist";
};

struct PlannedJobs {
  std::vector<PlannedJob> jobs;
  // In the order of the documents. Rules: not-readable, unknown-priority, unknown-runtime,
  // kind-not-queued, queue-not-used. A job without its priority class is among `jobs`, too.
  std::vector<simulation::LintFinding> problems;
};

// Documents that are no jobs are left out, as are jobs that their kind's rules leave to others.
PlannedJobs PlanJobsOf(const std::vector<nlohmann::json>& documents, const PlannedJobsInput& input);

// Like PlanJobsOf, but the first problem of severity kError is returned as the error. Errors:
// kInvalid with kind, name and field; kNotFound: a priority class or runtime that does not exist.
Result<std::vector<PlannedJob>> PlannedJobsOf(const std::vector<nlohmann::json>& documents,
                                              const PlannedJobsInput& input);

// "Job train: spec.parallelism: …"
std::string ProblemText(const simulation::LintFinding& problem);

}  // namespace berth::view
