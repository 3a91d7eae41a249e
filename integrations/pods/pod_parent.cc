#include "integrations/pods/pod_parent.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>  // lookup only
#include <utility>

#include "api/codec/parts.h"
#include "api/holds.h"
#include "api/labels.h"
#include "api/pod_groups.h"
#include "api/reasons.h"
#include "base/strings.h"
#include "cel/program.h"
#include "integrations/annotation_plan.h"
#include "integrations/release.h"
#include "integrations/workload_build.h"
#include "integrations/workload_name.h"

namespace berth::integrations {
namespace {

cel::Value MapOf(const api::StringMap& map) {
  cel::Entries entries;
  entries.reserve(map.size());
  for (const auto& [key, value] : map) {
    entries.emplace_back(cel::Value::ViewText(key), cel::Value::ViewText(value));
  }
  return cel::Value::Map(std::move(entries));
}

cel::Activation PodActivation(const api::ObjectMeta& pod) {
  cel::Activation activation;
  activation.Set("pod",
                 cel::Value::Map({{cel::Value::ViewText("name"), cel::Value::ViewText(pod.name)},
                                  {cel::Value::ViewText("labels"), MapOf(pod.labels)},
                                  {cel::Value::ViewText("annotations"), MapOf(pod.annotations)}}));
  return activation;
}

bool IsGatedForAdmission(const ParentedPod& pod) {
  return std::find(pod.gates.begin(), pod.gates.end(), api::kAdmissionGate) != pod.gates.end();
}

bool IsDone(const api::Workload& workload) {
  return api::IsTrue(workload.status.conditions, api::kFinished);
}

bool IsEvicted(const api::Workload& workload) {
  return api::IsTrue(workload.status.conditions, api::kEvicted);
}

bool HasQuota(const api::Workload& workload) {
  return api::IsTrue(workload.status.conditions, api::kQuotaReserved);
}

// One pass over an object.
class ParentPlanner {
 public:
  ParentPlanner(const JobSituation& situation, const PodsRule& rule,
                const std::vector<PlacedPod>& pods, WallTime now)
      : in_(situation), job_(situation.job), rule_(rule), pods_(pods), now_(now) {
    for (const api::PodSet& each : job_.pod_sets) total_ += each.count;
    for (const api::Workload& each : in_.workloads) {
      workloads_.emplace(each.meta.name, &each);
      NoteGroup(each);
    }
  }

  JobPlan Run() {
    if (!IsQueuedParent(in_) || job_.meta.deletion_timestamp) return {};
    if (!job_.problem.empty()) {
      Add(EmitEvent{EmitEvent::Type::kWarning, "ErrWorkloadCompose", job_.problem, ""});
      return std::move(plan_);
    }
    if (job_.finished) return Finish();
    const std::int32_t groups = job_.pod_parent ? job_.pod_parent->groups : 1;
    if (groups > kMostGroups) {
      Add(EmitEvent{EmitEvent::Type::kWarning, "ErrWorkloadCompose",
                    "spec.replicas: must be at most " + std::to_string(kMostGroups), ""});
      return std::move(plan_);
    }
    names_.reserve(static_cast<std::size_t>(groups));
    for (std::int32_t group = 0; group < groups; ++group) names_.push_back(FindName(group));
    for (std::int32_t group = 0; group < groups; ++group) Group(group, NameOf(group));
    const std::set<std::string_view> wanted(names_.begin(), names_.end());
    for (const api::Workload& workload : in_.workloads) {
      // The pods of the group end with the Workload, which keeps their quota until they are gone.
      if (wanted.count(workload.meta.name) == 0 && IsOurs(workload) &&
          !workload.meta.deletion_timestamp) {
        Add(EndWorkload{workload.meta.key()});
        Event("DeletedWorkload",
              "Deleted not matching Workload: " + workload.meta.key().ToString());
      }
    }
    Mark(groups);
    return std::move(plan_);
  }

 private:
  void Add(JobAction action) { plan_.actions.push_back(std::move(action)); }
  void Event(const char* reason, std::string message) {
    Add(EmitEvent{EmitEvent::Type::kNormal, reason, std::move(message), ""});
  }

  const api::Workload* Find(const std::string& name) const {
    const auto found = workloads_.find(name);
    return found == workloads_.end() ? nullptr : found->second;
  }

