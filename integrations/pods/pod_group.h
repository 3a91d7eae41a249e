// integrations/pods/pod_group.h — a group of pods that are admitted together: which pods belong to
// it, its pod sets, and what its state means.
//
//     pods ──ComposeGroup──▶ pod sets, one per role               no Workload yet
//     pods + Workload ──CompareGroup──▶ kept, surplus, replaced, absent
//
// Threads: pure functions. Errors: GroupComposition::problem, as the user reads it.
// Source: Kueue pkg/controller/jobs/pod (FindMatchingWorkloads, ConstructComposableWorkload).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/workload.h"
#include "base/result.h"
#include "integrations/job_view.h"
#include "integrations/pods/queued_pod.h"

namespace berth::integrations {

// The pods of one job: one pod, or those of a group in the order of their names.
struct PodsOfJob {
  std::vector<QueuedPodPtr> pods;  // not empty
  std::string group;               // empty: one pod

  const QueuedPod& first() const { return *pods.front(); }
};

inline constexpr std::size_t kMaxGroupRoles = 18;

// The number of pods that the group of `pod` has. kInvalid: its annotation is missing or no number.
Result<std::int32_t> TotalCountOf(const QueuedPod& pod);

struct GroupComposition {
  std::vector<api::JobPodSet> pod_sets;  // by name
  std::vector<QueuedPodPtr> members;     // the pods of the pod sets
  std::vector<QueuedPodPtr> surplus;     // more pods than the group has
  std::vector<QueuedPodPtr> inactive;    // failed, or deleted before they ran
  api::StringMap labels;                 // the pods' labels with `label_keys`
  std::string problem;                   // why no Workload can be made; empty: one can
};
GroupComposition ComposeGroup(const PodsOfJob& job, const std::vector<std::string>& label_keys,
                              const std::vector<std::string>& annotation_keys = {});

struct GroupComparison {
  std::vector<QueuedPodPtr> kept;
  std::vector<QueuedPodPtr> surplus;   // to delete
  std::vector<QueuedPodPtr> replaced;  // inactive, with a successor: their finalizer goes
  std::int32_t absent = 0;             // pods that are to be created
  bool matches = false;                // the kept pods are those of the Workload
};
GroupComparison CompareGroup(const PodsOfJob& job, const api::Workload& workload, WallTime now);

// The facts of the group on which queueing depends, with `members` as its pods. Its pod sets and
// BarePods::Group stay empty.
JobView ViewOfGroup(const PodsOfJob& job, const std::vector<QueuedPodPtr>& members, WallTime now);

// The facts of one pod on which queueing depends, with its pod set. The view is never `active`, so
// that quota is released at once.
JobView ViewOfPod(const QueuedPod& pod);

// The pods that have ended well, by role: their quota is free.
std::vector<api::ReclaimablePod> ReclaimablePodsOf(const std::vector<QueuedPodPtr>& members);

// The condition WaitingForReplacementPods for `absent` pods; nullopt: it does not change. The
// caller sets transition time and generation.
std::optional<api::Condition> WaitingCondition(const api::Workload& workload, std::int32_t absent);

// Cuts the counts of a group's start, those of the admission, to the pods that have not ended well:
// a Workload that is admitted again counts only these.
void LimitToPodsLeft(const PodsOfJob& job, const api::Workload& workload,
                     std::vector<PodSetChange>& changes);

// The gated pods that a start ungates, the oldest first. In a group, each role gets as many pods as
// its started pods that have not ended are below the count of the role's change.
std::vector<QueuedPodPtr> PodsToStart(const PodsOfJob& job,
                                      const std::vector<PodSetChange>& changes);

// The pod as the start of its Workload leaves it: merged labels, annotations, node selector and
// tolerations, without the gate of admission. kInvalid for a conflict, or a role without a change.
Result<PodSetChange> StartedPod(const QueuedPod& pod, bool in_group,
                                const std::vector<PodSetChange>& changes);

}  // namespace berth::integrations
