// `berth tune`: a workload of one's own under several policies of the queues, and a proposal.
// Nothing is written.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/client_flags.h"
#include "cli/completion.h"
#include "cli/manifest_queues.h"
#include "cli/progress_bar.h"
#include "cli/workload_source.h"
#include "forecast/simulated_cluster.h"
#include "program/configuration_file.h"
#include "simulation/jobs.h"
#include "simulation/tuning.h"
#include "simulation/world.h"
#include "view/manifest_files.h"
#include "view/output.h"
#include "view/screens/simulation_tables.h"
#include "view/screens/tune_screen.h"

namespace berth::cli {
namespace {

struct TuneFlags {
  std::vector<std::string> manifests;
  std::string workload;
  std::vector<std::string> mapped;
  std::string queue;
  std::uint64_t seed = 1;
  std::string config;
  view::OutputFormat output = view::OutputFormat::kText;
  bool ascii = false;
};

Result<simulation::Cluster> ReadQueues(const TuneFlags& flags, std::vector<std::string>& notes) {
  BERTH_TRY(const std::vector<std::string> files, view::ManifestsBelow(flags.manifests));
  BERTH_TRY(const std::vector<nlohmann::json> documents, view::ReadManifests(files));
  BERTH_TRY(simulation::Cluster cluster, ReadManifestQueues(documents, files));
  notes = forecast::NotSimulatedIn(documents, false);
  const std::vector<std::string> taken_out = simulation::Prepare(cluster);
  notes.insert(notes.end(), taken_out.begin(), taken_out.end());
  return cluster;
}

Result<view::TuneView> Tune(const TuneFlags& flags) {
  view::TuneView view;
  BERTH_TRY(const admission::Configuration configuration,
            program::ReadConfigurationFile(flags.config));
  BERTH_TRY(const simulation::Cluster cluster, ReadQueues(flags, view.notes));
  BERTH_TRY(const WorkloadSource source, WorkloadSource::Read(flags.workload, flags.mapped));
  const auto trace = source.Make(flags.seed);
  if (!trace) return Annotate(trace.error(), flags.workload);
  const auto jobs = simulation::BindJobs(**trace, cluster, flags.queue);
  if (!jobs) return Annotate(jobs.error(), flags.workload);

  view.trials = simulation::PolicyTrials();
  ProgressBar progress(static_cast<std::int64_t>(jobs->size() * view.trials.size()), "jobs");
  for (simulation::PolicyTrial& trial : view.trials) {
    const simulation::Cluster tried = simulation::WithPolicy(cluster, trial);
    simulation::WorldOptions options;
    options.driver = configuration.admission.driver;
    options.on_event = [&progress](const simulation::WorldEvent& event) {
      if (event.kind == simulation::WorldEvent::Kind::kFinished) progress.Step();
    };
    const simulation::WorldResult result = simulation::World(tried, *jobs, options).Run();
    trial.figures = simulation::MakeReport(tried, *jobs, result).total.figures;
  }
  view.resource = view::MainResource(view.trials[0].figures);
  view.proposed = simulation::ProposedTrial(view.trials, view.resource);
  return view;
}

int RunTune(const TuneFlags& flags) {
  const auto view = Tune(flags);
  if (!view) return view::Complain(view.error());
  if (flags.output == view::OutputFormat::kText) {
    view::Print(view::RenderTune(*view, view::DetectStyle(flags.ascii)));
  } else {
    view::PrintStructured(view::TuneJson(*view), flags.output);
  }
  return view::kExitAnswered;
}

}  // namespace

void AddTune(CLI::App& app, int& exit_code) {
  const auto flags = std::make_shared<TuneFlags>();
  CLI::App* command = app.add_subcommand(
      "tune", "Simulates a workload under several policies of the queues, and proposes one");
  command
      ->add_option("-f,--filename,FILES", flags->manifests,
                   "YAML or JSON of the queues, or a folder of such files; may be repeated")
      ->type_name(kFileValue)
      ->required();
  command
      ->add_option(
          "--workload,--ledger", flags->workload,
          "jobs, as berth simulate reads them: a ledger, CSV, SWF, a trace, a JobGenerator")
      ->type_name(kFileValue)
      ->required();
  command->add_option("--queue", flags->queue, "LocalQueue of the rows that name none")
      ->type_name("[NAMESPACE/]NAME");
  command
      ->add_option("--map", flags->mapped, "LocalQueue of a trace's virtual cluster, queue or user")
      ->type_name("ORIGIN=QUEUE");
  command->add_option("--seed", flags->seed, "of a JobGenerator; one seed makes one workload")
      ->type_name("NUMBER")
      ->capture_default_str();
  command->add_option("--config", flags->config, "Kueue Configuration file")->type_name(kFileValue);
  AddOutputFlag(*command, flags->output);
  AddAsciiFlag(*command, flags->ascii);
  command->footer(
      "Needs no cluster, and changes nothing. Quota decides, without nodes and admission checks.\n"
      "It tries orders (berth.dev/order), places for long waits (berth.dev/reserve-after) and\n"
      "patience of preemptors (berth.dev/preemption-patience): docs/guide/order.md, victims.md.\n"
      "Examples:\n"
      "  berth tune -f queues.yaml --ledger ledger.db\n"
      "  berth tune -f queues/ --workload log.swf --queue team-a/main -o json");
  command->callback([flags, &exit_code] { exit_code = RunTune(*flags); });
}

}  // namespace berth::cli