  bool IsOurs(const api::Workload& workload) const {
    const auto& owners = workload.meta.owner_references;
    return ParentOfPods(workload.meta) != nullptr &&
           std::any_of(owners.begin(), owners.end(), [this](const api::OwnerReference& each) {
             return !each.controller && each.uid == job_.meta.uid;
           });
  }

  const std::string& NameOf(std::int32_t group) const {
    return names_[static_cast<std::size_t>(group)];
  }

  // An object that is made again, and takes pods that an earlier one of its name has left behind,
  // takes their Workload with them.
  std::string FindName(std::int32_t group) const {
    std::string name = GroupWorkloadName(job_, rule_, group);
    if (Find(name) != nullptr) return name;
    std::string earlier = EarlierWorkloadName(job_, rule_, group);
    const api::Workload* known = Find(earlier);
    if (known != nullptr && (IsOurs(*known) || MayBeTaken(*known))) return earlier;
    const auto taken = by_group_.find(group);
    return taken == by_group_.end() ? name : taken->second->meta.name;
  }

  // Whether it is a Workload of a group of pods that no object owns.
  static bool MayBeTaken(const api::Workload& workload) {
    return !workload.meta.deletion_timestamp && !IsDone(workload) &&
           OwningJobOf(workload.meta) == nullptr &&
           workload.meta.annotations.count(api::kIsGroupWorkloadAnnotation) != 0;
  }

  // The object's own go before those that nobody has taken.
  void NoteGroup(const api::Workload& workload) {
    if (workload.meta.deletion_timestamp || IsDone(workload)) return;
    if (IsOurs(workload)) {
      by_group_.insert_or_assign(GroupOf(workload), &workload);
    } else if (LostParentOf(workload.meta) || HasOurPods(workload)) {
      by_group_.emplace(GroupOf(workload), &workload);
    }
  }

  bool HasOurPods(const api::Workload& workload) const {
    return std::any_of(pods_.begin(), pods_.end(), [&workload](const PlacedPod& each) {
      const std::string* name = api::FindValue(each.pod->meta.annotations, api::kPodGroupNameLabel);
      return name != nullptr && *name == workload.meta.name && IsMarked(*each.pod);
    });
  }

  std::int32_t GroupOf(const api::Workload& workload) const {
    if (!rule_.index_workloads) return 0;
    const std::string* text =
        api::FindValue(workload.meta.annotations, api::kComponentWorkloadIndexAnnotation);
    const std::int64_t number = text == nullptr ? -1 : ParseInt64(*text).value_or(-1);
    return number < 0 || number > INT32_MAX ? -1 : static_cast<std::int32_t>(number);
  }

  JobPlan Finish() {
    const JobOutcome& outcome = *job_.finished;
    for (const api::Workload& workload : in_.workloads) {
      if (!IsOurs(workload) || IsDone(workload)) continue;
      std::string message = outcome.message;
      if (message.empty()) message = outcome.succeeded ? "Job finished successfully" : "Job failed";
      Add(SetWorkloadCondition{workload.meta.key(),
                               {.type = api::kFinished,
                                .status = api::ConditionStatus::kTrue,
                                .reason = outcome.succeeded ? api::kSucceeded : api::kFailed,
                                .message = std::move(message),
                                .last_transition_time = CutToSeconds(now_),
                                .observed_generation = workload.meta.generation}});
      Event("FinishedWorkload",
            "Workload '" + workload.meta.key().ToString() + "' is declared finished");
    }
    return std::move(plan_);
  }

  void Group(std::int32_t group, const std::string& name) {
    const api::Workload* workload = Find(name);
    if (workload == nullptr) {
      if (total_ > 0) CreateSoon(group, name);
      return;
    }
    if (workload->meta.deletion_timestamp || IsDone(*workload)) return;
    // The plan of the pods releases the quota of those that are marked.
    if (HasQuota(*workload) && IsEvicted(*workload) && !HasMarkedPods(group)) {
      Add(ReleaseQuota{workload->meta.key(), StatusAfterRelease(*workload, now_)});
      return;
    }
    if (!IsOurs(*workload)) Add(AddOwners{workload->meta.key(), {Reference()}});
    if (total_ == 0) return Hold(group, *workload);
    if (!HasQuota(*workload) && !HasPodSetsOf(job_, *workload)) Resize(*workload);
    if (api::IsOnHold(*workload)) {
      return Release(*workload, api::kPendingEvaluation,
                     "Workload no longer on hold; waiting for quota reservation");
    }
    FollowQueue(*workload);
    FollowAnnotations(*workload);
    FollowPriorityClass(*workload);
    if (SizeOf(name) != total_) TellOfSize(*workload);
  }

