// `berth plan`: jobs of files, and what their queue would do with them. Nothing is written.
#include <algorithm>
#include <memory>
#include <optional>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "api/deadline.h"
#include "base/system_clock.h"
#include "cli/client_flags.h"
#include "cli/completion.h"
#include "forecast/plan_forecast.h"
#include "view/manifest_objects.h"
#include "view/output.h"
#include "view/planned_jobs.h"
#include "view/read_objects.h"
#include "view/screens/plan_screen.h"
#include "view/session.h"

namespace berth::cli {
namespace {

struct PlanFlags {
  std::vector<std::string> files;  // and folders
  bool recursive = false;          // reads the folders in folders, too
  std::string queue;               // LocalQueue; empty: the one that each job names
  bool eta = false;                // forecasts the start of jobs without a deadline, too
};

// Each problem is reported, and the others are planned. `exit_code`: that of the last problem.
view::PlannedJobs JobsOf(const view::ManifestObjects& manifests,
                         const view::PlannedJobsInput& input, int& exit_code) {
  for (const view::PlacedFinding& each : manifests.problems) {
    exit_code = view::Complain({ErrorCode::kInvalid, view::ProblemText(each)});
  }
  view::PlannedJobs planned = view::PlanJobsOf(manifests.objects, input);
  for (const simulation::LintFinding& each : planned.problems) {
    const view::ManifestPlace place = manifests.places.Find(each.kind, each.name, each.field);
    const int code =
        view::Complain({ErrorCode::kInvalid, view::ProblemText(view::PlacedFinding{place, each})});
    if (each.severity == simulation::LintSeverity::kError) exit_code = code;
  }
  for (const std::string& note : manifests.notes)
    view::Complain({ErrorCode::kInvalid, "note: " + note});
  return planned;
}

// Whether the start of the job is forecast.
bool IsForecast(const PlanFlags& flags, const view::PlannedJob& job) {
  return flags.eta || job.workload.meta.annotations.contains(api::kDeadlineAnnotation);
}

// `starts`: the cluster as forecasts read it; null: no start is forecast.
std::vector<view::JobPlan> PlansOf(const std::vector<view::PlannedJob>& jobs,
                                   const view::ClusterView& view, const PlanFlags& flags,
                                   const view::ClusterView* starts, int& exit_code) {
  std::vector<view::JobPlan> plans;
  for (const view::PlannedJob& job : jobs) {
    auto plan = view::MakePlan(view, job);
    if (!plan) {
      exit_code = view::Complain(plan.error());
      continue;
    }
    if (starts != nullptr && IsForecast(flags, job)) {
      plan->start = forecast::ForecastPlanned(*starts, job);
    }
    plans.push_back(*std::move(plan));
  }
  return plans;
}

int RunPlan(const ClientFlags& client, const PlanFlags& flags) {
  const auto session = view::Session::Open(client);
  if (!session) return view::Complain(session.error());
  const std::string own = ScopeOf(client, **session, true).own_namespace;
  const auto manifests = view::ReadManifestObjects(flags.files, flags.recursive);
  if (!manifests) return view::Complain(manifests.error());
  const view::ReadScope scope{.screen = view::ReadScope::Screen::kPlan, .own_namespace = own};
  const auto view = view::ReadCluster(**session, scope, SystemClock().Now());
  if (!view) return view::Complain(view.error());
  int exit_code = view::kExitAnswered;
  const view::PlannedJobs jobs = JobsOf(*manifests,
                                        {.namespace_name = own,
                                         .queue = flags.queue,
                                         .local_queues = &view->local_queues,
                                         .find = view::ReadsFrom(**session)},
                                        exit_code);
  if (jobs.jobs.empty() && exit_code == view::kExitAnswered) {
    return view::Complain(
        {ErrorCode::kInvalid,
         "no job among the files: a Job, a CronJob, a Pod or a kind of `berth kinds`"});
  }
  std::optional<view::ClusterView> starts;
  if (std::any_of(jobs.jobs.begin(), jobs.jobs.end(),
                  [&flags](const auto& job) { return IsForecast(flags, job); })) {
    auto read = view::ReadCluster(
        **session, {.screen = view::ReadScope::Screen::kForecast, .own_namespace = own},
        SystemClock().Now());
    if (!read) return view::Complain(read.error());
    starts = *std::move(read);
  }
  const std::vector<view::JobPlan> plans =
      PlansOf(jobs.jobs, *view, flags, starts ? &*starts : nullptr, exit_code);
  if (plans.empty()) return exit_code;
  if (client.output != view::OutputFormat::kText) {
    view::PrintStructured(view::PlansJson(*view, plans), client.output);
  } else {
    view::Print(view::RenderPlans(*view, plans, view::DetectStyle(client.ascii)));
  }
  return exit_code;
}

}  // namespace

void AddPlan(CLI::App& app, int& exit_code) {
  const auto client = std::make_shared<ClientFlags>();
  const auto flags = std::make_shared<PlanFlags>();
  CLI::App* command = app.add_subcommand(
      "plan", "What a job would meet before it is created: queue, steps, waits, prices");
  AddServerFlags(*command, *client);
  AddOutputFlag(*command, client->output);
  command
      ->add_option("-f,--filename", flags->files,
                   "YAML or JSON of the jobs, or folders of such files; - is standard input")
      ->type_name(kFileValue)
      ->required();
  command->add_flag("-R,--recursive", flags->recursive, "read the folders in folders, too");
  command
      ->add_option("-n,--namespace", client->namespace_name,
                   "namespace of the jobs whose manifests name none")
      ->type_name(kNamespaceValue);
  command->add_option("--queue", flags->queue, "LocalQueue, in place of the one that the job names")
      ->type_name(kQueueValue);
  command->add_flag("--eta", flags->eta, "forecast the start, also of jobs without a deadline");
  AddAsciiFlag(*command, client->ascii);
  command->footer(
      "Nothing is created. A job with the annotation berth.dev/deadline gets the chance to keep "
      "it.\n"
      "Waits are those of earlier requests for the same machines, prices "
      "those\n"
      "of the policy or of the flavor.\n"
      "Examples:\n"
      "  berth plan -f job.yaml\n"
      "  berth plan -f job.yaml --queue team-a -o json | jq '.jobs[].checks[].steps[]'");
  command->callback([client, flags, &exit_code] { exit_code = RunPlan(*client, *flags); });
}

}  // namespace berth::cli
