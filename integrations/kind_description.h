// integrations/kind_description.h — the description of a job kind: where its objects keep pod
// templates and sizes, how a job is held, and how its state is read. A kind is data: one YAML file
// (docs/guide/job-kinds.md has the schema; kinds/*.yaml are the built-in ones).
//
//     kinds/jobset.yaml ──ParseKind──▶ KindDescription ──┬─▶ described_job.h: object → JobView
//                                      (checked, compiled)└─▶ described_job.h: start, stop → object
//
// Expressions are CEL (cel/program.h) over these variables:
//     self        the object; held by its numbers of pods, with those that its owner wants
//     conditions  map from the type of each of status.conditions to whether its status is "True"
//     item, key   in podSets with `each`: the element of the list or map, the member's name
//     podSet      in `reclaimable`: {name, count}
//     expanded    what the kind's hook makes of the object (kind_hooks.h)
//     old         in `review`: the object that is changed; null on create
//     pod         in `pods.podSet` and `pods.group`: {name, labels, annotations}, nothing else
//
// Threads: immutable; any. Errors: kInvalid with the path of the field of the description.
// Source: Kueue pkg/controller/jobs (one package for each kind).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "api/codec/kinds.h"
#include "base/result.h"
#include "cel/program.h"
#include "integrations/job_view.h"
#include "integrations/kind_hooks.h"
#include "integrations/object_hold.h"

namespace berth::integrations {

// A label that the pods of a pod set have, with its value for one object.
struct PodLabelRule {
  std::string label;
  cel::Program value;
};

struct PodSetRule {
  FieldPath each;                    // a list, or a map with `keys`; empty: one pod set
  std::vector<std::string> keys;     // members of the map, in the order of the pod sets
  std::optional<cel::Program> when;  // false: no pod set
  cel::Program name;
  FieldPath pod_template;  // in the element or, without `each`, in the object
  cel::Program count;
  // The number of pods, which is 0 while the object is held: in the element or the object; empty:
  // no such number holds the pod set.
  FieldPath replicas;
  std::vector<std::string> dropped_labels;  // labels of the template, left out of the Workload
  std::string pod_index_label;  // topology: the pods' label with their index; empty: none
  std::string sub_group_label;
  std::optional<cel::Program> sub_group_count;
  TemplateHook hook = nullptr;  // null: the template is the object's
  bool spec_only = false;       // the Workload has the template without its metadata
  // Labels and annotations that begin with this prefix are left out of the Workload.
  std::string dropped_prefix;
  std::vector<std::string> kept_labels;  // labels that stay in spite of the prefix
  std::vector<PodLabelRule> pods;        // PodHold: which pods of the job are those of the pod set
};

// The rule of a kind whose objects cannot be suspended: their pods are held by scheduling gates
// (pods/pod_parent.h). The object's reviews mark the metadata from which its pods are made, with
// the annotation pod-suspending-parent and more.
struct PodsRule {
  std::string selector;      // label selector of pods that may be an object's
  std::string parent_label;  // its value is the object's name; empty: the object controls the pod
  std::optional<cel::Program> pod_set;  // over `pod`: the name of its pod set, if there are several
  std::optional<cel::Program> group;    // over `pod`: the number of its group; absent: 0
  std::optional<cel::Program> groups;   // over `self`: the number of Workloads; absent: 1
  // Over `self`: the label controller-revision-hash of pods that a rolling update will replace.
  std::optional<cel::Program> old_revision;
  bool revisions_of_stateful_sets = false;  // the controlling StatefulSets have the old revision
  bool index_workloads = false;             // the group's number is part of the Workload's name
  bool fast_admission = false;              // the first pod suffices for the start
  bool keep_labels = false;                 // labels that a pod was created with stay as they are
  bool each_alone = false;                  // every pod has a Workload of its own, made of the pod
  std::string pod_index_label;              // the index label of pods, for topologies
  struct Marks {
    std::vector<FieldPath> metadata;  // metadata of the object, and of templates
    bool labels = false;              // queue-name and priority-class
    bool managed = false;             // label managed
    bool serving = false;             // annotation pod-group-serving
  };
  Marks marks;
};

struct FinishRule {
  cel::Program when;
  cel::Program succeeded;
  cel::Program message;
};

// The strings to which the views of a JobKind and a ResourceKind refer.
struct KindNames {
  std::string group, version, kind, plural, framework;
};

// A job whose pods are made by its own operator, and that has no field that holds it: its pods are
// held by the gate of admission (held_job.h).
struct PodHold {
  std::string job_label;  // the pods' label with the name of their job

