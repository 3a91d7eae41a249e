// admission/partial_admission.h — how many pods a workload has to do with.
//
// Where a pod set has a minCount, its count may shrink to it; all such pod sets shrink in
// proportion. The largest counts below the full ones that `fits` accepts are found by bisection.
//
// Threads: pure function. Errors: none.
// Source: Kueue KEP-420, pkg/scheduler/flavorassigner/podset_reducer.go.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "api/workload.h"

namespace berth::admission {

// Whether some reduced counts fit; `fits` was last accepted with the largest such counts. It is not
// asked about the full counts again where no pod set can shrink.
bool LargestReducedCounts(const api::Workload& workload,
                          const std::function<bool(const std::vector<std::int32_t>&)>& fits);

}  // namespace berth::admission
