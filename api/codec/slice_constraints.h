// api/codec/slice_constraints.h — the annotation kueue.x-k8s.io/podset-slice-required-topology-
// constraints: up to three layers of slices as a JSON list, `[{"topology":"rack","size":16}]`.
//
// Threads: pure functions. Source: Kueue KEP-2724 (multi-layer topology).
#pragma once

#include <string>
#include <vector>

#include "api/workload.h"
#include "base/result.h"

namespace berth::api {

// Errors: kInvalid where `text` is no JSON list of such objects. The values are not validated.
Result<std::vector<TopologyRequest::SliceConstraint>> ParseSliceConstraints(
    const std::string& text);

}  // namespace berth::api
