#include "webhook/batch_job_rules.h"

#include <algorithm>
#include <optional>

#include <nlohmann/json.hpp>

#include "api/codec/codec.h"
#include "api/labels.h"
#include "api/multikueue.h"
#include "base/strings.h"
#include "webhook/elastic_gate.h"

namespace berth::webhook {
namespace {

Path JobAnnotations() { return Path("metadata.annotations"); }

std::string AnnotationOf(const api::Job& job, const char* key) {
  const std::string* value = api::FindValue(job.meta.annotations, key);
  return value == nullptr ? "" : *value;
}

std::int64_t PodsCount(const api::Job& job) {
  return std::min(job.parallelism.value_or(1), job.completions.value_or(INT32_MAX));
}

void CheckPartialAdmission(const api::Job& job, const api::Job* old, FieldErrors& errors) {
  const std::string* text = api::FindValue(job.meta.annotations, api::kMinParallelismAnnotation);
  const Path path = JobAnnotations().Key(api::kMinParallelismAnnotation);
  if (text != nullptr) {
    const std::optional<std::int64_t> value = ParseInt64(*text);
    // A start with fewer pods, and the stop after it, change the count that bounds the value.
    const std::string* before =
        old == nullptr ? nullptr
                       : api::FindValue(old->meta.annotations, api::kMinParallelismAnnotation);
    const bool unchanged = before != nullptr && *before == *text;
    if (unchanged) {
      // The value was validated when it was set.
    } else if (!value) {
      errors.push_back(Invalid(path, Quoted(*text), "must be a whole number"));
    } else if (*value <= 0 || *value >= PodsCount(job)) {
      errors.push_back(Invalid(path, std::to_string(*value),
                               "should be between 0 and " + std::to_string(PodsCount(job) - 1)));
    }
    if (AnnotationOf(job, api::kElasticJobAnnotation) == "true") {
      errors.push_back(Invalid(path, Quoted(*text),
                               "partial admission and elastic job cannot be used together"));
    }
  }
  if (old != nullptr && text != nullptr && !old->suspend && !job.suspend &&
      old->parallelism != job.parallelism) {
    errors.push_back(
        Forbidden(Path("spec.parallelism"),
                  "cannot change when partial admission is enabled and the job is not suspended"));
  }
  const std::string* tied =
      api::FindValue(job.meta.annotations, api::kCompletionsEqualParallelismAnnotation);
  if (tied == nullptr) return;
  if (*tied != "true" && *tied != "false") {
    errors.push_back(Invalid(JobAnnotations().Key(api::kCompletionsEqualParallelismAnnotation),
                             Quoted(*tied), "must be true or false"));
    return;
  }
  if (*tied == "false") return;
  if (job.completion_mode != "Indexed") {
    errors.push_back(Invalid(Path("spec.completionMode"), Quoted(job.completion_mode),
                             "should not be NonIndexed when " +
                                 std::string(api::kCompletionsEqualParallelismAnnotation) +
                                 " is true"));
  }
  if (job.completions.value_or(-1) != job.parallelism.value_or(1)) {
    errors.push_back(Invalid(Path("spec.completions"), std::to_string(job.completions.value_or(-1)),
                             "should be equal to parallelism when " +
                                 std::string(api::kCompletionsEqualParallelismAnnotation) +
                                 " is true"));
  }
}

Result<FieldErrors> ReviewBatchJob(const nlohmann::json& object, const nlohmann::json& before,
                                   const ReviewedKind::FactsOf& facts_of) {
  BERTH_TRY(const api::Job job, api::Decode<api::Job>(object));
  const JobFacts facts = facts_of(job.meta);
  if (before.is_null()) return ValidateBatchJob(job, nullptr, facts);
  BERTH_TRY(const api::Job old, api::Decode<api::Job>(before));
  if (!IsQueuedJob(job.meta, facts) && !IsManagedJob(old.meta)) return FieldErrors{};
  return ValidateBatchJob(job, &old, facts);
}

std::vector<std::string> WarnOfBatchJob(const nlohmann::json& object,
                                        const ReviewedKind::FactsOf& facts_of) {
  const Result<api::Job> job = api::Decode<api::Job>(object);
  if (!job) return {};
  std::vector<std::string> warnings = WarningsOfJob(job->meta, facts_of(job->meta).elastic_jobs);
  if (job->managed_by == api::kMultiKueueController && IsManagedJob(job->meta)) {
    warnings.push_back(DelegationWarning("spec.managedBy"));
  }
  return warnings;
}

}  // namespace

const ReviewedKind& BatchJobKind() {
  static const ReviewedKind kKind{
      .name = "batch/v1, Kind=Job",
      .framework = "batch/job",
      .path = "batch-v1-job",
      .elastic = true,
      .plain_topology = true,
      .read = [](const nlohmann::json& object) -> Result<ReviewedJob> {
        BERTH_TRY(const api::Job job, api::Decode<api::Job>(object));
        return ReviewedOf(job);
      },
      .suspend = [](nlohmann::json& object) { object["spec"]["suspend"] = true; },
      .gate = [](nlohmann::json& object) { AddElasticGate(object["spec"]["template"]); },
      .validate = ReviewBatchJob,
      .warn = WarnOfBatchJob};
  return kKind;
}

ReviewedJob ReviewedOf(const api::Job& job) {
  return {.meta = job.meta,
          .suspended = job.suspend,
          .skipped = job.managed_by == api::kMultiKueueController,
          .pod_sets = {{.name = "main",
                        .count = PodsCount(job),
                        .annotations = Path("spec.template.metadata.annotations"),
                        .topology_annotations = job.pod_template.annotations}}};
}

FieldErrors ValidateBatchJob(const api::Job& job, const api::Job* old, const JobFacts& facts) {
  FieldErrors own;
  CheckPartialAdmission(job, old, own);
  const ReviewedJob now = ReviewedOf(job);
  if (old == nullptr) return ValidateJob(now, nullptr, BatchJobKind(), facts, own);
  const ReviewedJob before = ReviewedOf(*old);
  return ValidateJob(now, &before, BatchJobKind(), facts, own);
}

}  // namespace berth::webhook
