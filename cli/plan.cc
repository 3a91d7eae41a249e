// `berth plan`: jobs of files, and what their queue would do with them. Nothing is written.
#include "view/screens/plan.h"

#include <nlohmann/json.hpp>

#include "base/system_clock.h"
#include "cli/commands.h"
#include "view/manifest_objects.h"
#include "view/output.h"
#include "view/planned_jobs.h"
#include "view/read_objects.h"
#include "view/session.h"

namespace berth::cli {
namespace {

// Each problem is told, and the others are planned. `exit_code`: that of the last problem.
PlannedJobs JobsOf(const ManifestObjects& manifests, const PlannedJobsInput& input,
                   int& exit_code) {
  for (const PlacedFinding& each : manifests.problems) {
    exit_code = Complain({ErrorCode::kInvalid, ProblemText(each)});
  }
  PlannedJobs planned = PlanJobsOf(manifests.objects, input);
  for (const simulation::LintFinding& each : planned.problems) {
    const ManifestPlace place = manifests.places.Find(each.kind, each.name, each.field);
    const int code = Complain({ErrorCode::kInvalid, ProblemText(PlacedFinding{place, each})});
    if (each.severity == simulation::LintSeverity::kError) exit_code = code;
  }
  for (const std::string& note : manifests.notes) Complain({ErrorCode::kInvalid, "note: " + note});
  return planned;
}

std::vector<JobPlan> PlansOf(const std::vector<PlannedJob>& jobs, const ClusterView& view,
                             int& exit_code) {
  std::vector<JobPlan> plans;
  for (const PlannedJob& job : jobs) {
    auto plan = MakePlan(view, job);
    if (plan) {
      plans.push_back(*std::move(plan));
    } else {
      exit_code = Complain(plan.error());
    }
  }
  return plans;
}

}  // namespace

int RunPlan(const ClientFlags& client, const PlanFlags& flags) {
  const auto session = Session::Open(client);
  if (!session) return Complain(session.error());
  const std::string own =
      client.namespace_name.empty() ? (*session)->default_namespace() : client.namespace_name;
  const auto manifests = ReadManifestObjects(flags.files, flags.recursive);
  if (!manifests) return Complain(manifests.error());
  const ReadScope scope{.screen = ReadScope::Screen::kPlan, .own_namespace = own};
  const auto view = ReadCluster(**session, scope, SystemClock().Now());
  if (!view) return Complain(view.error());
  int exit_code = kExitAnswered;
  const PlannedJobs jobs = JobsOf(*manifests,
                                  {.namespace_name = own,
                                   .queue = flags.queue,
                                   .local_queues = &view->local_queues,
                                   .find = ReadsFrom(**session)},
                                  exit_code);
  if (jobs.jobs.empty() && exit_code == kExitAnswered) {
    return Complain({ErrorCode::kInvalid,
                     "no job among the files: a Job, a CronJob, a Pod or a kind of `berth kinds`"});
  }
  const std::vector<JobPlan> plans = PlansOf(jobs.jobs, *view, exit_code);
  if (plans.empty()) return exit_code;
  if (client.output != OutputFormat::kText) {
    PrintStructured(PlansJson(*view, plans), client.output);
  } else {
    Print(RenderPlans(*view, plans, DetectStyle(client.ascii)));
  }
  return exit_code;
}

}  // namespace berth::cli
