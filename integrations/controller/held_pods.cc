#include "integrations/controller/held_pods.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/json_tree.h"
#include "api/codec/json_write.h"
#include "api/held_jobs.h"
#include "api/labels.h"
#include "api/pod_groups.h"
#include "integrations/controller/job_patches.h"
#include "integrations/controller/object_tree.h"
#include "integrations/controller/pod_writes.h"
#include "integrations/described_job.h"
#include "integrations/pods/pod_group.h"

namespace berth::integrations {
namespace {

using Json = nlohmann::json;
using LabelsOfSets = std::vector<std::pair<std::string, api::StringMap>>;

constexpr char kJobIndex[] = "job";
constexpr char kTemplateHashLabel[] = "pod-template-hash";
constexpr api::ResourceKind kDeployments{"apps", "v1", "Deployment", "deployments"};

const Json* FieldAt(const Json& object, const FieldPath& path) {
  const Json* at = &object;
  for (const std::string& key : path) {
    if (!at->is_object() || !at->contains(key)) return nullptr;
    at = &at->at(key);
  }
  return at;
}

Result<HeldGroup> DecodeGroup(const KindPtr& kind, const api::JsonSource& source) {
  BERTH_TRY(Json object, TreeOf(source));
  HeldGroup group;
  BERTH_TRY(group.meta, api::Decode<api::ObjectMeta>(object));
  const Json* job = FieldAt(object, kind->hold->groups->job);
  if (job != nullptr && job->is_string()) group.job = job->get<std::string>();
  object["metadata"].erase("managedFields");
  group.text = api::FormatJson(object);
  return group;
}

// The pod set whose labels the pod has. A pod whose label a stop has taken off tells by the label
// that its start gave it.
std::string RoleOf(const QueuedPod& pod, const LabelsOfSets& sets) {
  for (const auto& [name, labels] : sets) {
    const bool has_all = std::all_of(labels.begin(), labels.end(), [&pod](const auto& label) {
      const std::string* value = api::FindValue(pod.meta.labels, label.first);
      return value != nullptr && *value == label.second;
    });
    if (has_all && !labels.empty()) return name;
  }
  const std::string* started = api::FindValue(pod.meta.labels, api::kPodSetLabel);
  return started == nullptr ? "" : *started;
}

class HeldJobState final : public JobState {
 public:
  explicit HeldJobState(HeldJob job) : job_(std::move(job)) {}

  const api::ObjectMeta& meta() const override { return job_.view.meta; }
  JobView View() const override { return job_.view; }
  JobPlan Plan(JobSituation situation, WallTime now) const override {
    return PlanHeldJob(job_, situation, now);
  }
  std::vector<JobWrite> Start(const std::vector<PodSetChange>& changes) const override {
    (void)changes;
    return {};
  }
  bool IsStartedByAWrite() const override { return false; }
  std::vector<JobWrite> Stop(const std::vector<PodSetChange>& originals) const override {
    (void)originals;
    return {};
  }
  std::vector<JobWrite> Restart() const override {
    const auto& restart = job_.kind->hold->restart;
    if (!restart) return {};
    return {{.type = kube::PatchType::kMerge,
             .patch = std::make_shared<const Json>(Json{{"status", *restart->status}}),
             .subresource = "status"}};
  }
  std::vector<PodWrite> PodWrites(const JobAction& action) const override {
    std::vector<PodWrite> writes;
    if (const auto* resize = std::get_if<ResizeGroup>(&action)) writes.push_back(Resized(*resize));
    for (const QueuedPodPtr& pod : job_.pods) {
      if (const auto* makers = std::get_if<DeleteMakers>(&action);
          makers && Names(makers->pods, *pod)) {
        AddMaker(*pod, writes);
      }
      if (const auto* start = std::get_if<StartJob>(&action)) AddStart(*pod, *start, writes);
      if (const auto* stop = std::get_if<StopJob>(&action)) AddStop(*pod, *stop, writes);
    }
    for (const QueuedPodPtr& pod : job_.missed_pods) {
      if (const auto* stop = std::get_if<StopJob>(&action)) AddStop(*pod, *stop, writes);
    }
    return writes;
  }

