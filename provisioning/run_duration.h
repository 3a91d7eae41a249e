// provisioning/run_duration.h — how long a Workload may run, and how long its capacity is asked
// for.
//
//     expected = maximum execution time of the Workload, else activeDeadlineSeconds of its Job,
//                else, with runDuration.source: History, earlier runs (run_history.h)
//     asked    = expected + margin + 600 s for the boot, within the policy's bounds,
//                rounded up to 5 minutes
//
// Clouds serve shorter requests sooner. Units: seconds. Threads: pure functions. Errors: none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "api/provisioning_policy.h"
#include "api/provisioning_request.h"
#include "api/queues.h"
#include "api/workload.h"
#include "base/clock.h"

namespace berth::provisioning {

inline constexpr char kMaxRunParameter[] = "maxRunDurationSeconds";

// nullopt: unknown. `job_deadline`: activeDeadlineSeconds of the Workload's Job.
std::optional<std::int64_t> ExpectedRun(const api::Workload& workload,
                                        std::optional<std::int64_t> job_deadline);

// The deadline of the job, else the run of earlier ones where the policy asks for it; nullopt:
// neither is known. `policy`: may be null.
std::optional<std::int64_t> RunLimit(const api::ProvisioningPolicy* policy,
                                     const api::Workload& workload,
                                     std::optional<std::int64_t> job_deadline,
                                     std::optional<std::int64_t> past_run);

// The images of the first container of each pod set, each with a comma behind it: runs of Workloads
// with equal images are alike. Empty: no container names one.
std::string ImagesOf(const api::Workload& workload);

// The parameter of the Workload, else of the config; nullopt: neither has it.
std::optional<std::int64_t> RunParameter(const api::Workload& workload,
                                         const api::ProvisioningRequestConfig& config);

std::int64_t AskedRun(const api::ProvisioningPolicy::RunDuration& rule, std::int64_t expected);

// When the cloud takes the request's nodes back; nullopt: there are no nodes, or no end is known.
std::optional<WallTime> ExpiryOf(const api::ProvisioningRequest& request);

}  // namespace berth::provisioning
