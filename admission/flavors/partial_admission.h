// admission/flavors/partial_admission.h — finds the largest pod counts that fit, for partial
// admission.
//
// A pod set with a minCount may shrink to that count; all such pod sets shrink in proportion.
// Bisection finds the largest counts below the full ones that `fits` accepts.
//
// Threads: pure function. Errors: none.
// Source: Kueue KEP-420, pkg/scheduler/flavorassigner/podset_reducer.go.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "api/workload.h"

namespace berth::admission {

// Returns whether some reduced counts fit; the last call that `fits` accepted had the largest such
// counts. Returns false without a call of `fits` where no pod set can shrink.
bool LargestReducedCounts(const api::Workload& workload,
                          const std::function<bool(const std::vector<std::int32_t>&)>& fits);

}  // namespace berth::admission
