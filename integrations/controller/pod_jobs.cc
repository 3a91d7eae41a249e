#include "integrations/controller/pod_jobs.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/labels.h"
#include "api/pod_groups.h"
#include "integrations/controller/job_patches.h"
#include "integrations/controller/pod_writes.h"
#include "integrations/pods/pod_plan.h"

namespace berth::integrations {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kGroupPrefix = "group/";
constexpr char kGroupIndex[] = "group";
constexpr char kPrebuiltIndex[] = "prebuilt";
// The pods of a group are created, and end, together.
constexpr Duration kGathering = std::chrono::milliseconds(100);

api::ObjectKey GroupKey(const std::string& namespace_name, const std::string& group) {
  return {namespace_name, std::string(kGroupPrefix) + group};
}

std::string GroupNameIn(const api::ObjectKey& key) {
  return key.name.starts_with(kGroupPrefix) ? key.name.substr(kGroupPrefix.size()) : "";
}

api::ObjectKey JobKeyOf(const api::ObjectMeta& pod) {
  const std::string group = PodGroupOf(pod);
  return group.empty() ? pod.key() : GroupKey(pod.namespace_name, group);
}

// The metadata of a job. A group has that of its first pod, with a name and a uid of its own.
api::ObjectMeta MetaOf(const QueuedPod& first) {
  api::ObjectMeta meta = first.meta;
  const api::ObjectKey key = JobKeyOf(first.meta);
  if (key == first.meta.key()) return meta;
  meta.name = key.name;
  meta.uid = key.ToString();
  meta.deletion_timestamp.reset();
  return meta;
}

class PodJobState final : public JobState {
 public:
  explicit PodJobState(PodsOfJob job) : job_(std::move(job)), meta_(MetaOf(job_.first())) {}

