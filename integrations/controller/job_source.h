// integrations/controller/job_source.h — the jobs of one kind for the reconciler: a current copy,
// and the writes that start and stop a job.
//
//     JobSource ──Get──▶ JobState ──View──▶ JobView            input of job_plan.h
//                                 ──Start, Stop──▶ JobWrite…   performed by job_reconciler.h
//
// Threads: one Executor, that of the manager. Errors: none.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/codec/kinds.h"
#include "api/object_meta.h"
#include "api/workload.h"
#include "base/clock.h"
#include "integrations/action_plan.h"
#include "integrations/job_view.h"
#include "integrations/workload_build.h"
#include "kube/client/api_client.h"
#include "kube/client/informer.h"
#include "kube/runtime/sweep.h"

namespace berth::integrations {

// One write to a job. The reconciler adds the resourceVersion on which the write is based.
struct JobWrite {
  kube::PatchType type = kube::PatchType::kMerge;  // or kJson
  kube::JsonPtr patch;
  std::string subresource;  // empty: the object
};

// One write to a pod of a job of bare pods. The patch names the state that it is based on.
struct PodWrite {
  api::ObjectKey pod;
  std::string uid;
  kube::PatchType type = kube::PatchType::kMerge;  // or kApply
  kube::JsonPtr patch;                             // null: the pod is deleted
  std::string subresource;
  const api::ResourceKind* resource = nullptr;  // null: a pod; or an object that makes pods
};

// One state of one job.
class JobState {
 public:
  virtual ~JobState() = default;
  virtual const api::ObjectMeta& meta() const = 0;
  virtual JobView View() const = 0;
  // The plan of the job: that of all kinds, unless the kind has rules of its own. For Start and
  // Stop: one change per pod set, in the order of the view's pod sets; the writes are in order, and
  // there are none while a stop has to wait for the job's pods.
  virtual JobPlan Plan(JobSituation situation, WallTime now) const {
    return PlanJob(situation, now);
  }
  virtual std::vector<JobWrite> Start(const std::vector<PodSetChange>& changes) const = 0;
  // False: a start changes the job's pods alone.
  virtual bool IsStartedByAWrite() const { return true; }
  // Empty `originals`: the templates do not change.
  virtual std::vector<JobWrite> Stop(const std::vector<PodSetChange>& originals) const = 0;

  // The names of Workloads that the job takes over where no object owns them; `known`: the
  // Workloads that the job owns.
  virtual std::vector<std::string> EarlierWorkloads(const std::vector<api::Workload>& known) const {
    (void)known;
    return {};
  }

  // Makes the operator create a pod again that a stop has deleted.
  virtual std::vector<JobWrite> Restart() const { return {}; }

  // The bare pods on which the job's events are emitted; empty: the job is an object.
  virtual std::vector<api::ObjectMeta> Pods() const { return {}; }
  // The writes to pods of a start, stop or release. The writes of one pod are together and in
  // order.
  virtual std::vector<PodWrite> PodWrites(const JobAction& action) const {
    (void)action;
    return {};
  }
};

class JobSource {
 public:
  using MetaPtr = std::shared_ptr<const api::ObjectMeta>;
  struct Handler {
    std::function<void(const api::ObjectMeta& job)> on_change;  // added or updated
    std::function<void(const api::ObjectMeta& job)> on_delete;
  };

  virtual ~JobSource() = default;
  virtual const JobKind& kind() const = 0;
  // False: jobs of the kind are left as they are.
  virtual bool is_managed() const { return true; }
  virtual const kube::InformerBase& informer() const = 0;
  // Null where the kind has no such job.
  virtual std::shared_ptr<const JobState> Get(const api::ObjectKey& key) const = 0;
  virtual MetaPtr Meta(const api::ObjectKey& key) const = 0;
  // The job of this kind whose Workload `workload` is; nullopt: it is of another kind, or prebuilt
  // and not taken yet.
  struct Owner {
    api::ObjectKey key;
    std::string uid;
  };
  virtual std::optional<Owner> OwnerOf(const api::Workload& workload) const;
  // The name of the job's Workload, if the kind finds the Workload by its name; empty: by its
  // owners.
  virtual std::string WorkloadNameOf(const api::ObjectKey& job) const {
    (void)job;
    return "";
  }
  // The time to wait for further changes of a changed job.
  virtual Duration GatheringOf(const api::ObjectKey& job) const {
    (void)job;
    return Duration::zero();
  }
  // The jobs that name the prebuilt Workload `workload`.
  virtual std::vector<api::ObjectKey> JobsNaming(const api::ObjectKey& workload) const = 0;
  virtual void AddHandler(Handler handler) = 0;
  virtual kube::Sweep AllJobs() const = 0;
  // Takes the API server's answer to a write; see kube::Informer::Ingest.
  virtual void Ingest(const kube::Json& written) = 0;

  const api::ResourceKind& resource() const { return informer().kind(); }
  // The kind of the pods to which PodWrites writes, and whose answers Ingest takes.
  virtual const api::ResourceKind& pod_resource() const { return resource(); }
};

// Whether the reference names a job of `kind`, in any of its versions.
bool IsOf(const JobKind& kind, const api::OwnerReference& owner);

// The part of a JobSource that stands on an informer of T.
template <typename T>
class InformedJobs : public JobSource {
 public:
  explicit InformedJobs(kube::Informer<T>& informer) : informer_(informer) {
    informer_.AddIndex(kPrebuiltIndex, [](const T& job) {
      const std::string* name = PrebuiltWorkloadOf(job.meta);
      if (name == nullptr) return std::vector<std::string>{};
      return std::vector<std::string>{api::ObjectKey{job.meta.namespace_name, *name}.ToString()};
    });
  }

  const kube::InformerBase& informer() const override { return informer_; }
  MetaPtr Meta(const api::ObjectKey& key) const override {
    const auto job = informer_.Get(key);
    return job == nullptr ? nullptr : MetaPtr(job, &job->meta);
  }
  std::vector<api::ObjectKey> JobsNaming(const api::ObjectKey& workload) const override {
    std::vector<api::ObjectKey> keys;
    for (const auto& job : informer_.ByIndex(kPrebuiltIndex, workload.ToString())) {
      keys.push_back(job->meta.key());
    }
    return keys;
  }
  void AddHandler(Handler handler) override {
    const auto change = [on_change = std::move(handler.on_change)](const auto& job) {
      if (on_change) on_change(job->meta);
    };
    informer_.AddHandler({.on_add = change,
                          .on_update = [change](const auto&, const auto& job) { change(job); },
                          .on_delete =
                              [on_delete = std::move(handler.on_delete)](const auto& job) {
                                if (on_delete) on_delete(job->meta);
                              }});
  }
  kube::Sweep AllJobs() const override { return kube::SweepOf(informer_); }
  void Ingest(const kube::Json& written) override { informer_.Ingest(written); }

 protected:
  const kube::Informer<T>& jobs() const { return informer_; }
  kube::Informer<T>& jobs() { return informer_; }

 private:
  static constexpr char kPrebuiltIndex[] = "prebuilt";

  kube::Informer<T>& informer_;
};

}  // namespace berth::integrations
