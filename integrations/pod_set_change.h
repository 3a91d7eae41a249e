// integrations/pod_set_change.h — the additions to the user's pod templates at admission, and the
// original templates that a stop restores.
//
//     template + flavors' labels and tolerations + checks' podSetUpdates + queue labels
//              + the Workload's name → change
//
// Additions only: a key that the template or another source has with another value is a conflict,
// which no retry resolves. The names of the Workload and of its slices replace other ones.
// Source: Kueue pkg/podset, pkg/controller/jobframework.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "api/queues.h"
#include "api/workload.h"
#include "base/result.h"
#include "integrations/job_view.h"

namespace berth::integrations {

using FlavorsByName = std::map<std::string, api::ResourceFlavor>;

// Whether the pods get the annotation kueue.x-k8s.io/workload: gate TopologyAwareScheduling.
enum class WorkloadNameRule : std::uint8_t { kAnnotate, kLeave };

// What a start writes into: pod templates, which become those of the Workload with the additions;
// or pods that exist, which get the additions alone, since their own labels and annotations may
// have changed after the Workload was made of them.
enum class StartTarget : std::uint8_t { kTemplates, kPods };

// One change per pod set of `workload`, which holds quota, in the order of pod sets. Errors:
// kInvalid for a conflict (permanent: the workload cannot start); kNotFound for a flavor that is
// not in `flavors` (it may be created later).
Result<std::vector<PodSetChange>> StartChanges(const api::Workload& workload,
                                               const FlavorsByName& flavors,
                                               WorkloadNameRule rule = WorkloadNameRule::kAnnotate,
                                               StartTarget target = StartTarget::kTemplates);

// Adds the gate of workload slices to the pods of an elastic Job that no webhook has reviewed:
// without it, all pods of a later size would run.
void GateSlices(const JobView& job, std::vector<PodSetChange>& changes);

// The pod set as a change that changes nothing.
PodSetChange OriginalPodSet(const api::PodSet& pods);

// The pod sets as stored in the Workload, which a stop restores.
std::vector<PodSetChange> OriginalPodSets(const api::Workload& workload);

// Whether the job's templates and sizes are the Workload's: the job is not started, or restored.
bool IsOriginal(const JobView& job, const api::Workload& workload);

// Whether the job's templates have the additions of a start: `workload` is admitted, or a template
// has the label that each start adds. A slice that was not admitted takes over a job that the slice
// before it has started.
bool WasStarted(const JobView& job, const api::Workload& workload);

}  // namespace berth::integrations