 private:
  static bool Names(const std::vector<std::string>& pods, const QueuedPod& pod) {
    return std::find(pods.begin(), pods.end(), pod.meta.name) != pods.end();
  }

  // Its ReplicaSet is called after the Deployment and the hash of its template.
  static void AddMaker(const QueuedPod& pod, std::vector<PodWrite>& out) {
    const api::OwnerReference* owner = api::ControllerOf(pod.meta);
    const std::string* hash = api::FindValue(pod.meta.labels, kTemplateHashLabel);
    if (owner == nullptr || owner->kind != "ReplicaSet" || hash == nullptr) return;
    const std::string suffix = "-" + *hash;
    if (!owner->name.ends_with(suffix)) return;
    out.push_back({.pod = {pod.meta.namespace_name,
                           owner->name.substr(0, owner->name.size() - suffix.size())},
                   .uid = "",
                   .resource = &kDeployments});
  }

  static void AddStart(const QueuedPod& pod, const StartJob& start, std::vector<PodWrite>& out) {
    if (!Names(start.pods, pod)) return;
    auto started = StartedPod(pod, true, start.pod_sets);
    if (!started) return;
    started->annotations[api::kPodWorkloadAnnotation] = start.workload;
    out.push_back(WriteTo(pod, PodPatch(pod.meta, pod.pod_template.spec, *started)));
  }

  void AddStop(const QueuedPod& pod, const StopJob& stop, std::vector<PodWrite>& out) const {
    if (!Names(stop.pods, pod) || pod.meta.deletion_timestamp) return;
    const auto& restart = job_.kind->hold->restart;
    if (restart && pod.role == restart->pod_set) {
      out.push_back(WriteTo(
          pod,
          {{"metadata", {{"uid", pod.meta.uid}, {"labels", {{restart->hide_label, nullptr}}}}}}));
    }
    for (PodWrite& write : StopWrites(pod, stop)) out.push_back(std::move(write));
  }

  PodWrite Resized(const ResizeGroup& resize) const {
    Json patch = {
        {"metadata",
         {{"resourceVersion", resize.group.resource_version},
          {"annotations",
           {{api::kRetiredAnnotation, resize.retired.empty() ? Json() : Json(resize.retired)}}}}}};
    Json::json_pointer at;
    for (const std::string& key : job_.kind->hold->groups->replicas) at.push_back(key);
    patch[at] = resize.replicas;
    return {.pod = resize.group.key(),
            .uid = resize.group.uid,
            .patch = std::make_shared<const Json>(std::move(patch)),
            .resource = &job_.kind->hold->groups->resource};
  }

