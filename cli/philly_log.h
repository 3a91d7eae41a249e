// cli/philly_log.h — the job log of Microsoft's Philly clusters as a workload for `berth simulate`.
//
// Threads: pure functions. Source: github.com/msr-fiddle/philly-traces, README (cluster_job_log).
#pragma once

#include <string_view>

#include "base/result.h"
#include "simulation/trace.h"

namespace berth::cli {

// Whether the text is JSON with the fields of cluster_job_log.
bool IsPhillyLog(std::string_view text);
// A job takes the GPUs of its largest attempt: a pod for each server if all servers have the same
// number of GPUs, else a pod for each GPU. It runs for the sum of its attempts. Jobs without an
// attempt of known length are skipped and counted. `origin` is the virtual cluster. Errors:
// kInvalid, "line 3, column 1: …": the place of the job's id, or of the text that is not JSON.
Result<simulation::Trace> ReadPhillyLog(std::string_view text);

}  // namespace berth::cli
