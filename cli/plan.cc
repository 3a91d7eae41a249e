// `berth plan`: jobs of files, and what their queue would do with them. Nothing is written.
#include "cli/screens/plan.h"

#include <nlohmann/json.hpp>

#include "base/system_clock.h"
#include "cli/commands.h"
#include "cli/manifest_files.h"
#include "cli/output.h"
#include "cli/planned_jobs.h"
#include "cli/session.h"

namespace berth::cli {
namespace {

using Json = nlohmann::json;

Result<std::vector<PlannedJob>> JobsOf(const PlanFlags& flags, const std::string& namespace_name) {
  BERTH_TRY(const std::vector<Json> documents, ReadManifests(flags.files));
  BERTH_TRY(std::vector<PlannedJob> jobs,
            PlannedJobsOf(documents, {.namespace_name = namespace_name, .queue = flags.queue}));
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