  // Told of one group: the others differ alike.
  void TellOfSize(const api::Workload& workload) {
    if (std::exchange(told_of_size_, true)) return;
    Add(EmitEvent{EmitEvent::Type::kWarning, "ErrWorkloadCompose",
                  "the admitted Workload " + workload.meta.key().ToString() + " counts " +
                      std::to_string(SizeOf(workload.meta.name)) +
                      " pods, and the object asks for " + std::to_string(total_) +
                      ": scale to 0 and back to queue another size",
                  ""});
  }

  bool HasMarkedPods(std::int32_t group) const {
    return std::any_of(pods_.begin(), pods_.end(), [group](const PlacedPod& each) {
      return each.group == group && !each.pod->ended && IsMarked(*each.pod);
    });
  }

  api::OwnerReference Reference() const {
    api::OwnerReference owner = ReferenceTo(job_);
    owner.controller = false;
    owner.block_owner_deletion = false;
    return owner;
  }

  std::optional<JobPriority> KnownPriority() {
    static const PriorityClassesByName kNone;
    Result<JobPriority> priority =
        PriorityOf(job_, in_.workload_priority_classes ? *in_.workload_priority_classes : kNone,
                   in_.priority_classes ? *in_.priority_classes : kNone);
    if (priority) return *std::move(priority);
    plan_.retry = priority.error().message;
    Add(EmitEvent{EmitEvent::Type::kWarning, "WorkloadPriorityClassNotFound",
                  priority.error().message, ""});
    return std::nullopt;
  }

  api::Workload Built(std::int32_t group, const std::string& name,
                      const JobPriority& priority) const {
    std::optional<std::int32_t> index;
    if (rule_.index_workloads) index = group;
    return BuildGroupWorkload(job_, name, index, priority, in_.build);
  }

  // A pass makes a bounded number of Workloads; each one that is made leads to the next pass.
  void CreateSoon(std::int32_t group, const std::string& name) {
    if (created_ == kCreatedAtOnce) {
      plan_.look_again = std::chrono::milliseconds(100);
      return;
    }
    ++created_;
    Create(group, name);
  }

  void Create(std::int32_t group, const std::string& name) {
    const std::optional<JobPriority> priority = KnownPriority();
    if (!priority) return;
    api::Workload workload = Built(group, name, *priority);
    const std::string key = workload.meta.key().ToString();
    Add(CreateWorkload{std::move(workload)});
    Event("CreatedWorkload", "Created Workload: " + key);
  }

  // The object has got another size, or other containers, while its Workload waits.
  void Resize(const api::Workload& workload) {
    const std::optional<JobPriority> priority = KnownPriority();
    if (!priority) return;
    api::WorkloadSpec spec = Built(0, workload.meta.name, *priority).spec;
    spec.active = workload.spec.active;
    Add(UpdateWorkloadSpec{workload.meta.key(), std::move(spec)});
    Event("UpdatedWorkload",
          "Updated not matching Workload for suspended job: " + workload.meta.key().ToString());
  }

  // The object wants no pods. Its pods keep the quota until they are gone.
  void Hold(std::int32_t group, const api::Workload& workload) {
    if (api::IsOnHold(workload)) return;
    if (!HasQuota(workload) && !workload.spec.active) return;  // it keeps the reason of that
    const bool runs = std::any_of(pods_.begin(), pods_.end(), [group](const PlacedPod& each) {
      return each.group == group && each.pod->has_node && !each.pod->ended;
    });
    if (runs) return;
    Release(workload, api::kOnHold,
            std::string(job_.kind->kind) + " scaled to zero; workload on hold");
  }

  void Release(const api::Workload& workload, const char* reason, const std::string& message) {
    Add(ReleaseQuota{workload.meta.key(), StatusWithoutQuota(workload, reason, message, now_)});
  }

  // A Workload that holds quota stays in its queue.
  void FollowQueue(const api::Workload& workload) {
    const std::string name = QueueNameOf(job_);
    if (name != workload.spec.queue_name && !HasQuota(workload)) {
      Add(SetQueueName{workload.meta.key(), name});
    }
  }

  void FollowAnnotations(const api::Workload& workload) {
    for (JobAction& action : PlanAnnotations(job_, workload)) Add(std::move(action));
  }

