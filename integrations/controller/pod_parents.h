// integrations/controller/pod_parents.h — the JobSource of a kind whose objects are parents of pods
// (pods/pod_parent.h).
//
//     DescribedJobs (the objects) + pods selected by PodsRule::selector ──▶ JobState ──▶ MarkPods
//
// The pods are watched from the first object on that is queued. An object is reconciled a moment
// after its pods have changed, so that pods that are created together are handled together. Only
// the identity of the other pods in the selection is kept.
//
// A pod is an object's if its owners lead to the object: the labels alone do not prove it, since
// any user may set them. The owners of a LeaderWorkerSet's pods are
//     worker ─▶ StatefulSet of the group ─▶ leader ─▶ StatefulSet of the leaders ─▶ object
// Pods whose owners end with an object that has no controller are orphans (pods/orphaned_pods.h).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "integrations/controller/described_jobs.h"
#include "integrations/controller/job_source.h"
#include "integrations/pods/pod_parent.h"
#include "kube/runtime/manager.h"

namespace berth::integrations {

class PodParents final : public JobSource {
 public:
  // Construct before the manager's informers start. `objects` outlives it; its kind has
  // KindDescription::pods, with a selector.
  PodParents(kube::Manager& manager, DescribedJobs& objects, KindPtr description);

  const JobKind& kind() const override { return objects_.kind(); }
  bool is_managed() const override { return objects_.is_managed(); }
  const kube::InformerBase& informer() const override { return objects_.informer(); }
  const api::ResourceKind& pod_resource() const override;
  std::shared_ptr<const JobState> Get(const api::ObjectKey& key) const override;
  MetaPtr Meta(const api::ObjectKey& key) const override { return objects_.Meta(key); }
  Duration GatheringOf(const api::ObjectKey& job) const override;
  std::vector<api::ObjectKey> JobsNaming(const api::ObjectKey& workload) const override;
  void AddHandler(Handler handler) override;
  kube::Sweep AllJobs() const override { return objects_.AllJobs(); }
  void Ingest(const kube::Json& written) override;

 private:
  // Watches the pods from now on. True: they are known.
  bool Open();
  // A StatefulSet between an object and its pods: its owner, and the revision that a rolling update
  // is about to replace; empty: no update is under way.
  struct Revision {
    api::ObjectMeta meta;
    std::string old;
  };
  // Where a pod's owners end: at the object; at another object, or at one that is not known at
  // present; at an object that has no controller.
  enum class Origin { kObject, kAnother, kOrphan };
  // The pods that name one object: its own, and orphans.
  struct Pods {
    std::vector<PlacedPod> placed;
    std::vector<ParentedPodPtr> orphans;
  };
  std::string IndexName() const;
  static Result<Revision> DecodeRevision(const api::JsonSource& object);
  void WatchStatefulSets();
  void Tell(const std::string& namespace_name, const std::string& parent) const;
  // The name of the object of which the pod seems to be; empty: the pod is of none of this kind.
  std::string ParentOf(const ParentedPod& pod) const;
  const api::OwnerReference* LinkOf(const api::ObjectMeta& object) const;  // null: none
  Origin OriginOf(const ParentedPod& pod, const std::string& uid) const;
  // `view`: without a uid where the object does not exist.
  Pods PodsOf(const JobView& view) const;
  void AddRevisions(std::vector<PlacedPod>& pods) const;

  kube::Manager& manager_;
  DescribedJobs& objects_;
  KindPtr description_;
  const std::function<bool()> open_;
  std::shared_ptr<const Handler> handler_;       // the argument of AddHandler
  kube::Informer<ParentedPod>* pods_ = nullptr;  // null: not watched yet
  // Not null for PodsRule::parent_label or revisions_of_stateful_sets.
  kube::Informer<Revision>* stateful_sets_ = nullptr;
};

}  // namespace berth::integrations
