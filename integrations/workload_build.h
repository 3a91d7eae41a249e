// integrations/workload_build.h — builds the Workload of a job, and compares a job with its
// Workload.
//
// Source: Kueue pkg/controller/jobframework/reconciler.go, pkg/util/equality.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/workload.h"
#include "integrations/job_view.h"
#include "integrations/pod_set_change.h"
#include "integrations/priority.h"

namespace berth::integrations {

struct BuildOptions {
  // Configuration.integrations.labelKeysToCopy, and the keys of metrics.customLabels of Workloads.
  std::vector<std::string> label_keys_to_copy;
  std::vector<std::string> annotation_keys_to_copy;  // keys of metrics.customLabels of Workloads
};

// Builds a new Workload for `job`: name, owner, finalizer, labels, annotations and spec.
api::Workload BuildWorkload(const JobView& job, const JobPriority& priority,
                            const BuildOptions& options);

// Builds the Workload of one group of a parent of pods (pods/pod_parent.h). `group`: its number;
// nullopt: the object has one group.
api::Workload BuildGroupWorkload(const JobView& parent, const std::string& name,
                                 std::optional<std::int32_t> group, const JobPriority& priority,
                                 const BuildOptions& options);

// The owner that is the Workload's job: its controller or, of a group of pods, the object that made
// it for its pods; null: none. ParentOfPods: only the object that made the Workload for its pods.
const api::OwnerReference* OwningJobOf(const api::ObjectMeta& workload);
const api::OwnerReference* ParentOfPods(const api::ObjectMeta& workload);
// The object that made the Workload for its pods, by the Workload's annotations, where the
// reference to the object is lost: it was removed, or the object was deleted without its
// dependents. Without a uid.
std::optional<api::OwnerReference> LostParentOf(const api::ObjectMeta& workload);

// Whether the Workload has the job's pod sets, as far as they are compared.
bool HasPodSetsOf(const JobView& job, const api::Workload& workload);

// The reference of a Workload to the job that controls it.
api::OwnerReference ReferenceTo(const JobView& job);

// spec.maximumExecutionTimeSeconds of the job's Workload.
std::optional<std::int32_t> MaximumExecutionTimeOf(const api::ObjectMeta& job);

// The name of the prebuilt Workload that a job names, by annotation or by label; null: none.
const std::string* PrebuiltWorkloadOf(const api::ObjectMeta& job);

// The LocalQueue that a job names; empty: none.
std::string QueueNameOf(const JobView& job);

// Whether `workload` matches `job`. A workload that holds quota may also differ by the changes that
// its start made in the job.
bool IsEquivalent(const JobView& job, const api::Workload& workload, const FlavorsByName& flavors);

// Whether a waiting workload has the node selector, affinity and priority class of the job's
// template. Kueue does not compare them, so that edits of the template would be lost.
bool PlacesAlike(const JobView& job, const api::Workload& workload);

// Whether the placement fields of a waiting job, or its queue, were edited after its workload was
// created and got quota, so that its quota and capacity would be wrong. An admitted job has the
// changes of its start, and is not compared.
bool IsMisplaced(const JobView& job, const api::Workload& workload);

}  // namespace berth::integrations
