// integrations/controller/pod_writes.h — the writes to pods that start and stop them.
//
// Threads: pure functions.
#pragma once

#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "integrations/controller/job_source.h"
#include "integrations/pods/queued_pod.h"

namespace berth::integrations {

PodWrite WriteTo(const QueuedPod& pod, nlohmann::json patch);

// The writes of a stop: the condition TerminationTarget, which says why the pod ends, then the
// deletion.
std::vector<PodWrite> StopWrites(const QueuedPod& pod, const StopJob& stop);

}  // namespace berth::integrations
