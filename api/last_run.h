// api/last_run.h — how long the last run of a finished Workload lasted: the time from its last
// admission to its end. Earlier runs are status.accumulatedPastExecutionTimeSeconds.
//
// Threads: pure function. Errors: none.
#pragma once

#include <optional>

#include "api/workload.h"
#include "base/clock.h"

namespace berth::api {

// nullopt: the Workload has not finished, was not admitted at its end, or the clocks that wrote
// both times differ so much that the time is negative. The reason of the end does not count.
std::optional<Duration> LastRunOf(const Workload& workload);

}  // namespace berth::api
