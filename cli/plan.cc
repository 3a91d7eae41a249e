// `berth plan`: jobs of files, and what their queue would do with them. Nothing is written.
#include "cli/screens/plan.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "api/codec/codec.h"
#include "base/system_clock.h"
#include "cli/commands.h"
#include "cli/manifest_files.h"
#include "cli/output.h"
#include "cli/session.h"
#include "integrations/batch_job.h"
#include "integrations/described_job.h"
#include "integrations/kind_catalogue.h"
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

// nullopt: the document is no job.
Result<std::optional<PlannedJob>> JobOfDocument(const Json& document, const PlanFlags& flags,
                                                const std::string& namespace_name) {
  if (!document.is_object()) return std::optional<PlannedJob>();
  const std::string api_version = TextOf(document, "apiVersion");
  PlannedJob job{.kind = TextOf(document, "kind")};
  integrations::JobView view;
  if (api_version == "batch/v1" && job.kind == "Job") {
    BERTH_TRY(const api::Job batch_job, api::Decode<api::Job>(document));
    view = integrations::ViewOf(batch_job);
    job.deadline = batch_job.active_deadline_seconds;
  } else if (const KindPtr kind = KindOfDocument(api_version, job.kind)) {
    BERTH_TRY(view, integrations::ViewOf(kind, document));
  } else {
    return std::optional<PlannedJob>();
  }
  if (!view.problem.empty()) {
    return Error{ErrorCode::kInvalid, job.kind + " " + view.meta.name + ": " + view.problem};
  }
  if (view.meta.namespace_name.empty()) view.meta.namespace_name = namespace_name;
  job.name = view.meta.name;
  job.workload = integrations::BuildWorkload(view, {}, {});
  if (!flags.queue.empty()) job.workload.spec.queue_name = flags.queue;
  return std::optional(std::move(job));
}

Result<std::vector<PlannedJob>> JobsOf(const PlanFlags& flags, const std::string& namespace_name) {
  BERTH_TRY(const std::vector<Json> documents, ReadManifests(flags.files));
  std::vector<PlannedJob> jobs;
  for (const Json& document : documents) {
    BERTH_TRY(std::optional<PlannedJob> job, JobOfDocument(document, flags, namespace_name));
    if (job) jobs.push_back(*std::move(job));
  }
  if (jobs.empty()) {
    return Error{ErrorCode::kInvalid,
                 "no job among the files: a batch/v1 Job or a kind of `berth kinds`"};
  }
  return jobs;
}

}  // namespace

int RunPlan(const ClientFlags& client, const PlanFlags& flags) {
  const auto session = Session::Open(client);
  if (!session) return Complain(session.error());
  const std::string own =
      client.namespace_name.empty() ? (*session)->default_namespace() : client.namespace_name;
  const auto jobs = JobsOf(flags, own);
  if (!jobs) return Complain(jobs.error());
  const ReadScope scope{.screen = ReadScope::Screen::kPlan, .own_namespace = own};
  const auto view = ReadCluster(**session, scope, SystemClock().Now());
  if (!view) return Complain(view.error());
  std::vector<JobPlan> plans;
  for (const PlannedJob& job : *jobs) {
    auto plan = MakePlan(*view, job);
    if (!plan) return Complain(plan.error());
    plans.push_back(*std::move(plan));
  }
  if (client.output != OutputFormat::kText) {
    PrintStructured(PlansJson(*view, plans), client.output);
  } else {
    Print(RenderPlans(*view, plans, DetectStyle(client.ascii)));
  }
  return kExitAnswered;
}

}  // namespace berth::cli
