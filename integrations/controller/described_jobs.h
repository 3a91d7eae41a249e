// integrations/controller/described_jobs.h — the JobSource of a described kind
// (kind_description.h).
//
// The informer keeps a job's view and its JSON text: a start or a stop edits the object as it was
// received, so that fields unknown to Berth survive, and sends the difference as a JSON patch.
#pragma once

#include <memory>
#include <string>

#include "integrations/controller/job_source.h"
#include "integrations/kind_description.h"
#include "kube/runtime/manager.h"

namespace berth::integrations {

struct DescribedJob : JobView {
  KindPtr description;
  std::string text;  // the object, without managedFields
};

class DescribedJobs final : public InformedJobs<DescribedJob> {
 public:
  // Construct before the manager's informers start. The cluster may lack the kind's CRD.
  DescribedJobs(kube::Manager& manager, KindPtr description);

  const JobKind& kind() const override { return description_->kind; }
  std::shared_ptr<const JobState> Get(const api::ObjectKey& key) const override;

 private:
  KindPtr description_;
};

}  // namespace berth::integrations
