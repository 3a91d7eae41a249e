// integrations/job_view.h — the facts of a job of any kind on which queueing depends.
//
// batch_job.h makes the views of batch Jobs, described_job.h those of the kinds that a description
// defines (kind_description.h), pods/ those of pods and pod groups; all turn starts and stops into
// writes to the objects. action_plan.h decides on views alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/job_pod_set.h"
#include "api/object_meta.h"
#include "api/workload.h"

namespace berth::integrations {

// A job kind's names. A view refers to its kind, which outlives the view.
struct JobKind {
  std::string_view group;
  std::string_view version;
  std::string_view kind;
  std::string_view plural;
  std::string_view framework;  // name in Configuration.integrations.frameworks
};

inline constexpr JobKind kBatchJob{"batch", "v1", "Job", "jobs", "batch/job"};

inline constexpr JobKind kPod{"", "v1", "Pod", "pods", "pod"};

struct JobOutcome {
  bool succeeded = false;
  std::string message;
};

// Pods that are queued themselves (integrations/pods/): they exist before they start. A start
// ungates them, a stop deletes them, and no template is restored.
struct BarePods {
  // Members of one Workload, which has the group's name and all of them as owners.
  struct Group {
    std::string name;
    std::vector<api::OwnerReference> owners;
    bool matches = false;  // the Workload of that name is of this group
    std::string problem;   // why no Workload can be made; empty: one can
  };
  bool gated = false;          // a pod waits for a start
  bool running = false;        // a stop has to delete a pod
  bool present = false;        // a pod is not being deleted
  bool held = false;           // a pod has the finalizer of managed pods
  std::optional<Group> group;  // absent: one pod
};

// An object whose pods are held by their gates (pods/pod_parent.h). The view's pod sets are those
// of each of its Workloads.
struct PodParent {
  std::int32_t groups = 1;   // number of its Workloads
  std::string old_revision;  // the revision of pods that a rolling update will replace; empty: none
};

struct JobView {
  const JobKind* kind = &kBatchJob;
  api::ObjectMeta meta;
  bool suspended = false;  // suspended, and not in the middle of a stop
  bool stopping = false;   // between the writes of a stop
  bool active = false;     // some pod exists that is not terminating
  // Set while pods terminate: the instant until which the quota waits for them; max() where their
  // deletion time is unknown.
  std::optional<WallTime> ending_until;
  bool pods_ready = false;  // all required pods are ready or finished
  std::optional<JobOutcome> finished;
  std::vector<api::JobPodSet> pod_sets;
  std::vector<api::ReclaimablePod> reclaimable_pods;
  // The PriorityClass that the kind chooses; empty: that of the templates.
  std::string priority_class;
  bool skipped = false;         // the kind's rules leave the job to others
  bool is_delegated = false;    // left to others, too: its field managedBy names MultiKueue
  bool on_hold = false;         // the kind's rules give the job's quota back
  bool has_additions = false;   // the object has additions of a start, beside its pod sets
  bool elastic = false;         // the job has workload slices (job_slices.h)
  std::string slice_variant;    // elastic job: differs with its size; part of slices' names
  bool queue_is_fixed = false;  // the Workload does not follow changes of the queue's name
  std::string problem;          // the object does not fit its kind's description; empty: it does
  bool lacks_object = false;    // the problem: an object that the description reads does not exist
  bool state_unknown = false;   // the problem: an expression about its state fails
  bool reads_objects = false;   // the pod sets depend on further objects
  std::optional<BarePods> bare_pods;
  std::optional<PodParent> pod_parent;
};

// The target of a start or stop for one pod set: the template's labels, annotations, node selector,
// tolerations and scheduling gates, and the number of pods.
struct PodSetChange {
  std::string name;
  std::int32_t count = 0;
  bool count_is_partial = false;  // partial admission: the job's size becomes `count`
  api::StringMap labels;
  api::StringMap annotations;
  api::StringMap node_selector;
  std::vector<api::Toleration> tolerations;
  std::vector<std::string> scheduling_gates;
  bool is_placed = false;  // each pod gets its node or domain when the topology gate goes
  friend bool operator==(const PodSetChange&, const PodSetChange&) = default;
};

}  // namespace berth::integrations