  void FollowPriorityClass(const api::Workload& workload) {
    const std::string* label = api::FindValue(job_.meta.labels, api::kPriorityClassLabel);
    if (label == nullptr) return;
    const auto& ref = workload.spec.priority_class_ref;
    const bool of_workloads = ref && ref->group == "kueue.x-k8s.io";
    if (of_workloads && ref->name == *label) return;
    if (!of_workloads && HasQuota(workload)) return;
    std::optional<JobPriority> priority = KnownPriority();
    if (!priority) return;
    Add(SetPriority{workload.meta.key(), *std::move(priority)});
    Event("UpdatedWorkload", "Updated workload priority class: " + workload.meta.key().ToString());
  }

  // Pods that are marked keep their places; then the oldest get the rest.
  void Mark(std::int32_t groups) {
    std::map<std::pair<std::int32_t, std::string>, std::int32_t> room;
    for (std::int32_t group = 0; group < groups; ++group) {
      for (const api::PodSet& each : job_.pod_sets) room[{group, each.name}] = each.count;
    }
    std::vector<const PlacedPod*> living;
    for (const PlacedPod& each : pods_) {
      if (!each.pod->meta.deletion_timestamp && !each.pod->ended) living.push_back(&each);
    }
    std::stable_sort(living.begin(), living.end(), [](const PlacedPod* a, const PlacedPod* b) {
      if (IsMarked(*a->pod) != IsMarked(*b->pod)) return IsMarked(*a->pod);
      return a->pod->meta.creation_timestamp < b->pod->meta.creation_timestamp;
    });
    MarkPods marks;
    for (const PlacedPod* each : living) {
      if (each->replaced_soon && IsGatedForAdmission(*each->pod)) {
        marks.pods.push_back({.pod = each->pod->meta.name, .ungate = true});
        continue;
      }
      const auto place = room.find({each->group, each->pod_set});
      if (place == room.end() || place->second == 0) continue;
      --place->second;
      PodMark mark = MarkOf(*each);
      if (!mark.labels.empty() || !mark.annotations.empty()) marks.pods.push_back(std::move(mark));
    }
    if (!marks.pods.empty()) Add(std::move(marks));
  }

  static bool IsMarked(const ParentedPod& pod) {
    return pod.meta.labels.count(api::kManagedLabel) != 0 &&
           pod.meta.annotations.count(api::kPodGroupNameLabel) != 0;
  }

  // What the pod lacks.
  PodMark MarkOf(const PlacedPod& placed) const {
    const api::ObjectMeta& pod = placed.pod->meta;
    PodMark mark{.pod = pod.name};
    const auto want = [](const api::StringMap& known, const std::string& key,
                         const std::string& value, api::StringMap& missing) {
      const auto found = known.find(key);
      if (found == known.end() || found->second != value) missing[key] = value;
    };
    want(pod.labels, api::kManagedLabel, "true", mark.labels);
    const bool may_follow = IsGatedForAdmission(*placed.pod);  // those of a started pod are fixed
    for (const char* key : {api::kQueueLabel, api::kPriorityClassLabel}) {
      const std::string* value = api::FindValue(job_.meta.labels, key);
      if (value == nullptr || !may_follow) continue;
      if (rule_.keep_labels && pod.labels.count(key) != 0) continue;
      want(pod.labels, key, *value, mark.labels);
    }
    const std::string& name = NameOf(placed.group);
    const auto annotate = [&](const char* key, const std::string& value) {
      want(pod.annotations, key, value, mark.annotations);
    };
    annotate(api::kPrebuiltWorkloadLabel, name);
    annotate(api::kPodGroupNameLabel, name);
    annotate(api::kPodGroupTotalCountAnnotation, std::to_string(SizeOf(name)));
    annotate(api::kPodGroupServingAnnotation, "true");
    annotate(api::kRoleHashAnnotation, placed.pod_set);
    if (rule_.fast_admission) annotate(api::kPodGroupFastAdmissionAnnotation, "true");
    if (!rule_.pod_index_label.empty()) {
      annotate(api::kPodGroupPodIndexLabelAnnotation, rule_.pod_index_label);
    }
    return mark;
  }

  // Pods of the group: a Workload that holds quota keeps its size.
  std::int32_t SizeOf(const std::string& name) const {
    const api::Workload* workload = Find(name);
    if (workload == nullptr || !HasQuota(*workload)) return total_;
    std::int32_t size = 0;
    for (const api::PodSet& each : workload->spec.pod_sets) size += each.count;
    return size;
  }

