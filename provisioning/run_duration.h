// provisioning/run_duration.h — how long a Workload may run, and how long its capacity is asked
// for.
//
//     expected = maximum execution time of the Workload, else activeDeadlineSeconds of its Job
//     asked    = expected + margin + 600 s for the boot, within the policy's bounds, rounded up to
//                5 minutes
//
// Clouds serve shorter requests sooner. Units: seconds. Threads: pure functions. Errors: none.
#pragma once

#include <cstdint>
#include <optional>

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

// The parameter of the Workload, else of the config; nullopt: neither says it.
std::optional<std::int64_t> RunParameter(const api::Workload& workload,
                                         const api::ProvisioningRequestConfig& config);

std::int64_t AskedRun(const api::ProvisioningPolicy::RunDuration& rule, std::int64_t expected);

// When the cloud takes the request's nodes back; nullopt: there are none, or nobody said.
std::optional<WallTime> ExpiryOf(const api::ProvisioningRequest& request);

}  // namespace berth::provisioning