  // Objects that size a pod set of a job that exists, or add one.
  struct Groups {
    std::shared_ptr<const KindNames> names;
    api::ResourceKind resource;
    FieldPath job;  // the name of the job
    FieldPath replicas;
    // These are expressions like those of PodSetRule; `item` is the group.
    cel::Program pod_set;
    FieldPath pod_template;
    cel::Program count;
    std::vector<PodLabelRule> pods;
    bool deployments = false;  // each pod is made by a Deployment of its own
  };
  std::optional<Groups> groups;

  // A pod whose end ends the job for its operator. A stop takes the label off before it deletes the
  // pod, and `status` makes the operator create another one while `when` is true.
  struct Restart {
    std::string pod_set;
    std::string hide_label;
    cel::Program when;
    std::shared_ptr<const nlohmann::json> status;
  };
  std::optional<Restart> restart;
};

// An object that the hook and the expressions read beside the job, in the job's namespace if the
// kind of the object is namespaced.
struct ReadRule {
  std::shared_ptr<const KindNames> names;
  api::ResourceKind resource;
  cel::Program name;  // "": the rule reads no object
};

// A rule for what a user may write.
struct ReviewRule {
  enum class Type : std::uint8_t { kInvalid, kForbidden, kRequired, kTooMany };
  FieldPath each;  // a list: the rule holds for each of its items
  FieldPath at;    // the list's name in messages
  cel::Program when;
  Type type = Type::kInvalid;
  FieldPath field;                    // a field of the item, or of the object
  std::optional<cel::Program> value;  // absent: the value of the field
  cel::Program message;               // kTooMany: the largest number as text
  bool stop = false;                  // if the rule applies, the rules behind it do not
};

// Sets an annotation of a pod set's template on create.
struct DefaultRule {
  cel::Program when;
  std::string pod_set;     // the name of a pod set
  std::string annotation;  // unless the template has it
  std::string value;
};

// The rules that the reviews of the kind's objects have beside the rules of all kinds.
struct ReviewTraits {
  std::vector<ReviewRule> rules;  // rules for objects that are queued
  std::vector<DefaultRule> defaults;
  bool prebuilt = true;         // a job may name a Workload that exists
  bool elastic = false;         // workload slices
  bool gate_templates = true;   // the pod templates of an elastic job get its scheduling gate
  bool pod_set_groups = false;  // topology: two pod sets may form a group
  bool recheck = true;          // the rules of new jobs hold for every update, too
};

struct KindDescription {
  std::shared_ptr<const KindNames> names;        // names of `kind` and `resource`
  std::shared_ptr<const nlohmann::json> source;  // the description that was read
  JobKind kind;
  api::ResourceKind resource;
  bool enabled = false;            // in the list of frameworks that Kueue's manifests enable
  std::string feature_gate;        // the gate that has to be on for the kind; empty: none
  const KindHook* hook = nullptr;  // null: none
  std::vector<ReadRule> reads;

  // How a job is held: by a boolean of the object, by PodSetRule::replicas, or by the gates of its
  // pods, which form groups (PodsRule) or are the job's alone (PodHold).
  ObjectHoldPtr held_by;  // never null
  FieldPath suspend;
  FieldPath managed_by;  // the name of the controller that runs a job; empty: no such field
  std::optional<PodsRule> pods;
  std::optional<PodHold> hold;
  std::vector<PodSetRule> pod_sets;
  std::optional<cel::Program> active;          // bool; absent: never
  std::optional<cel::Program> ready;           // bool; absent: never
  std::vector<FinishRule> finished;            // the first rule that applies counts
  std::optional<cel::Program> reclaimable;     // int, for each pod set
  std::optional<cel::Program> priority_class;  // string; absent or "": that of the templates
  std::optional<cel::Program> skip;            // bool; true: the job is not queued
  std::optional<cel::Program> on_hold;         // bool; true: the job gives its quota back
  std::optional<cel::Program>
      problem;  // string: why `reads` make no pod sets; absent or "": they do
  std::optional<cel::Program> slice_variant;  // string: differs with a size that `reads` give
  ReviewTraits review;
};

using KindPtr = std::shared_ptr<const KindDescription>;

// A field that no description has, a wrong type and an expression that does not compile are errors.
Result<KindPtr> ParseKind(const nlohmann::json& description);

}  // namespace berth::integrations
