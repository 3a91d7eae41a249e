#include "cli/planned_jobs.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/codec.h"
#include "api/labels.h"
#include "integrations/batch_job.h"
#include "integrations/described_job.h"
#include "integrations/kind_catalogue.h"
#include "integrations/priority.h"
#include "integrations/workload_build.h"

namespace berth::cli {
namespace {

using integrations::KindPtr;
using Json = nlohmann::json;

KindPtr KindOfDocument(const std::string& api_version, const std::string& kind) {
  const auto& kinds = integrations::BuiltInKinds();
  const auto found = std::find_if(kinds.begin(), kinds.end(), [&](const KindPtr& each) {
    return each->resource.api_version() == api_version && each->kind.kind == kind;
  });
  return found == kinds.end() ? nullptr : *found;
}

std::string TextOf(const Json& document, const char* field) {
  const auto found = document.find(field);
  return found != document.end() && found->is_string() ? found->get<std::string>() : "";
}

// "Job train", for messages.
std::string SubjectOf(const Json& document) {
  const auto metadata = document.find("metadata");
  const bool named = metadata != document.end() && metadata->is_object();
  return TextOf(document, "kind") + " " + (named ? TextOf(*metadata, "name") : "");
}

// Priority classes of pods are not read: jobs without a WorkloadPriorityClass have priority 0.
Result<integrations::JobPriority> PriorityIn(const integrations::JobView& view,
                                             const std::vector<api::PriorityClass>& classes) {
  integrations::PriorityClassesByName by_name;
  for (const api::PriorityClass& each : classes) by_name[each.meta.name] = each;
  auto priority = integrations::PriorityOf(view, by_name, {});
  if (priority || view.meta.labels.contains(api::kPriorityClassLabel)) return priority;
  return integrations::JobPriority{};
}

// nullopt: the document is no job.
Result<std::optional<PlannedJob>> JobOfDocument(const Json& document,
                                                const PlannedJobsInput& input) {
  if (!document.is_object()) return std::optional<PlannedJob>();
  const std::string api_version = TextOf(document, "apiVersion");
  PlannedJob job{.kind = TextOf(document, "kind")};
  integrations::JobView view;
  if (api_version == "batch/v1" && job.kind == "Job") {
    const auto batch_job = api::Decode<api::Job>(document);
    if (!batch_job) return Annotate(batch_job.error(), SubjectOf(document));
    view = integrations::ViewOf(*batch_job);
    job.deadline = batch_job->active_deadline_seconds;
  } else if (const KindPtr kind = KindOfDocument(api_version, job.kind)) {
    auto made = integrations::ViewOf(kind, document);
    if (!made) return Annotate(made.error(), SubjectOf(document));
    view = *std::move(made);
  } else {
    return std::optional<PlannedJob>();
  }
  if (!view.problem.empty()) {
    return Error{ErrorCode::kInvalid, job.kind + " " + view.meta.name + ": " + view.problem};
  }
  if (view.meta.namespace_name.empty()) view.meta.namespace_name = input.namespace_name;
  job.name = view.meta.name;
  integrations::JobPriority priority;
  if (input.priority_classes != nullptr) {
    BERTH_TRY(priority, PriorityIn(view, *input.priority_classes));
  }
  job.workload = integrations::BuildWorkload(view, priority, {});
  if (!input.queue.empty()) job.workload.spec.queue_name = input.queue;
  return std::optional(std::move(job));
}

}  // namespace

Result<std::vector<PlannedJob>> PlannedJobsOf(const std::vector<Json>& documents,
                                              const PlannedJobsInput& input) {
  std::vector<PlannedJob> jobs;
  for (const Json& document : documents) {
    BERTH_TRY(std::optional<PlannedJob> job, JobOfDocument(document, input));
    if (job) jobs.push_back(*std::move(job));
  }
  return jobs;
}

}  // namespace berth::cli
