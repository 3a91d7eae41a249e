// view/screens/told_workload.h — finds the Workload that a command tells of, by the name that its
// user typed.
//
// Pure.
#pragma once

#include <string>

#include "base/result.h"
#include "view/screens/cluster_view.h"

namespace berth::view {

struct ObjectReference {
  std::string kind;  // "job", "workload", "pod" or unknown; empty: a job, else a workload
  std::string name;
};
ObjectReference ParseReference(const std::string& reference);
// Whether the word is none of "", "job", "workload" and "pod".
bool IsOtherKind(const std::string& kind);
// "jobset/x", "jobsets/x" and "jobset.jobset.x-k8s.io/x" name the owner x of the kind JobSet.
bool NamesOwner(const ObjectReference& reference, const api::OwnerReference& owner);
bool BelongsTo(const ObjectReference& reference, const api::Workload& workload);

// `reference`: "job/NAME", "KIND/NAME", "workload/NAME", "pod/NAME", or "NAME" (a job, else a
// workload). Errors: kNotFound with the nearest name, kInvalid for a Job that is not queued. The
// Workload is one of `view`.
Result<const api::Workload*> FindToldWorkload(const ClusterView& view,
                                              const std::string& namespace_name,
                                              const std::string& reference);

}  // namespace berth::view
