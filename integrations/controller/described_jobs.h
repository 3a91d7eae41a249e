// integrations/controller/described_jobs.h — the JobSource of a described kind
// (kind_description.h).
//
// The informer keeps a job's view and its JSON text: a start or a stop edits the object as it was
// received, so that fields unknown to Berth survive, and sends the difference as a JSON patch. If
// the pods of a kind are held by their gates (KindDescription::pods), no object is written: the
// informer keeps no text. If the pods of an object are queued one by one (a Deployment), the
// informer keeps only the metadata that says who queues it. After a change of the description, Get
// reads the text again. If the kind reads further objects (KindDescription::reads), Get reads the
// text again after their changes, too; these count as changes of the jobs that name the objects.
// The result of Get is kept until the job, an object that it reads, or the description changes.
//
// Jobs of a kind with a hold are stopped and started by their pods (held_pods.h).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "integrations/controller/held_pods.h"
#include "integrations/controller/job_source.h"
#include "integrations/kind_description.h"
#include "kube/runtime/manager.h"

namespace berth::integrations {

struct DescribedJob : JobView {
  KindPtr description;
  // The object, without managedFields; null: the kind's objects are not written.
  std::shared_ptr<const std::string> text;
  std::vector<std::string> reads;  // names of the objects that are read, one for each rule
};

// Reads a job in the form that the informer keeps. kInvalid: the metadata cannot be read.
Result<DescribedJob> DecodeDescribedJob(const KindPtr& kind, const api::JsonSource& source);

// An object that a kind reads beside its jobs.
struct ReadObject {
  api::ObjectMeta meta;
  std::shared_ptr<const nlohmann::json> json;
};
Result<ReadObject> DecodeReadObject(const api::JsonSource& source);
// The built-in job kind of the objects of `rule`; null: they are of no such kind.
KindPtr JobKindOf(const ReadRule& rule);

class DescribedJobs final : public InformedJobs<DescribedJob> {
 public:
  // Construct before the manager's informers start. The cluster may lack the kind's CRD.
  DescribedJobs(kube::Manager& manager, KindPtr description);

  const JobKind& kind() const override { return first_->kind; }
  bool is_managed() const override { return description_ != nullptr; }
  std::shared_ptr<const JobState> Get(const api::ObjectKey& key) const override;
  void AddHandler(Handler handler) override;
  void Ingest(const kube::Json& written) override;
  const api::ResourceKind& pod_resource() const override;

  // Sets another description of the same kind; null: jobs are left as they are. Returns whether it
  // differs from the present description; if so, all jobs have to be reconciled.
  bool Describe(const KindPtr& description);
  std::vector<api::ObjectKey> Keys() const;
  // Whether the pod is of a job that is held by its pods, even if the pod's review did not know it.
  bool Holds(const QueuedPod& pod) const;

 private:
  using JobPtr = std::shared_ptr<const DescribedJob>;
  // The objects of one rule of `reads`. Those of a job kind come from the informer of that kind.
  struct ReadSource {
    kube::Informer<ReadObject>* objects = nullptr;
    kube::Informer<DescribedJob>* jobs = nullptr;
    // The JSON of those `jobs` that were asked for.
    mutable std::map<api::ObjectKey, std::pair<JobPtr, std::shared_ptr<const nlohmann::json>>> read;

    std::shared_ptr<const nlohmann::json> Find(const api::ObjectKey& key) const;
    void OnChange(const std::function<void(const api::ObjectKey& key)>& tell) const;
  };

  // The result of reading the text of a job that the informer holds.
  struct ReadJob {
    JobPtr from;
    KindPtr description;
    ReadObjects reads;
    JobPtr job;
  };

  void WatchReads(kube::Manager& manager);
  ReadObjects ReadsOf(const DescribedJob& job) const;
  JobPtr ReadAgain(const JobPtr& job, const KindPtr& description, const ReadObjects& reads) const;

  const KindPtr first_;  // decodes what the informer reads
  std::vector<ReadSource> reads_;
  KindPtr description_;
  std::optional<HeldPods> held_;
  mutable std::map<api::ObjectKey, ReadJob> read_;  // jobs that exist
};

}  // namespace berth::integrations
