// integrations/action_plan.h — plans the next actions for one job.
//
//     JobSituation + now --PlanJob--> actions, performed in order
//
// Idempotent: planning again after performing a plan reaches a fixed point. A pass ends at the
// first action that fails; the next pass plans from the new situation.
//
// The jobs of bare pods have a plan of their own around this one (pods/pod_plan.h).
//
// Source: Kueue pkg/controller/jobframework/reconciler.go (order of the steps, texts of events).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "api/condition.h"
#include "api/workload.h"
#include "base/clock.h"
#include "integrations/job_view.h"
#include "integrations/pod_set_change.h"
#include "integrations/priority.h"
#include "integrations/workload_build.h"

namespace berth::integrations {

enum class NamespaceRule { kManaged, kUnmanaged };           // managedJobsNamespaceSelector
enum class QueueNameRule { kRequired, kManageWithoutName };  // manageJobsWithoutQueueName
enum class PodsReadyRule { kReport, kIgnore };               // waitForPodsReady

// An ancestor of the job that is managed itself: the job runs when the ancestor may run.
struct ManagedAncestor {
  // The ancestor's Workload is admitted, or one of its slices if it is an elastic job.
  bool admitted = false;
};

struct JobSituation {
  JobView job;
  // The Workloads that the job owns (OwningJobOf), and the prebuilt Workload that it names.
  std::vector<api::Workload> workloads;
  std::optional<ManagedAncestor> ancestor;
  bool nested_too_deep = false;  // the search for an ancestor ended at its limit
  NamespaceRule namespace_rule = NamespaceRule::kManaged;
  bool namespace_terminates = false;  // nothing can be created there
  QueueNameRule queue_name_rule = QueueNameRule::kRequired;
  PodsReadyRule pods_ready_rule = PodsReadyRule::kReport;
  bool report_reclaimable_pods = true;
  WorkloadNameRule workload_name_rule = WorkloadNameRule::kAnnotate;
  BuildOptions build;
  // Time to keep a job that was deactivated for a limit or a rejected check; nullopt: for ever.
  std::optional<Duration> keep_deactivated;
  // Objects of the cluster; null: none.
  const PriorityClassesByName* workload_priority_classes = nullptr;
  const PriorityClassesByName* priority_classes = nullptr;
  const FlavorsByName* flavors = nullptr;
};

struct CreateWorkload {
  api::Workload workload;
};
struct DeleteWorkload {  // removes the finalizer, then the object
  api::ObjectKey key;
};
struct EndWorkload {  // deletes the object; its finalizer goes when its pods are gone
  api::ObjectKey key;
};
struct RemoveWorkloadFinalizer {
  api::ObjectKey key;
};
struct UpdateWorkloadSpec {  // the whole spec, and maximum execution time
  api::ObjectKey key;
  api::WorkloadSpec spec;
};
struct AdoptWorkload {  // the job becomes the controller of a prebuilt workload
  api::ObjectKey key;
  api::OwnerReference owner;
};
struct SetQueueName {
  api::ObjectKey key;
  std::string queue_name;
};
struct SetAnnotation {
  api::ObjectKey key;
  std::string annotation;
  std::string value;  // empty: without the annotation
};
struct SetPriority {
  api::ObjectKey key;
  JobPriority priority;
};
struct SetReclaimablePods {
  api::ObjectKey key;
  std::vector<api::ReclaimablePod> pods;
};
struct SetWorkloadCondition {  // field manager kueue-job-controller-<type>
  api::ObjectKey key;
  api::Condition condition;
};
struct ReleaseQuota {  // the whole status, field manager kueue-admission
  api::ObjectKey key;
  api::WorkloadStatus status;
};
struct StartJob {
  std::vector<PodSetChange> pod_sets;
  // Set for a job that is held by its pods (held_job.h): the pods that start, and their Workload.
  std::vector<std::string> pods;
  std::string workload;
};
struct StopJob {  // `originals` empty: the templates do not change
  std::vector<PodSetChange> originals;
  // Set for bare pods, which a stop deletes: the condition that says why.
  std::string reason;
  std::string message;
  WallTime at{};
  std::vector<std::string> pods;  // set for a job that is held by its pods: those that stop
};
// Makes the job's operator create a pod again that a stop has deleted.
struct RestartJob {};
// Writes the size of an object that sizes a pod set.
struct ResizeGroup {
  api::ObjectMeta group;
  std::int32_t replicas = 0;
  std::string retired;  // the annotation; empty: none
};
// Deletes the objects that make these pods, one each.
struct DeleteMakers {
  std::vector<std::string> pods;
};
// Removes the finalizer of managed pods from bare pods.
struct ReleasePods {
  enum class Then : std::uint8_t { kLeave, kDelete };
  std::vector<std::string> names;  // empty: all pods of the job
  Then then = Then::kLeave;
};
struct AddOwners {  // further pods of the Workload's group
  api::ObjectKey key;
  std::vector<api::OwnerReference> owners;
};
// Labels and annotations of the pods of a parent (pods/pod_parent.h).
struct PodMark {
  std::string pod;
  api::StringMap labels;
  api::StringMap annotations;
  bool ungate = false;  // without the gates of admission and topology
};
struct MarkPods {
  std::vector<PodMark> pods;
};
struct DeleteJob {};  // deletes its dependents, too
struct EmitEvent {
  enum class Type { kNormal, kWarning };
  Type type = Type::kNormal;
  std::string reason;
  std::string message;
  std::string pod;  // the event is about this pod of the job; empty: about the job
};

using JobAction = std::variant<CreateWorkload, DeleteWorkload, EndWorkload, RemoveWorkloadFinalizer,
                               UpdateWorkloadSpec, AdoptWorkload, SetQueueName, SetAnnotation,
                               SetPriority, SetReclaimablePods, SetWorkloadCondition, ReleaseQuota,
                               StartJob, StopJob, RestartJob, ResizeGroup, DeleteMakers,
                               ReleasePods, AddOwners, MarkPods, DeleteJob, EmitEvent>;

struct JobPlan {
  std::vector<JobAction> actions;
  // A required object does not exist yet ("WorkloadPriorityClass \"x\" not found"): retry with
  // backoff.
  std::optional<std::string> retry;
  std::optional<Duration> look_again;  // time of the next due step
};

JobPlan PlanJob(const JobSituation& situation, WallTime now);

// The job is left as it is. If no controller of this program will ever run it, an event says so.
JobPlan PlanSkippedJob(const JobSituation& situation);
// The job stays as it is, because its ancestors cannot be known.
JobPlan PlanNestedJob();

// The job is gone: its Workloads end, and Berth's finalizer goes. A Workload of a parent of pods
// stays until it is deleted: pods may come and go.
JobPlan PlanMissingJob(const std::vector<api::Workload>& workloads, WallTime now);

// The condition Finished of a Workload whose owner is gone, so that nothing can use its quota any
// more.
SetWorkloadCondition EndedWithoutOwner(const api::Workload& workload, WallTime now);

}  // namespace berth::integrations
