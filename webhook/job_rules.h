// webhook/job_rules.h — reviews of jobs of any kind: defaults on create, and validation of labels
// and annotations. batch_job_rules.h has the rules of batch/v1 Job alone.
//
// Threads: pure functions.
// Source: Kueue pkg/controller/jobframework (defaults, validation).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "api/object_meta.h"
#include "base/result.h"
#include "webhook/review_error.h"

namespace berth::webhook {

// The fields of a job of any kind on which its review depends.
struct ReviewedJob {
  struct PodSet {
    std::string name;
    std::int64_t count = 0;
    Path annotations;  // the path to the annotations of the pod template
    api::StringMap topology_annotations;
    bool has_elastic_gate = true;  // elastic job: the template has the gate
  };
  api::ObjectMeta meta;
  bool suspended = false;
  bool skipped = false;  // the kind's rules leave the job to others
  bool gated = false;    // elastic job: its templates get the gate of elastic jobs
  std::vector<PodSet> pod_sets;
};

struct JobFacts;

// A job kind, as its reviews see it.
struct ReviewedKind {
  std::string name;       // "jobset.x-k8s.io/v1alpha2, Kind=JobSet"
  std::string framework;  // "jobset.x-k8s.io/jobset"
  std::string path;       // "jobset-x-k8s-io-v1alpha2-jobset" of /mutate-… and /validate-…
  bool prebuilt = true;   // a job may name a Workload that exists
  bool elastic = false;   // workload slices
  bool plain_topology = false;  // an elastic job asks for no required or preferred topology
  bool pod_set_groups = false;  // topology: two pod sets may form a group
  bool recheck = true;          // the rules of new jobs hold for every update, too
  // Set if the pod templates are in another object: the advice that is added to errors about their
  // topology annotations. Empty: the templates are in the job.
  std::string topology_advice;
  // kInvalid: the object is denied with the message.
  std::function<Result<ReviewedJob>(const nlohmann::json& object)> read;
  std::function<void(nlohmann::json& object)> suspend;
  // Holds an object again that is held, and to which a user has given another size with which it
  // runs. Null: a user cannot give another size.
  std::function<void(nlohmann::json& object)> hold_again;
  // Adds to every new object the kind's defaults beside those of all kinds; null: there are none.
  // `queued`: the job names a queue, or will name one.
  std::function<void(bool queued, nlohmann::json& object)> defaults;
  // The kind's own errors of a job that is queued; null: none. `old`: null on create.
  std::function<FieldErrors(const nlohmann::json& object, const nlohmann::json& old)> own;
  // Adds the gate of elastic jobs to the pod templates; null: the kind's pods get it otherwise.
  std::function<void(nlohmann::json& object)> gate;
  // Kinds with reviews of their own; null: the rules of all kinds. `old`: null on create.
  using FactsOf = std::function<JobFacts(const api::ObjectMeta& job)>;
  std::function<Result<nlohmann::json>(const nlohmann::json& object, const FactsOf& facts)> mutate;
  std::function<Result<FieldErrors>(const nlohmann::json& object, const nlohmann::json& old,
                                    const FactsOf& facts)>
      validate;
  std::function<std::vector<std::string>(const nlohmann::json& object, const FactsOf& facts)> warn;
};

// The facts of the cluster that the review of a job needs.
struct JobFacts {
  bool kind_managed = true;             // integrations.frameworks; false: no review
  bool default_local_queue = false;     // LocalQueue "default" exists in the job's namespace
  bool default_priority_class = false;  // WorkloadPriorityClass "default" exists
  bool namespace_managed = true;        // managedJobsNamespaceSelector
  bool manage_without_queue_name = false;
  bool ancestor_managed = false;  // an owner is queued itself
  // The object has made a Workload for its pods, which is not on hold.
  bool parent_holds_workload = false;
  // Set for a pod: the framework of the queued job that its labels name, and that is held by its
  // pods; empty: none.
  std::string held_by;
  bool elastic_jobs = true;  // gate ElasticJobsViaWorkloadSlices
};

// Whether the job is to be queued.
bool IsManagedJob(const api::ObjectMeta& job);
// Whether the job is to be queued, where jobs without a queue's name may be managed, too.
bool IsQueuedJob(const api::ObjectMeta& job, const JobFacts& facts);

// Sets labels and `suspended` of a job on create.
void DefaultJob(const JobFacts& facts, ReviewedJob& job);

// `old`: null on create. `own`: the errors of the kind's own rules, which come before the errors of
// topology.
FieldErrors ValidateJob(const ReviewedJob& job, const ReviewedJob* old, const ReviewedKind& kind,
                        const JobFacts& facts, const FieldErrors& own = {});

// Warnings for requests that are allowed and have no effect, and for deadlines that a new job can
// hardly keep.
std::vector<std::string> WarningsOfJob(const api::ObjectMeta& job, bool elastic_jobs);
// The warning for a queued job whose field managedBy, at `path`, names MultiKueue.
std::string DelegationWarning(const std::string& path);

}  // namespace berth::webhook
