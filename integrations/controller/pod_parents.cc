#include "integrations/controller/pod_parents.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/parts.h"
#include "api/labels.h"
#include "integrations/pods/orphaned_pods.h"

namespace berth::integrations {
namespace {

using Json = nlohmann::json;

// The pods of an object are created, and end, together.
constexpr Duration kPodsGather = std::chrono::milliseconds(100);
constexpr api::ResourceKind kStatefulSets{"apps", "v1", "StatefulSet", "statefulsets"};
constexpr char kRevisionLabel[] = "controller-revision-hash";

std::vector<std::string> WithoutQueueGates(const std::vector<std::string>& gates) {
  std::vector<std::string> rest;
  for (const std::string& gate : gates) {
    if (gate != api::kAdmissionGate && gate != api::kTopologyGate) rest.push_back(gate);
  }
  return rest;
}

Json MarkPatch(const ParentedPod& pod, const PodMark& mark) {
  Json patch = {
      {"metadata", {{"uid", pod.meta.uid}, {"resourceVersion", pod.meta.resource_version}}}};
  if (!mark.labels.empty()) patch["metadata"]["labels"] = mark.labels;
  if (!mark.annotations.empty()) patch["metadata"]["annotations"] = mark.annotations;
  if (mark.ungate) {
    Json gates = Json::array();
    for (const std::string& gate : WithoutQueueGates(pod.gates)) gates.push_back({{"name", gate}});
    patch["spec"]["schedulingGates"] = gates.empty() ? Json() : std::move(gates);
  }
  return patch;
}

class PodParentState final : public JobState {
 public:
  PodParentState(JobView view, KindPtr description, std::vector<PlacedPod> pods,
                 std::vector<ParentedPodPtr> orphans, std::function<bool()> open)
      : view_(std::move(view)),
        description_(std::move(description)),
        pods_(std::move(pods)),
        orphans_(std::move(orphans)),
        open_(std::move(open)) {}

  const api::ObjectMeta& meta() const override { return view_.meta; }
  JobView View() const override { return view_; }
  JobPlan Plan(JobSituation situation, WallTime now) const override {
    if (view_.meta.uid.empty()) return PlanMissing(situation, now);
    if (IsQueuedParent(situation) && !open_()) return {.look_again = kPodsGather};
    JobPlan plan = PlanPodParent(situation, *description_->pods, pods_, now);
    LetOrphansGo(orphans_, situation.workloads, plan);
    return plan;
  }
  std::vector<std::string> EarlierWorkloads(
      const std::vector<api::Workload>& known) const override {
    const std::int32_t groups = view_.pod_parent ? view_.pod_parent->groups : 1;
    if (view_.meta.uid.empty() || std::cmp_greater_equal(known.size(), groups)) return {};
    std::vector<std::string> names;
    for (std::int32_t group = 0; group < groups; ++group) {
      names.push_back(EarlierWorkloadName(view_, *description_->pods, group));
    }
    return names;
  }
  // Its pods start and stop.
  std::vector<JobWrite> Start(const std::vector<PodSetChange>& changes) const override {
    (void)changes;
    return {};
  }
  bool IsStartedByAWrite() const override { return false; }
  std::vector<JobWrite> Stop(const std::vector<PodSetChange>& originals) const override {
    (void)originals;
    return {};
  }
  std::vector<PodWrite> PodWrites(const JobAction& action) const override {
    std::vector<PodWrite> writes;
    const auto* marks = std::get_if<MarkPods>(&action);
    if (marks == nullptr) return writes;
    for (const PodMark& mark : marks->pods) {
      const ParentedPodPtr pod = Find(mark.pod);
      if (pod == nullptr) continue;
      writes.push_back({.pod = pod->meta.key(),
                        .uid = pod->meta.uid,
                        .patch = std::make_shared<const Json>(MarkPatch(*pod, mark))});
    }
    return writes;
  }

 private:
  // A Workload that is left behind tells of pods that may be orphans.
  JobPlan PlanMissing(const JobSituation& situation, WallTime now) const {
    JobPlan plan = PlanMissingParent(orphans_, situation.workloads, now);
    if (!situation.workloads.empty() && !open_()) plan.look_again = kPodsGather;
    return plan;
  }

  ParentedPodPtr Find(const std::string& name) const {
    for (const PlacedPod& each : pods_) {
      if (each.pod->meta.name == name) return each.pod;
    }
    for (const ParentedPodPtr& each : orphans_) {
      if (each->meta.name == name) return each;
    }
    return nullptr;
  }

