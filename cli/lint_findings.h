// cli/lint_findings.h — what is wrong with manifests: the findings of `berth lint`, and of `berth
// init` about the manifests that it makes.
//
// Threads: one. Errors: those of the readers of queues and machines.
#pragma once

#include <string>
#include <vector>

#include "admission/scheduler.h"
#include "base/result.h"
#include "view/manifest_objects.h"

namespace berth::cli {

// The problems of `manifests` are taken out of them. `scheduler` decides about the jobs;
// `frameworks`: integrations.frameworks, null: each kind is queued.
Result<std::vector<view::PlacedFinding>> FindingsOf(view::ManifestObjects& manifests,
                                                    const admission::SchedulerConfig& scheduler,
                                                    const std::vector<std::string>* frameworks);

}  // namespace berth::cli