  // The same limit as in the review of LeaderWorkerSets.
  static constexpr std::int32_t kMostGroups = 1'000'000;
  static constexpr int kCreatedAtOnce = 100;

  const JobSituation& in_;
  const JobView& job_;
  const PodsRule& rule_;
  const std::vector<PlacedPod>& pods_;
  const WallTime now_;
  std::int32_t total_ = 0;          // pods of a group
  std::vector<std::string> names_;  // the name of each group's Workload
  std::unordered_map<std::string_view, const api::Workload*> workloads_;
  std::map<std::int32_t, const api::Workload*> by_group_;
  int created_ = 0;
  bool told_of_size_ = false;
  JobPlan plan_;
};

}  // namespace

Result<ParentedPod> DecodeParentedPod(const api::JsonSource& object) {
  return api::ReadAs<ParentedPod>(object, [](const api::Reader& in, ParentedPod& out) {
    api::Read(in.Field("metadata"), out.meta);
    const std::string* parent =
        api::FindValue(out.meta.annotations, api::kPodSuspendingParentAnnotation);
    if (parent == nullptr) {
      out.meta.labels.clear();
      out.meta.annotations.clear();
      return;
    }
    out.framework = *parent;
    const api::Reader spec = in.Field("spec");
    spec.Field("schedulingGates").List(out.gates, [](const api::Reader& item, std::string& gate) {
      item.Field("name").Get(gate);
    });
    std::string text;
    spec.Field("nodeName").Get(text);
    out.has_node = !text.empty();
    const api::Reader status = in.Field("status");
    text.clear();
    status.Field("phase").Get(text);
    out.ended = text == "Succeeded" || text == "Failed";
  });
}

std::vector<PlacedPod> PlacePods(const JobView& parent, const PodsRule& rule,
                                 const std::vector<ParentedPodPtr>& pods) {
  std::vector<PlacedPod> placed;
  const std::string old = parent.pod_parent ? parent.pod_parent->old_revision : std::string();
  for (const ParentedPodPtr& pod : pods) {
    PlacedPod place{.pod = pod};
    const cel::Activation activation = PodActivation(pod->meta);
    if (rule.pod_set && parent.pod_sets.size() > 1) {
      const auto value = rule.pod_set->Evaluate(activation);
      if (!value || !value->is(cel::Kind::kString)) continue;
      place.pod_set = value->AsText();
    } else if (!parent.pod_sets.empty()) {
      place.pod_set = parent.pod_sets.front().name;
    }
    if (rule.group) {
      const auto value = rule.group->Evaluate(activation);
      const auto number = value ? cel::WholeNumber(*value) : std::nullopt;
      if (!number || *number < 0 || *number > INT32_MAX) continue;
      place.group = static_cast<std::int32_t>(*number);
    }
    const std::string* revision = api::FindValue(pod->meta.labels, "controller-revision-hash");
    place.replaced_soon = !old.empty() && revision != nullptr && *revision == old;
    placed.push_back(std::move(place));
  }
  return placed;
}

std::string GroupWorkloadName(const JobView& parent, const PodsRule& rule, std::int32_t group) {
  std::string name = parent.meta.name;
  if (rule.index_workloads) name += "-" + std::to_string(group);
  return WorkloadName({.kind = parent.kind->kind,
                       .group = parent.kind->group,
                       .name = name,
                       .uid = parent.meta.uid,
                       .variant = {}});
}

std::string EarlierWorkloadName(const JobView& parent, const PodsRule& rule, std::int32_t group) {
  JobView without = parent;
  without.meta.uid.clear();
  return GroupWorkloadName(without, rule, group);
}

bool IsQueuedParent(const JobSituation& situation) {
  if (situation.namespace_rule == NamespaceRule::kUnmanaged || situation.ancestor ||
      situation.nested_too_deep || situation.job.skipped) {
    return false;
  }
  return situation.queue_name_rule == QueueNameRule::kManageWithoutName ||
         !QueueNameOf(situation.job).empty();
}

JobPlan PlanPodParent(const JobSituation& situation, const PodsRule& rule,
                      const std::vector<PlacedPod>& pods, WallTime now) {
  return ParentPlanner(situation, rule, pods, now).Run();
}

}  // namespace berth::integrations
