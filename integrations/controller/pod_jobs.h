// integrations/controller/pod_jobs.h — the JobSource of pods: a job is a pod, or a group of pods.
//
//     pod "p"             key default/p
//     pods of group "g"   key default/group/g; no pod has such a name
//
// The informer holds the pods with the label kueue.x-k8s.io/managed=true, not those of the cluster.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "integrations/controller/job_source.h"
#include "integrations/pods/pod_group.h"
#include "kube/runtime/manager.h"

namespace berth::integrations {

class PodJobs final : public JobSource {
 public:
  // kOfParents: pods whose parent queues them (annotation pod-suspending-parent); other pods with
  // the label are left as they are.
  enum class Which { kAll, kOfParents };
  // Whether another job holds the pod. A gated pod for which the answer is yes gets no Workload of
  // its own.
  using IsHeld = std::function<bool(const QueuedPod&)>;
  // Construct before the manager's informers start.
  PodJobs(kube::Manager& manager, Which which, IsHeld is_held);

  const JobKind& kind() const override { return kPod; }
  const kube::InformerBase& informer() const override { return pods_; }
  std::shared_ptr<const JobState> Get(const api::ObjectKey& key) const override;
  MetaPtr Meta(const api::ObjectKey& key) const override;
  std::optional<Owner> OwnerOf(const api::Workload& workload) const override;
  std::string WorkloadNameOf(const api::ObjectKey& job) const override;
  Duration GatheringOf(const api::ObjectKey& job) const override;
  std::vector<api::ObjectKey> JobsNaming(const api::ObjectKey& workload) const override;
  void AddHandler(Handler handler) override;
  kube::Sweep AllJobs() const override;
  void Ingest(const kube::Json& written) override { pods_.Ingest(written); }

 private:
  std::vector<QueuedPodPtr> PodsOf(const api::ObjectKey& key) const;

  kube::Informer<QueuedPod>& pods_;
  kube::Informer<api::Namespace>& namespaces_;
  const Which which_;
  const IsHeld is_held_;
};

}  // namespace berth::integrations
