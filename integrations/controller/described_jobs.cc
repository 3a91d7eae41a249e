#include "integrations/controller/described_jobs.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/json_tree.h"
#include "integrations/controller/object_tree.h"
#include "integrations/described_job.h"

namespace berth::integrations {
namespace {

using Json = nlohmann::json;

Result<DescribedJob> Decode(const KindPtr& kind, const api::JsonSource& source) {
  BERTH_TRY(Json object, TreeOf(source));
  if (const auto metadata = object.find("metadata");
      metadata != object.end() && metadata->is_object()) {
    metadata->erase("managedFields");
  }
  BERTH_TRY(JobView view, ViewOf(kind, object));
  return DescribedJob{{std::move(view)}, kind, object.dump()};
}

class DescribedJobState final : public JobState {
 public:
  explicit DescribedJobState(std::shared_ptr<const DescribedJob> job) : job_(std::move(job)) {}

  const api::ObjectMeta& meta() const override { return job_->meta; }
  JobView View() const override { return *job_; }
  std::vector<JobWrite> Start(const std::vector<PodSetChange>& changes) const override {
    const Json before = api::ParseJsonOrNull(job_->text);
    const Result<Json> after = Started(*job_->description, before, changes);
    return after ? Difference(before, *after) : std::vector<JobWrite>{};
  }
  std::vector<JobWrite> Stop(const std::vector<PodSetChange>& originals) const override {
    const Json before = api::ParseJsonOrNull(job_->text);
    return Difference(before, Stopped(*job_->description, before, originals));
  }

 private:
  static std::vector<JobWrite> Difference(const Json& before, const Json& after) {
    Json patch = Json::diff(before, after);
    if (patch.empty()) return {};
    return {
        {.type = kube::PatchType::kJson, .patch = std::make_shared<const Json>(std::move(patch))}};
  }

  std::shared_ptr<const DescribedJob> job_;
};

}  // namespace

DescribedJobs::DescribedJobs(kube::Manager& manager, KindPtr description)
    : InformedJobs<DescribedJob>(manager.OptionalInformerFor<DescribedJob>(
          description->resource,
          [description](const api::JsonSource& object) { return Decode(description, object); })),
      first_(description),
      description_(std::move(description)) {}

bool DescribedJobs::Describe(const KindPtr& description) {
  const bool differs = description_ == nullptr || description == nullptr ||
                       *description_->source != *description->source;
  if (differs) description_ = description;
  return differs;
}

std::vector<api::ObjectKey> DescribedJobs::Keys() const {
  std::vector<api::ObjectKey> keys;
  for (const auto& job : jobs().objects()) keys.push_back(job->meta.key());
  return keys;
}

std::shared_ptr<const JobState> DescribedJobs::Get(const api::ObjectKey& key) const {
  auto job = jobs().Get(key);
  if (job != nullptr && description_ != nullptr && job->description != description_) {
    auto again = Decode(description_, api::ParseJsonOrNull(job->text));
    if (again) job = std::make_shared<const DescribedJob>(*std::move(again));
  }
  return job == nullptr ? nullptr : std::make_shared<const DescribedJobState>(std::move(job));
}

}  // namespace berth::integrations
