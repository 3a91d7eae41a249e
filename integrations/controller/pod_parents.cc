#include "integrations/controller/pod_parents.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/parts.h"
#include "api/labels.h"

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
                 std::function<bool()> open)
      : view_(std::move(view)),
        description_(std::move(description)),
        pods_(std::move(pods)),
        open_(std::move(open)) {}

  const api::ObjectMeta& meta() const override { return view_.meta; }
  JobView View() const override { return view_; }
  JobPlan Plan(JobSituation situation, WallTime now) const override {
    if (IsQueuedParent(situation) && !open_()) return {.look_again = kPodsGather};
    return PlanPodParent(situation, *description_->pods, pods_, now);
  }
  // Its pods start and stop.
  std::vector<JobWrite> Start(const std::vector<PodSetChange>& changes) const override {
    (void)changes;
    return {};
  }
  std::vector<JobWrite> Stop(const std::vector<PodSetChange>& originals) const override {
    (void)originals;
    return {};
  }
  std::vector<PodWrite> PodWrites(const JobAction& action) const override {
    std::vector<PodWrite> writes;
    const auto* marks = std::get_if<MarkPods>(&action);
    if (marks == nullptr) return writes;
    for (const PodMark& mark : marks->pods) {
      const auto found = std::find_if(pods_.begin(), pods_.end(), [&mark](const PlacedPod& each) {
        return each.pod->meta.name == mark.pod;
      });
      if (found == pods_.end()) continue;
      const ParentedPod& pod = *found->pod;
      writes.push_back({.pod = pod.meta.key(),
                        .uid = pod.meta.uid,
                        .patch = std::make_shared<const Json>(MarkPatch(pod, mark))});
    }
    return writes;
  }

 private:
  JobView view_;
  KindPtr description_;
  std::vector<PlacedPod> pods_;
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
    const std::string parent = ParentOf(*pod);
    if (parent.empty() || handler_ == nullptr || !handler_->on_change) return;
    if (const auto meta = objects_.Meta({pod->meta.namespace_name, parent})) {
      handler_->on_change(*meta);
    }
  };
  pods_->AddHandler({.on_add = changed,
                     .on_update = [changed](const auto&, const auto& pod) { changed(pod); },
                     .on_delete = changed});
  if (rule.revisions_of_stateful_sets) {
    stateful_sets_ =
        &manager_.SelectedInformerFor<Revision>(kStatefulSets, DecodeRevision, rule.selector);
  }
  return Open();
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
  const api::OwnerReference* owner = api::ControllerOf(pod.meta);
  return owner != nullptr && IsOf(description_->kind, *owner) ? owner->name : "";
}

void PodParents::AddRevisions(std::vector<PlacedPod>& pods) const {
  if (stateful_sets_ == nullptr) return;
  for (PlacedPod& each : pods) {
    const api::OwnerReference* owner = api::ControllerOf(each.pod->meta);
    const std::string* revision = api::FindValue(each.pod->meta.labels, kRevisionLabel);
    if (owner == nullptr || revision == nullptr || owner->kind != kStatefulSets.kind) continue;
    const auto set = stateful_sets_->Get({each.pod->meta.namespace_name, owner->name});
    each.replaced_soon =
        set != nullptr && set->meta.uid == owner->uid && !set->old.empty() && set->old == *revision;
  }
}

std::vector<PlacedPod> PodParents::PodsOf(const JobView& view) const {
  if (pods_ == nullptr) return {};
  const PodsRule& rule = *description_->pods;
  std::vector<PlacedPod> pods =
      PlacePods(view, rule, pods_->ByIndex(IndexName(), view.meta.key().ToString()));
  // Pods of an earlier object of this name.
  std::erase_if(pods, [&](const PlacedPod& each) {
    const api::OwnerReference* owner = api::ControllerOf(each.pod->meta);
    return rule.parent_label.empty() && (owner == nullptr || owner->uid != view.meta.uid);
  });
  AddRevisions(pods);
  return pods;
}

// A queued object opens the watch of its pods, and is looked at again when they are known.
std::shared_ptr<const JobState> PodParents::Get(const api::ObjectKey& key) const {
  const auto object = objects_.Get(key);
  if (object == nullptr) return nullptr;
  JobView view = object->View();
  std::vector<PlacedPod> pods = PodsOf(view);
  return std::make_shared<const PodParentState>(std::move(view), description_, std::move(pods),
                                                open_);
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