  JobView view_;
  KindPtr description_;
  std::vector<PlacedPod> pods_;
  std::vector<ParentedPodPtr> orphans_;
  std::function<bool()> open_;  // whether the pods are known
};

}  // namespace

PodParents::PodParents(kube::Manager& manager, DescribedJobs& objects, KindPtr description)
    : manager_(manager),
      objects_(objects),
      description_(std::move(description)),
      open_([this] { return Open(); }) {}

bool PodParents::Open() {
  if (pods_ != nullptr) {
    return pods_->has_synced() && (stateful_sets_ == nullptr || stateful_sets_->has_synced() ||
                                   stateful_sets_->is_missing());
  }
  const PodsRule& rule = *description_->pods;
  pods_ = &manager_.SelectedInformerFor<ParentedPod>(api::KindOf<api::Pod>(), DecodeParentedPod,
                                                     rule.selector);
  pods_->AddIndex(IndexName(), [this](const ParentedPod& pod) {
    const std::string parent = ParentOf(pod);
    if (parent.empty()) return std::vector<std::string>{};
    return std::vector{api::ObjectKey{pod.meta.namespace_name, parent}.ToString()};
  });
  const auto changed = [this](const ParentedPodPtr& pod) {
    Tell(pod->meta.namespace_name, ParentOf(*pod));
  };
  pods_->AddHandler({.on_add = changed,
                     .on_update = [changed](const auto&, const auto& pod) { changed(pod); },
                     .on_delete = changed});
  if (!rule.parent_label.empty() || rule.revisions_of_stateful_sets) WatchStatefulSets();
  return Open();
}

// A pod may be known before its StatefulSet is.
void PodParents::WatchStatefulSets() {
  const PodsRule& rule = *description_->pods;
  stateful_sets_ =
      &manager_.SelectedInformerFor<Revision>(kStatefulSets, DecodeRevision, rule.selector);
  const auto tell = [this](const auto& set) {
    const std::string* name = api::FindValue(set->meta.labels, description_->pods->parent_label);
    if (name != nullptr) Tell(set->meta.namespace_name, *name);
  };
  stateful_sets_->AddHandler({.on_add = tell,
                              .on_update =
                                  [tell](const auto& before, const auto& set) {
                                    if (before->old != set->old || before->meta.owner_references !=
                                                                       set->meta.owner_references) {
                                      tell(set);
                                    }
                                  },
                              .on_delete = tell});
}

// The object may be gone: its name is enough.
void PodParents::Tell(const std::string& namespace_name, const std::string& parent) const {
  if (parent.empty() || handler_ == nullptr || !handler_->on_change) return;
  const MetaPtr known = objects_.Meta({namespace_name, parent});
  handler_->on_change(known != nullptr
                          ? *known
                          : api::ObjectMeta{.namespace_name = namespace_name, .name = parent});
}

std::string PodParents::IndexName() const {
  return "parent " + std::string(description_->kind.framework);
}

const api::ResourceKind& PodParents::pod_resource() const { return api::KindOf<api::Pod>(); }

void PodParents::Ingest(const kube::Json& written) {
  if (pods_ != nullptr) pods_->Ingest(written);
}

Result<PodParents::Revision> PodParents::DecodeRevision(const api::JsonSource& object) {
  return api::ReadAs<Revision>(object, [](const api::Reader& in, Revision& out) {
    api::Read(in.Field("metadata"), out.meta);
    out.meta.annotations.clear();
    const api::Reader status = in.Field("status");
    std::string next;
    status.Field("currentRevision").Get(out.old);
    status.Field("updateRevision").Get(next);
    // A partition keeps pods of the old revision for good.
    std::int32_t partition = 0;
    const api::Reader spec = in.Field("spec");
    const api::Reader strategy = spec.Field("updateStrategy");
    const api::Reader rolling = strategy.Field("rollingUpdate");
    rolling.Field("partition").Get(partition);
    if (out.old == next || partition > 0) out.old.clear();
  });
}

std::string PodParents::ParentOf(const ParentedPod& pod) const {
  if (pod.framework != description_->kind.framework) return "";
  const std::string& label = description_->pods->parent_label;
  if (!label.empty()) {
    const std::string* name = api::FindValue(pod.meta.labels, label);
    return name == nullptr ? "" : *name;
  }
  const api::OwnerReference* owner = LinkOf(pod.meta);
  if (owner != nullptr) return IsOf(description_->kind, *owner) ? owner->name : "";
  // An orphan: the name of a StatefulSet's pod is that of the set and a number.
  const std::size_t dash = pod.meta.name.rfind('-');
  return dash == std::string::npos ? "" : pod.meta.name.substr(0, dash);
}

// A pod may have been made without a controller.
const api::OwnerReference* PodParents::LinkOf(const api::ObjectMeta& object) const {
  if (const api::OwnerReference* controller = api::ControllerOf(object)) return controller;
  for (const api::OwnerReference& each : object.owner_references) {
    if (IsOf(description_->kind, each) || each.kind == kStatefulSets.kind) return &each;
  }
  return nullptr;
}

PodParents::Origin PodParents::OriginOf(const ParentedPod& pod, const std::string& uid) const {
  constexpr int kMostLinks = 5;
  std::shared_ptr<const void> link;  // keeps `owner` alive
  const api::OwnerReference* owner = LinkOf(pod.meta);
  for (int i = 0; i < kMostLinks && owner != nullptr; ++i) {
    if (owner->uid == uid) return Origin::kObject;
    const api::ObjectKey key{pod.meta.namespace_name, owner->name};
    const api::ObjectMeta* above = nullptr;
    if (owner->kind == kStatefulSets.kind && stateful_sets_ != nullptr) {
      // Without the right to read them the labels have to do.
      if (stateful_sets_->is_missing()) return Origin::kObject;
      const auto set = stateful_sets_->Get(key);
      above = set == nullptr || set->meta.uid != owner->uid ? nullptr : &set->meta;
      link = set;
    } else if (owner->kind == kPod.kind) {
      const auto leader = pods_->Get(key);
      above = leader == nullptr || leader->meta.uid != owner->uid ? nullptr : &leader->meta;
      link = leader;
    }
    if (above == nullptr) return Origin::kAnother;
    owner = LinkOf(*above);
  }
  return owner == nullptr ? Origin::kOrphan : Origin::kAnother;
}

void PodParents::AddRevisions(std::vector<PlacedPod>& pods) const {
  if (stateful_sets_ == nullptr) return;
  for (PlacedPod& each : pods) {
    const api::OwnerReference* owner = LinkOf(each.pod->meta);
    const std::string* revision = api::FindValue(each.pod->meta.labels, kRevisionLabel);
    if (owner == nullptr || revision == nullptr || owner->kind != kStatefulSets.kind) continue;
    const auto set = stateful_sets_->Get({each.pod->meta.namespace_name, owner->name});
    each.replaced_soon =
        set != nullptr && set->meta.uid == owner->uid && !set->old.empty() && set->old == *revision;
  }
}

PodParents::Pods PodParents::PodsOf(const JobView& view) const {
  Pods pods;
  if (pods_ == nullptr) return pods;
  std::vector<ParentedPodPtr> own;
  for (const ParentedPodPtr& pod : pods_->ByIndex(IndexName(), view.meta.key().ToString())) {
    const Origin origin = OriginOf(*pod, view.meta.uid);
    if (origin == Origin::kObject) own.push_back(pod);
    if (origin == Origin::kOrphan) pods.orphans.push_back(pod);
  }
  pods.placed = PlacePods(view, *description_->pods, own);
  AddRevisions(pods.placed);
  return pods;
}

// A queued object opens the watch of its pods, and is looked at again when they are known. An
// object that does not exist may have pods and Workloads.
std::shared_ptr<const JobState> PodParents::Get(const api::ObjectKey& key) const {
  const auto object = objects_.Get(key);
  JobView view;
  if (object != nullptr) {
    view = object->View();
  } else {
    view.kind = &description_->kind;
    view.meta = {.namespace_name = key.namespace_name, .name = key.name};
  }
  Pods pods = PodsOf(view);
  return std::make_shared<const PodParentState>(
      std::move(view), description_, std::move(pods.placed), std::move(pods.orphans), open_);
}

Duration PodParents::GatheringOf(const api::ObjectKey& job) const {
  (void)job;
  return kPodsGather;
}

std::vector<api::ObjectKey> PodParents::JobsNaming(const api::ObjectKey& workload) const {
  (void)workload;
  return {};
}

void PodParents::AddHandler(Handler handler) {
  handler_ = std::make_shared<const Handler>(std::move(handler));
  objects_.AddHandler({.on_change = handler_->on_change, .on_delete = handler_->on_delete});
}

}  // namespace berth::integrations
