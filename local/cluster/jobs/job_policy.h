// local/cluster/jobs/job_policy.h — evaluates podFailurePolicy and successPolicy of a Job.
//
// Pure. Source: Kubernetes "Jobs" (Pod failure policy, Success policy).
#pragma once

#include <optional>
#include <string>

#include "local/apiserver/api.h"
#include "local/cluster/jobs/job_state.h"

namespace berth::local::cluster {

enum class FailureAction { kCount, kIgnore, kFailIndex, kFailJob };

struct FailureVerdict {
  FailureAction action = FailureAction::kCount;
  std::string message;  // set for kFailJob
};

// The verdict of the first rule that matches the failed `pod`; default: the failure counts.
FailureVerdict JudgeFailure(const Json& job, const Json& pod);

// "Matched rules at index N" of the first success rule that `succeeded` satisfies.
std::optional<std::string> MatchSuccessPolicy(const Json& job, const IndexSet& succeeded);

}  // namespace berth::local::cluster
