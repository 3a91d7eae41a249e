// tests/simulation/standing_cluster.h — Workloads of a cluster at one moment, for tests of
// forecasts.
//
// Threads: one. Errors: none.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "api/workload.h"
#include "base/clock.h"

namespace berth::simulation {

inline constexpr WallTime kNow{std::chrono::seconds(1'800'000'000)};

// A Workload of Job `name` with one pod of `cpus` CPUs in the LocalQueue team/`queue`, created
// `age` seconds before kNow, with the uid "uid-NAME".
api::Workload WaitingWorkload(const std::string& name, const std::string& queue, int cpus,
                              std::int64_t age = 10);
// Admitted `elapsed` seconds before kNow, in the ClusterQueue `queue`, flavor "default".
api::Workload RunningWorkload(const std::string& name, const std::string& queue, int cpus,
                              std::int64_t elapsed);
void AddCondition(api::Workload& workload, const std::string& type, bool value,
                  const std::string& reason, std::int64_t seconds_ago);

}  // namespace berth::simulation
