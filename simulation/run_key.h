// simulation/run_key.h — what makes the runs of jobs alike.
//
// Units: seconds; amounts are those of api/quantity.h. Threads: pure functions. Errors: none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "api/quantity.h"
#include "api/workload.h"

namespace berth::simulation {

struct RunKey {
  std::string queue;              // LocalQueue, as NAMESPACE/NAME
  std::string kind;               // the owner's kind; empty: a Workload without owner
  std::string name;               // the name of the owner, or of the Workload
  std::string user;               // the submitter (api/job_user.h); empty: unknown
  std::string image;              // images of the first container of each pod set; empty: unknown
  api::ResourceAmounts requests;  // the sum of all pods
  std::optional<std::int64_t> declared;  // the most that it may run
  friend bool operator==(const RunKey&, const RunKey&) = default;
};

// `job_deadline`: activeDeadlineSeconds of the Workload's Job.
RunKey RunKeyOf(const api::Workload& workload, std::optional<std::int64_t> job_deadline);
// "train" of "train-20260131-x2x9k" and of "train-17": the name without the parts at its end that
// have digits; the first part always stays.
std::string StemOf(const std::string& name);

}  // namespace berth::simulation
