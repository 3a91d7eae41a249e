// admission/controller/notes/explanation.h — a decision's reasons as JSON, for the annotation
// berth.dev/explanation (api/labels.h), which `berth why` and `berth status` show.
//
//     {"tried": [{"podSet", "flavor", "resource", "asked", "available", "nominal", "limit",
//                 "message"}],
//      "victims": [{"workload", "whyNot"}],
//      "mayPreempt": {"withinClusterQueue", "reclaimWithinCohort"},     where there is no candidate
//      "stops": {"lostSeconds", "count"}}       where stops of workloads like it were measured
//
// (admission/controller/notes/history_json.h adds "history".)
//
// Amounts are in the resource's smallest unit (cpu: milli). Text comes from the recorded Decision:
// docs/develop/decisions/0005-reasons-as-annotation.md.
//
// Threads: pure function of its arguments. Errors: none.
#pragma once

#include <string>

#include "admission/decision.h"
#include "admission/scheduler.h"

namespace berth::admission {

// At most kMaxExplanationBytes long; empty if the decision has no obstacles. `stops`: what stops of
// workloads like it have cost, or null.
std::string ExplanationJson(const Decision& decision, const StopCost* stops,
                            const Scheduler& scheduler);
inline constexpr std::size_t kMaxExplanationBytes = 4096;

}  // namespace berth::admission
