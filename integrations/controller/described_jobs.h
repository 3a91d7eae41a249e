// integrations/controller/described_jobs.h — the JobSource of a described kind
// (kind_description.h).
//
// The informer keeps a job's view and its JSON text: a start or a stop edits the object as it was
// received, so that fields unknown to Berth survive, and sends the difference as a JSON patch.
// After a change of the description, Get reads the text again; so it does where the kind reads
// further objects (KindDescription::reads), whose changes count as changes of the jobs that name
// them.
//
// Jobs of a kind with a hold are stopped and started by their pods (held_pods.h).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "integrations/controller/held_pods.h"
#include "integrations/controller/job_source.h"
#include "integrations/kind_description.h"
#include "kube/runtime/manager.h"

namespace berth::integrations {

struct DescribedJob : JobView {
  KindPtr description;
  std::string text;                // the object, without managedFields
  std::vector<std::string> reads;  // names of the objects that are read, one for each rule
};

// An object that a kind reads beside its jobs.
struct ReadObject {
  api::ObjectMeta meta;
  std::shared_ptr<const nlohmann::json> json;
};

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

  // Another description of the same kind; null: jobs are left as they are. Returns whether it
  // differs from the present one: all jobs have to be looked at again then.
  bool Describe(const KindPtr& description);
  std::vector<api::ObjectKey> Keys() const;

 private:
  void WatchReads(kube::Manager& manager);
  ReadObjects ReadsOf(const DescribedJob& job) const;

  const KindPtr first_;  // decodes what the informer reads
  std::vector<kube::Informer<ReadObject>*> reads_;
  KindPtr description_;
  std::optional<HeldPods> held_;
};

}  // namespace berth::integrations
