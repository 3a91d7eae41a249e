// provisioning/slow_steps.h — steps of a ProvisioningPolicy that are passed over because a later
// step is expected to have nodes sooner (minEtaGainSeconds).
//
//     expected wait of the step − expected wait of the following step > minEtaGainSeconds ─▶ veto
//
// The expected wait is the median of expected_wait.h, from the stock memory. A step with zones has
// the expected wait of its quickest zone. The following step is the next one that is not used up
// and has no veto of its own, whatever its flavor. Requests that wait now do not count.
//
// The following step may need quota that the Workload never gets. So a step is passed over for no
// longer than the expected gain, from the time that the Workload's memory has (passed_over): after
// that wait nothing would be gained.
//
// Nothing is passed over while a request of the Workload waits or has its nodes: such a request is
// not ended, and the forecasts (20 us for three steps) are saved.
//
// A step that is passed over learns nothing. So an expectation holds only for kOutlookLife after
// the last outcome for the step's machines; then the step is asked for again. Without an outcome
// for its machines no step is passed over.
//
// Units: seconds. Threads: pure functions. Errors: none.
#pragma once

#include "base/clock.h"
#include "provisioning/vetoes.h"

namespace berth::provisioning {

inline constexpr Duration kOutlookLife = std::chrono::hours(6);

// Adds the vetoes of slow steps to `vetoes`, which has all others.
void PassOverSlowSteps(const VetoInput& input, Vetoes& vetoes);

}  // namespace berth::provisioning
