// integrations/batch_job.h — the job kind batch/v1 Job: its JobView, the writes of start and stop.
//
// Start: one write. Stop: three, because the API server only lets the template of a Job change once
// it is suspended, has no start time and (since Kubernetes 1.36) no pods:
//
//     running ─1 suspend=true, annotation `stopping`─▶ ─2 status.startTime=null─▶ pods go ─▶
//             ─3 template and parallelism as the Workload kept them, `stopping` removed─▶ suspended
//
// A stop continues from the Job's present state, so a crash between two writes loses nothing.
// Source: Kueue pkg/controller/jobs/job; Kubernetes batch/v1 validation (mutable scheduling
// directives).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "api/job.h"
#include "integrations/job_view.h"

namespace berth::integrations {

JobView ViewOf(const api::Job& job);

// One write to a Job. Absent members do not change.
struct BatchJobWrite {
  enum class Stopping : std::uint8_t { kLeave, kSet, kRemove };
  std::optional<bool> suspend;
  Stopping stopping = Stopping::kLeave;
  bool clear_start_time = false;  // no other member set; goes to the subresource status
  std::optional<std::int32_t> parallelism;
  std::optional<std::int32_t> completions;
  std::optional<PodSetChange> pod_template;  // replaces labels … gates of the template
  friend bool operator==(const BatchJobWrite&, const BatchJobWrite&) = default;
};

BatchJobWrite StartWrite(const api::Job& job, const PodSetChange& change);

// The writes that are possible now, in order; none while the stop waits for the pods to go. Without
// an original (the Workload is gone) the template does not change. A Job that is suspended, and not
// in the middle of a stop, only gets its template back.
std::vector<BatchJobWrite> StopWrites(const api::Job& job,
                                      const std::optional<PodSetChange>& original);

// min(parallelism, completions), with the API server's defaults for absent ones.
std::int32_t PodsCount(const api::Job& job);

}  // namespace berth::integrations
