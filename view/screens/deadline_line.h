// view/screens/deadline_line.h — the prospects of a job's deadline (api/deadline.h), as one line.
//
// Pure.
#pragma once

#include <string>

#include "view/screens/cluster_view.h"

namespace berth::view {

// "deadline 2026-01-05T14:20:00Z, in 5h: kept in 85 of 100 futures (forecast of 3m ago)"; empty:
// the Workload has no deadline that can be read.
std::string DeadlineLine(const ClusterView& view, const api::Workload& workload);

}  // namespace berth::view