  HeldJob job_;
};

}  // namespace

HeldPods::HeldPods(kube::Manager& manager, KindPtr kind)
    : kind_(std::move(kind)),
      pods_(manager.SelectedInformerFor<QueuedPod>(api::KindOf<api::Pod>(), DecodeQueuedPod,
                                                   kind_->hold->job_label)) {
  pods_.AddIndex(std::string(kind_->kind.framework), [this](const QueuedPod& pod) {
    const api::ObjectKey job = JobOf(pod);
    return job.name.empty() ? std::vector<std::string>{} : std::vector{job.ToString()};
  });
  if (!kind_->hold->groups) return;
  groups_ = &manager.OptionalInformerFor<HeldGroup>(
      kind_->hold->groups->resource,
      [kind = kind_](const api::JsonSource& object) { return DecodeGroup(kind, object); });
  groups_->AddIndex(kJobIndex, [](const HeldGroup& group) {
    return std::vector{api::ObjectKey{group.meta.namespace_name, group.job}.ToString()};
  });
}

// A pod is held by the kind that its annotation names. A pod without the annotation belongs to the
// job of its label, of any kind.
api::ObjectKey HeldPods::JobOf(const QueuedPod& pod) const {
  const std::string* name = api::FindValue(pod.meta.labels, kind_->hold->job_label);
  const std::string* parent =
      api::FindValue(pod.meta.annotations, api::kPodSuspendingParentAnnotation);
  if (name == nullptr || (parent != nullptr && *parent != kind_->kind.framework)) return {};
  return {pod.meta.namespace_name, *name};
}

void HeldPods::OnChange(std::function<void(const api::ObjectKey& job)> changed) {
  const auto of_pod = [this, changed](const QueuedPodPtr& pod) {
    const api::ObjectKey job = JobOf(*pod);
    if (!job.name.empty()) changed(job);
  };
  pods_.AddHandler({.on_add = of_pod,
                    .on_update = [of_pod](const auto&, const auto& pod) { of_pod(pod); },
                    .on_delete = of_pod});
  if (groups_ == nullptr) return;
  const auto of_group = [changed](const std::shared_ptr<const HeldGroup>& group) {
    if (!group->job.empty()) changed({group->meta.namespace_name, group->job});
  };
  groups_->AddHandler({.on_add = of_group,
                       .on_update = [of_group](const auto&, const auto& group) { of_group(group); },
                       .on_delete = of_group});
}

// A group sizes the pod set of its name, or is one more.
void HeldPods::ReadGroups(const Json& object, HeldJob& job, LabelsOfSets& labels) const {
  if (groups_ == nullptr) return;
  std::vector<api::JobPodSet>& pod_sets = job.view.pod_sets;
  for (const auto& group : groups_->ByIndex(kJobIndex, job.view.meta.key().ToString())) {
    if (group->meta.deletion_timestamp) continue;
    const Json tree = api::ParseJsonOrNull(group->text);
    auto placed = PodSetOfGroup(*kind_, object, tree);
    if (!placed) {
      if (job.view.problem.empty()) {
        job.view.problem = group->meta.name + ": " + placed.error().message;
      }
      continue;
    }
    PodGroupSize size{.meta = group->meta, .pod_set = placed->pods.name};
    const Json* replicas = FieldAt(tree, kind_->hold->groups->replicas);
    size.replicas = replicas != nullptr && replicas->is_number_integer() ? replicas->get<int>()
                                                                         : placed->pods.count;
    size.retired = RetiredPods(group->meta.annotations, size.replicas);
    placed->pods.count += size.retired;
    const auto known =
        std::find_if(pod_sets.begin(), pod_sets.end(),
                     [&size](const api::PodSet& each) { return each.name == size.pod_set; });
    const std::string name = size.pod_set;
    job.groups.push_back(std::move(size));
    if (known != pod_sets.end()) {
      const std::pair<std::string, api::StringMap> same{name, placed->pod_labels};
      if (std::find(labels.begin(), labels.end(), same) == labels.end() &&
          job.view.problem.empty()) {
        job.view.problem = "the group " + group->meta.name + " has the name of another pod set";
      }
      known->count = placed->pods.count;
      continue;
    }
    labels.emplace_back(placed->pods.name, std::move(placed->pod_labels));
    pod_sets.push_back(std::move(placed->pods));
  }
  if (pod_sets.size() > kMaxGroupRoles && job.view.problem.empty()) {
    job.view.problem = "more than " + std::to_string(kMaxGroupRoles) + " pod sets";
  }
}

std::shared_ptr<const JobState> HeldPods::StateOf(const JobView& view,
                                                  const std::string& text) const {
  HeldJob job{.kind = kind_, .view = view, .pods = {}, .missed_pods = {}, .groups = {}};
  const Json object = api::ParseJsonOrNull(text);
  LabelsOfSets labels;
  if (auto pod_sets = PodSetsOf(*kind_, object)) {
    for (DescribedPodSet& each : *pod_sets) {
      labels.emplace_back(each.pods.name, std::move(each.pod_labels));
    }
  }
  ReadGroups(object, job, labels);
  job.can_restart = CanRestart(*kind_, object);
  for (const QueuedPodPtr& pod :
       pods_.ByIndex(std::string(kind_->kind.framework), view.meta.key().ToString())) {
    QueuedPod placed = *pod;
    placed.role = RoleOf(*pod, labels);
    const bool is_held = pod->meta.annotations.count(api::kPodSuspendingParentAnnotation) != 0;
    (is_held ? job.pods : job.missed_pods)
        .push_back(std::make_shared<const QueuedPod>(std::move(placed)));
  }
  return std::make_shared<const HeldJobState>(std::move(job));
}

}  // namespace berth::integrations
