// local/cluster/jobs/job_pods.h — makes the pods of a Job, and ranks them for deletion.
//
// Pure.
#pragma once

#include <optional>
#include <vector>

#include "local/cluster/jobs/job_state.h"

namespace berth::local::cluster {

// A pod of the Job's template; `index` and `index_failures` only for indexed Jobs.
Json MakeJobPod(const Json& job, std::optional<std::int64_t> index, std::int64_t index_failures);

// Positions in `pods` of all active pods, in the order of deletion: duplicates of an index and
// indexes outside [0, completions), then unscheduled before scheduled, pending before running, not
// ready before ready, more restarts first, newer first.
std::vector<std::size_t> RankForDeletion(const std::vector<PodView>& pods, const JobSpec& spec);

// The number of pods at the head of RankForDeletion that stand there for their index alone.
std::size_t SuperfluousByIndex(const std::vector<PodView>& pods, const JobSpec& spec);

}  // namespace berth::local::cluster
