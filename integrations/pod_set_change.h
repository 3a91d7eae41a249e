// integrations/pod_set_change.h — what an admitted Workload's pods get beyond the user's template,
// and what they lose again when it is stopped.
//
//     template + flavors' labels and tolerations + checks' podSetUpdates + queue labels → change
//
// Additions only: a key that the template or another source already has with another value is a
// conflict, which no retry resolves. Source: Kueue pkg/podset, pkg/controller/jobframework.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "api/queues.h"
#include "api/workload.h"
#include "base/result.h"
#include "integrations/job_view.h"

namespace berth::integrations {

using FlavorsByName = std::map<std::string, api::ResourceFlavor>;

// One change a pod set of `workload`, in their order, for a workload that holds quota.
// Errors: kInvalid for a conflict (permanent: the workload cannot start); kNotFound for a flavor
// that is not in `flavors` (it may come).
Result<std::vector<PodSetChange>> StartChanges(const api::Workload& workload,
                                               const FlavorsByName& flavors);

// The pod sets as the Workload stored them: what a stop restores.
std::vector<PodSetChange> OriginalPodSets(const api::Workload& workload);

// Whether the job's templates and sizes are those: it has not been started, or has been restored.
bool IsOriginal(const JobView& job, const api::Workload& workload);

}  // namespace berth::integrations