  const api::ObjectMeta& meta() const override { return meta_; }
  JobView View() const override {
    JobView view;
    view.kind = &kPod;
    view.meta = meta_;
    return view;
  }
  JobPlan Plan(JobSituation situation, WallTime now) const override {
    return PlanPods(job_, std::move(situation), now);
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
  std::vector<api::ObjectMeta> Pods() const override {
    std::vector<api::ObjectMeta> pods;
    for (const QueuedPodPtr& pod : job_.pods) pods.push_back(pod->meta);
    return pods;
  }
  std::vector<PodWrite> PodWrites(const JobAction& action) const override {
    std::vector<PodWrite> writes;
    if (const auto* start = std::get_if<StartJob>(&action)) {
      for (const QueuedPodPtr& pod : PodsToStart(job_, start->pod_sets)) {
        AddStart(*pod, *start, writes);
      }
      return writes;
    }
    for (const QueuedPodPtr& pod : job_.pods) {
      if (const auto* stop = std::get_if<StopJob>(&action)) AddStop(*pod, *stop, writes);
      if (const auto* release = std::get_if<ReleasePods>(&action)) {
        AddRelease(*pod, *release, writes);
      }
    }
    return writes;
  }

 private:
  void AddStart(const QueuedPod& pod, const StartJob& start, std::vector<PodWrite>& out) const {
    const auto started = StartedPod(pod, !job_.group.empty(), start.pod_sets);
    if (started) out.push_back(WriteTo(pod, PodPatch(pod.meta, pod.pod_template.spec, *started)));
  }

  static void AddStop(const QueuedPod& pod, const StopJob& stop, std::vector<PodWrite>& out) {
    const bool all = stop.reason == "WorkloadDeleted";
    if (all ? pod.meta.deletion_timestamp.has_value() : !HasToStop(pod)) return;
    for (PodWrite& write : StopWrites(pod, stop)) out.push_back(std::move(write));
  }

  static void AddRelease(const QueuedPod& pod, const ReleasePods& release,
                         std::vector<PodWrite>& out) {
    const auto& names = release.names;
    if (!names.empty() && std::find(names.begin(), names.end(), pod.meta.name) == names.end()) {
      return;
    }
    if (IsHeld(pod)) {
      Json rest = Json::array();
      for (const std::string& finalizer : pod.meta.finalizers) {
        if (finalizer != api::kManagedFinalizer) rest.push_back(finalizer);
      }
      out.push_back(WriteTo(pod, {{"metadata",
                                   {{"uid", pod.meta.uid},
                                    {"resourceVersion", pod.meta.resource_version},
                                    {"finalizers", rest.empty() ? Json() : std::move(rest)}}}}));
    }
    if (release.then == ReleasePods::Then::kDelete && !pod.meta.deletion_timestamp) {
      out.push_back({.pod = pod.meta.key(), .uid = pod.meta.uid});
    }
  }

  PodsOfJob job_;
  api::ObjectMeta meta_;
};

}  // namespace

PodJobs::PodJobs(kube::Manager& manager, Which which, IsHeld is_held)
    : pods_(manager.SelectedInformerFor<QueuedPod>(api::KindOf<api::Pod>(), DecodeQueuedPod,
                                                   std::string(api::kManagedLabel) + "=true")),
      namespaces_(manager.InformerFor<api::Namespace>()),
      which_(which),
      is_held_(std::move(is_held)) {
  pods_.AddIndex(kGroupIndex, [](const QueuedPod& pod) {
    const std::string group = PodGroupOf(pod.meta);
    if (group.empty()) return std::vector<std::string>{};
    return std::vector{GroupKey(pod.meta.namespace_name, group).ToString()};
  });
  pods_.AddIndex(kPrebuiltIndex, [](const QueuedPod& pod) {
    const std::string* name = PrebuiltWorkloadOf(pod.meta);
    if (name == nullptr) return std::vector<std::string>{};
    return std::vector{api::ObjectKey{pod.meta.namespace_name, *name}.ToString()};
  });
}

std::vector<QueuedPodPtr> PodJobs::PodsOf(const api::ObjectKey& key) const {
  std::vector<QueuedPodPtr> pods;
  if (!GroupNameIn(key).empty()) {
    pods = pods_.ByIndex(kGroupIndex, key.ToString());
  } else if (const auto pod = pods_.Get(key); pod != nullptr && PodGroupOf(pod->meta).empty()) {
    pods.push_back(pod);
  }
  // The job deletes the pod. A pod that runs keeps its own Workload until then.
  std::erase_if(pods, [this](const QueuedPodPtr& pod) {
    return IsGated(*pod) && !pod->meta.deletion_timestamp && is_held_(*pod);
  });
  if (which_ == Which::kAll) return pods;
  std::erase_if(pods, [](const QueuedPodPtr& pod) {
    return pod->meta.annotations.count(api::kPodSuspendingParentAnnotation) == 0;
  });
  return pods;
}

std::shared_ptr<const JobState> PodJobs::Get(const api::ObjectKey& key) const {
  PodsOfJob job{PodsOf(key), GroupNameIn(key)};
  if (job.pods.empty()) return nullptr;
  return std::make_shared<const PodJobState>(std::move(job));
}

JobSource::MetaPtr PodJobs::Meta(const api::ObjectKey& key) const {
  const std::vector<QueuedPodPtr> pods = PodsOf(key);
  if (pods.empty()) return nullptr;
  return std::make_shared<const api::ObjectMeta>(MetaOf(*pods.front()));
}

std::optional<JobSource::Owner> PodJobs::OwnerOf(const api::Workload& workload) const {
  if (auto pod = JobSource::OwnerOf(workload)) return pod;
  // A group, or a Workload of another origin that has the group's name.
  const api::ObjectKey group = GroupKey(workload.meta.namespace_name, workload.meta.name);
  const bool of_group = workload.meta.annotations.count(api::kIsGroupWorkloadAnnotation) != 0;
  if (!of_group && !pods_.HasIn(kGroupIndex, group.ToString())) return std::nullopt;
  return Owner{group, group.ToString()};
}

std::string PodJobs::WorkloadNameOf(const api::ObjectKey& job) const { return GroupNameIn(job); }

Duration PodJobs::GatheringOf(const api::ObjectKey& job) const {
  return GroupNameIn(job).empty() ? Duration::zero() : kGathering;
}

std::vector<api::ObjectKey> PodJobs::JobsNaming(const api::ObjectKey& workload) const {
  std::set<api::ObjectKey> keys;
  for (const auto& pod : pods_.ByIndex(kPrebuiltIndex, workload.ToString())) {
    keys.insert(JobKeyOf(pod->meta));
  }
  return {keys.begin(), keys.end()};
}

void PodJobs::AddHandler(Handler handler) {
  auto shared = std::make_shared<const Handler>(std::move(handler));
  const auto change = [shared](const QueuedPodPtr& pod) {
    if (shared->on_change) shared->on_change(MetaOf(*pod));
  };
  // A group is gone with its last pod.
  const auto gone = [this, shared, change](const QueuedPodPtr& pod) {
    if (!PodsOf(JobKeyOf(pod->meta)).empty()) return change(pod);
    if (shared->on_delete) shared->on_delete(MetaOf(*pod));
  };
  pods_.AddHandler({.on_add = change,
                    .on_update =
                        [change, gone](const QueuedPodPtr& before, const QueuedPodPtr& pod) {
                          if (JobKeyOf(before->meta) != JobKeyOf(pod->meta)) gone(before);
                          change(pod);
                        },
                    .on_delete = gone});
  // The pods of a terminating namespace are let go.
  namespaces_.AddHandler({.on_update = [this, change](const auto& before, const auto& now) {
    if (before->terminating || !now->terminating) return;
    const std::string& name = now->meta.name;
    for (auto pod = pods_.After({name, ""}); pod && pod->meta.namespace_name == name;
         pod = pods_.After(pod->meta.key())) {
      change(pod);
    }
  }});
}

// Each group once, at its first pod.
kube::Sweep PodJobs::AllJobs() const {
  return {.covers = [this](const api::ObjectKey& key) { return !PodsOf(key).empty(); },
          .next = [this](const api::ObjectKey& place) -> std::optional<kube::Sweep::Step> {
            const auto pod = pods_.After(place);
            if (pod == nullptr) return std::nullopt;
            kube::Sweep::Step step{pod->meta.key(), JobKeyOf(pod->meta)};
            const auto others = PodsOf(*step.key);
            if (others.empty() || (*step.key != step.place && others.front() != pod)) {
              step.key.reset();
            }
            return step;
          }};
}

}  // namespace berth::integrations
