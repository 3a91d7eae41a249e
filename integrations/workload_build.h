// integrations/workload_build.h — the Workload that stands for a job, and whether one still does.
//
// Source: Kueue pkg/controller/jobframework/reconciler.go, pkg/util/equality.
#pragma once

#include <string>
#include <vector>

#include "api/workload.h"
#include "integrations/job_view.h"
#include "integrations/pod_set_change.h"
#include "integrations/priority.h"

namespace berth::integrations {

struct BuildOptions {
  std::vector<std::string> label_keys_to_copy;  // Configuration.integrations.labelKeysToCopy
};

// Name, owner, finalizer, labels, annotations and spec of a new Workload for `job`.
api::Workload BuildWorkload(const JobView& job, const JobPriority& priority,
                            const BuildOptions& options);

// The LocalQueue a job names; empty: none.
std::string QueueNameOf(const JobView& job);

// Whether `workload` says what `job` says. A workload that holds quota may also differ by what its
// start has changed in the job.
bool IsEquivalent(const JobView& job, const api::Workload& workload, const FlavorsByName& flavors);

// Beyond that: whether a waiting workload would place the job's pods as the job's template says
// now (node selector, affinity, priority class). Kueue does not look; edits would be lost.
bool PlacesAlike(const JobView& job, const api::Workload& workload);

}  // namespace berth::integrations
