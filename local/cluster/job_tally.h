// local/cluster/job_tally.h — the counting half of the Job controller: which pods are over, and how
// far each has got on its way into the status (job_plan.h tells the two phases).
//
// Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "local/cluster/job_view.h"

namespace berth::local::cluster {

struct JobTally {
  std::int64_t active = 0;
  std::int64_t ready = 0;
  std::int64_t terminating = 0;
  std::int64_t succeeded = 0;  // with those on their way
  std::int64_t failed = 0;
  IndexSet succeeded_indexes;
  IndexSet failed_indexes;  // with backoffLimitPerIndex
  std::map<std::int64_t, std::int64_t> failures_by_index;
  std::optional<std::string> failing_pod;  // message of a podFailurePolicy rule FailJob
};

// What the pods say now, without changing anything.
JobTally CountPods(const JobView& view, const JobSpec& spec);

enum class Ending {
  kNo,         // the Job goes on
  kSucceeded,  // what still runs is deleted, and counts nowhere
  kFailed,     // what still runs counts as failed
  kDeleted,    // the Job itself goes away
};

// Moves `status` one step on: uids whose pods have no finalizer any more become counts; newly
// terminal pods become uids (at most 500) or indexes. The answer: pods whose finalizer may go once
// `status` is written.
std::vector<std::size_t> AdvanceCounting(const JobView& view, const JobSpec& spec,
                                         const JobTally& tally, Ending ending, Json& status);

// Nothing is on its way into the counters, and no pod is tracked.
bool IsCountingDone(const JobView& view, const Json& status);

// How long to wait before the next pod, after failures: 10 s, doubled with each one since the last
// success, at most 10 min, from the last failure. `index`: of that index only. Pods that were
// disrupted (DisruptionTarget) do not count: unlike upstream, they are replaced at once.
std::optional<WallTime> BackoffUntil(const JobView& view, std::optional<std::int64_t> index);

}  // namespace berth::local::cluster
