// api/job.h — batch/v1 Job: the fields that queueing reads and writes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/condition.h"
#include "api/object_meta.h"
#include "api/pod.h"

namespace berth::api {

struct Job {
  ObjectMeta meta;

  bool suspend = false;
  std::optional<std::int32_t> parallelism;
  std::optional<std::int32_t> completions;
  std::string completion_mode;  // NonIndexed, Indexed
  std::string managed_by;
  std::optional<std::int64_t> active_deadline_seconds;
  PodTemplate pod_template;
  std::int64_t grace_seconds = 30;  // terminationGracePeriodSeconds of its pods

  std::int32_t active = 0;       // pods that are not terminating
  std::int32_t terminating = 0;  // pods that terminate; 0 where Kubernetes is older than 1.29
  std::int32_t ready = 0;
  std::int32_t succeeded = 0;
  std::int32_t failed = 0;
  std::int32_t uncounted_succeeded = 0;
  std::int32_t uncounted_failed = 0;
  std::string completed_indexes;  // "0,2-4"
  std::string failed_indexes;
  std::optional<WallTime> start_time;
  std::vector<Condition> conditions;  // Suspended, Complete, Failed, …
};

}  // namespace berth::api
