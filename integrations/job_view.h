// integrations/job_view.h — a job of any kind, as far as queueing cares.
//
// A kind is one file (batch_job.h): it makes the view from the kind's object, and turns starts and
// stops into what is written to that object. job_plan.h decides on views alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/object_meta.h"
#include "api/workload.h"

namespace berth::integrations {

struct JobKind {
  std::string_view group;
  std::string_view version;
  std::string_view kind;
  std::string_view plural;
  std::string_view framework;  // its name in Configuration.integrations.frameworks
};

inline constexpr JobKind kBatchJob{"batch", "v1", "Job", "jobs", "batch/job"};
// Every kind that is known; a new one gets its line here.
inline constexpr const JobKind* kJobKinds[] = {&kBatchJob};

struct JobOutcome {
  bool succeeded = false;
  std::string message;
};

struct JobView {
  const JobKind* kind = &kBatchJob;
  api::ObjectMeta meta;
  bool suspended = false;  // and not in the middle of being stopped
  bool stopping = false;   // between the writes of a stop
  bool active = false;     // pods are left that have not been told to stop
  // Some of those that have been told run on; they are waited for until then, max() where nobody
  // knows when they were told.
  std::optional<WallTime> ending_until;
  bool pods_ready = false;  // all it needs are ready or done
  std::optional<JobOutcome> finished;
  std::vector<api::PodSet> pod_sets;
  std::vector<api::ReclaimablePod> reclaimable_pods;
};

// What a start or stop makes of one pod set: the template's labels, annotations, node selector,
// tolerations and scheduling gates as they shall be, and how many pods.
struct PodSetChange {
  std::string name;
  std::int32_t count = 0;
  bool count_is_partial = false;  // partial admission: the job's size is to follow `count`
  api::StringMap labels;
  api::StringMap annotations;
  api::StringMap node_selector;
  std::vector<api::Toleration> tolerations;
  std::vector<std::string> scheduling_gates;
  friend bool operator==(const PodSetChange&, const PodSetChange&) = default;
};

}  // namespace berth::integrations
