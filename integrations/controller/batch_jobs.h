// integrations/controller/batch_jobs.h — the JobSource of batch/v1 Job.
//
// The kind has a typed path: api::Job takes a tenth of the memory of the object's text, and a stop
// takes three writes (batch_job.h).
#pragma once

#include <memory>

#include "api/job.h"
#include "integrations/controller/job_source.h"
#include "kube/runtime/manager.h"

namespace berth::integrations {

class BatchJobs final : public InformedJobs<api::Job> {
 public:
  // Construct before the manager's informers start.
  explicit BatchJobs(kube::Manager& manager)
      : InformedJobs<api::Job>(manager.InformerFor<api::Job>()) {}

  const JobKind& kind() const override { return kBatchJob; }
  std::shared_ptr<const JobState> Get(const api::ObjectKey& key) const override;
};

}  // namespace berth::integrations
