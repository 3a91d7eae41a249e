// local/cluster/job_pods.h — the pods that a Job makes, and which of them go first.
//
// Pure.
#pragma once

#include <optional>
#include <vector>

#include "local/cluster/job_view.h"

namespace berth::local::cluster {

// A pod of the Job's template; `index` and `index_failures` only for indexed Jobs.
Json MakeJobPod(const Json& job, std::optional<std::int64_t> index, std::int64_t index_failures);

// Positions in `pods` of all active ones, the first to be deleted first: duplicates of an index and
// indexes outside [0, completions), then not scheduled before scheduled, pending before running,
// not ready before ready, more restarts, newer.
std::vector<std::size_t> RankForDeletion(const std::vector<PodView>& pods, const JobSpec& spec);

// How many active pods stand in RankForDeletion only because of their index.
std::size_t SuperfluousByIndex(const std::vector<PodView>& pods, const JobSpec& spec);

}  // namespace berth::local::cluster
