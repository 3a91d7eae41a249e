// integrations/pods/pod_parent.h — plans the next actions for a parent of pods: an object that
// cannot be suspended and whose pods are held by their gates (StatefulSet, LeaderWorkerSet, Dask).
//
//     object ──pods.marks──▶ templates ──its operator──▶ pods, gated by their review (annotation
//        │                                                pod-suspending-parent)      │
//        └──PlanPodParent──▶ one Workload per group of pods, made before the pods     │
//                            marks on each pod that exists ◀──────────────────────────┘
//
// The marks make the pods a group with a prebuilt Workload: its pods are started and stopped by the
// plan of pods (pod_plan.h), which adds them as owners. The parent never starts or stops. It
//
//     makes a Workload for each group, follows queue, priority and size while they wait, puts them
//     on hold while the object wants no pods, finishes them with the object, deletes surplus ones;
//     marks at most as many pods of a pod set as the Workload counts: the others stay gated.
//
// Which pods, which pod set, which group and the marks are data: PodsRule of kind_description.h;
// docs/guide/job-kinds.md describes the fields.
//
// Threads: pure functions. Source: Kueue pkg/controller/jobs/{statefulset,leaderworkerset}.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "api/codec/codec.h"
#include "base/clock.h"
#include "integrations/action_plan.h"
#include "integrations/kind_description.h"

namespace berth::integrations {

// A pod that some parent's review has gated. Only the identity of other pods is kept.
struct ParentedPod {
  api::ObjectMeta meta;
  std::string framework;           // the framework of the parent; empty: none
  std::vector<std::string> gates;  // scheduling gates
  bool has_node = false;
  bool ended = false;  // succeeded or failed
};
using ParentedPodPtr = std::shared_ptr<const ParentedPod>;
Result<ParentedPod> DecodeParentedPod(const api::JsonSource& object);

// A pod at its place in a parent.
struct PlacedPod {
  ParentedPodPtr pod;
  std::string pod_set;
  std::int32_t group = 0;
  bool replaced_soon = false;  // it is of the old revision of a rolling update
};
// The pods at their places; a pod that has none (an expression fails) is left out.
std::vector<PlacedPod> PlacePods(const JobView& parent, const PodsRule& rule,
                                 const std::vector<ParentedPodPtr>& pods);

// The name of the Workload of a group, made of the object's name, or of that and the group's
// number.
std::string GroupWorkloadName(const JobView& parent, const PodsRule& rule, std::int32_t group);

// The name as Kueue before 0.17 made it, without the object's uid.
std::string EarlierWorkloadName(const JobView& parent, const PodsRule& rule, std::int32_t group);

// Whether the object is queued, so that its pods have to be known.
bool IsQueuedParent(const JobSituation& situation);

// `situation.job`: the parent, with JobView::pod_parent. `situation.workloads`: all that the object
// has made, and Workloads of an earlier name that no object owns.
JobPlan PlanPodParent(const JobSituation& situation, const PodsRule& rule,
                      const std::vector<PlacedPod>& pods, WallTime now);

}  // namespace berth::integrations
