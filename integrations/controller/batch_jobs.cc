#include "integrations/controller/batch_jobs.h"

#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "integrations/batch_job.h"
#include "integrations/controller/job_patches.h"

namespace berth::integrations {
namespace {

class BatchJobState final : public JobState {
 public:
  explicit BatchJobState(std::shared_ptr<const api::Job> job) : job_(std::move(job)) {}

  const api::ObjectMeta& meta() const override { return job_->meta; }
  JobView View() const override { return ViewOf(*job_); }
  std::vector<JobWrite> Start(const std::vector<PodSetChange>& changes) const override {
    return {Written(StartWrite(*job_, changes.front()))};
  }
  std::vector<JobWrite> Stop(const std::vector<PodSetChange>& originals) const override {
    std::optional<PodSetChange> original;
    if (!originals.empty()) original = originals.front();
    std::vector<JobWrite> writes;
    for (const BatchJobWrite& write : StopWrites(*job_, original)) writes.push_back(Written(write));
    return writes;
  }

 private:
  JobWrite Written(const BatchJobWrite& write) const {
    return {.patch = std::make_shared<const kube::Json>(JobPatch(*job_, write)),
            .subresource = write.clear_start_time ? "status" : ""};
  }

  std::shared_ptr<const api::Job> job_;
};

}  // namespace

std::shared_ptr<const JobState> BatchJobs::Get(const api::ObjectKey& key) const {
  auto job = jobs().Get(key);
  return job == nullptr ? nullptr : std::make_shared<const BatchJobState>(std::move(job));
}

}  // namespace berth::integrations
