// local/cluster/jobs/job_tally.h — counts the pods of a Job: finished pods, and the phase of
// counting that each has reached (job_plan.h describes the phases).
//
// Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "local/cluster/jobs/job_state.h"

namespace berth::local::cluster {

struct JobTally {
  std::int64_t active = 0;
  std::int64_t ready = 0;
  std::int64_t terminating = 0;
  std::int64_t succeeded = 0;  // including pods that the status does not count yet
  std::int64_t failed = 0;
  IndexSet succeeded_indexes;
  IndexSet failed_indexes;  // kept for backoffLimitPerIndex
  std::map<std::int64_t, std::int64_t> failures_by_index;
  std::optional<std::string> failing_pod;  // message of the podFailurePolicy rule FailJob
};

// Counts the present pods without changing the status.
JobTally CountPods(const JobView& view, const JobSpec& spec);

enum class Ending {
  kNo,         // the Job goes on
  kSucceeded,  // running pods are deleted and not counted
  kFailed,     // running pods count as failed
  kDeleted,    // the Job is being deleted
};

// Advances `status` by one phase: uids whose pods have lost the finalizer become counts; newly
// terminal pods become uids (at most 500) or indexes. Returns the pods to release once `status` is
// written.
std::vector<std::size_t> AdvanceCounting(const JobView& view, const JobSpec& spec,
                                         const JobTally& tally, Ending ending, Json& status);

// Whether no uid is uncounted and no pod has the tracking finalizer.
bool IsCountingDone(const JobView& view, const Json& status);

// When the next pod may be created after failures: 10 s after the last failure, doubled with each
// failure since the last success, at most 10 min. `index`: only failures of that index count.
// Disrupted pods (DisruptionTarget) do not count: unlike upstream, they are replaced at once.
std::optional<WallTime> BackoffUntil(const JobView& view, std::optional<std::int64_t> index);

}  // namespace berth::local::cluster
