// `berth simulate`: a workload of a file on the queues of manifests or of a cluster, in virtual
// time. Nothing is written.
#include "cli/simulate.h"

#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/system_clock.h"
#include "cli/configuration_file.h"
#include "cli/manifest_files.h"
#include "cli/output.h"
#include "cli/progress_bar.h"
#include "cli/screens/simulation_page.h"
#include "cli/screens/simulation_tables.h"
#include "cli/screens/spread.h"
#include "cli/session.h"
#include "cli/simulated_cluster.h"
#include "cli/simulated_pools.h"
#include "cli/simulation_events.h"
#include "cli/workload_source.h"
#include "scenarios/played_jobs.h"
#include "simulation/jobs.h"
#include "simulation/world.h"

namespace berth::cli {
namespace {

// How jobs are run: on the scheduler alone, or with every part of Berth (--full).
struct Setup {
  simulation::WorldOptions world;
  admission::Configuration configuration;
  std::vector<nlohmann::json> pools;  // documents
};

Result<Setup> SetupOf(const SimulateFlags& flags) {
  BERTH_TRY(admission::Configuration configuration, ReadConfigurationFile(flags.config));
  if (!flags.decisions.empty()) {
    admission::SetDecisions(configuration, flags.decisions == "kueue"
                                               ? admission::Decisions::kKueue
                                               : admission::Decisions::kBerth);
  }
  Setup setup;
  simulation::WorldOptions& options = setup.world;
  options.scheduler = configuration.admission.scheduler;
  options.scheduler.block_admission = false;  // the pods of a simulated job are ready at once
  options.wake_up_batch = configuration.admission.wake_up_batch;
  if (!flags.pools.empty()) {
    BERTH_TRY(const std::vector<std::string> files, ManifestsBelow(flags.pools));
    BERTH_TRY(setup.pools, ReadManifests(files));
    auto pools = ReadSimulatedPools(setup.pools);
    if (!pools) return Annotate(pools.error(), "--pools");
    options.pools = *std::move(pools);
    if (flags.spread) options.placement = simulation::PodPlacement::kSpread;
  }
  setup.configuration = std::move(configuration);
  return setup;
}

// One set of manifests, ready to run.
struct Side {
  simulation::Cluster cluster;
  std::vector<std::string> notes;
  std::vector<nlohmann::json> documents;  // none: of a cluster
};

Result<Side> ReadQueues(const std::vector<std::string>& manifests) {
  BERTH_TRY(const std::vector<std::string> files, ManifestsBelow(manifests));
  Side side;
  BERTH_TRY(side.documents, ReadManifests(files));
  BERTH_TRY(side.cluster, ReadSimulatedCluster(side.documents));
  return side;
}

// The queues alone: Workloads of the cluster take no part.
Result<Side> ReadQueuesOfCluster(const ClientFlags& client) {
  BERTH_TRY(const std::unique_ptr<Session> session, Session::Open(client));
  const ReadScope scope{.screen = ReadScope::Screen::kQueues,
                        .own_namespace = session->default_namespace()};
  BERTH_TRY(const ClusterView view, ReadCluster(*session, scope, SystemClock().Now()));
  for (const char* kind : {"clusterqueues", "cohorts", "resourceflavors"}) {
    if (IsKnown(view, kind) || std::string_view(kind) == "cohorts") continue;
    return Error{ErrorCode::kForbidden, std::string("no right to list ") + kind + " at " +
                                            session->server_url() + ": simulate from manifests"};
  }
  Side side;
  side.cluster = SimulatedClusterOf(view);
  return side;
}

// `is_full`: nothing of the manifests is left out.
Result<Side> ReadSide(Result<Side> queues, bool is_full) {
  BERTH_TRY(Side side, std::move(queues));
  side.notes = simulation::Prepare(side.cluster);
  if (is_full) side.notes.clear();
  return side;
}

Result<simulation::WorldResult> RunJobs(const Side& side, const std::vector<simulation::Job>& jobs,
                                        const Setup& setup, bool is_full) {
  if (!is_full) return simulation::World(side.cluster, jobs, setup.world).Run();
  scenarios::PlayOptions play{.objects = side.documents,
                              .configuration = setup.configuration,
                              .pools = setup.world.pools,
                              .on_event = setup.world.on_event};
  play.objects.insert(play.objects.end(), setup.pools.begin(), setup.pools.end());
  return scenarios::PlayJobs(side.cluster, jobs, play);
}

Result<SimulationPictures> Simulate(const Side& side, const simulation::Trace& trace,
                                    const SimulateFlags& flags, Setup setup,
                                    ProgressBar& progress) {
  SimulationPictures run;
  run.view.notes = side.notes;
  for (const simulation::NodePool& pool : setup.world.pools) {
    if (!flags.full || pool.boots.empty()) continue;
    run.view.notes.push_back("NodePool " + pool.name +
                             ": its nodes boot for spec.bootSeconds, not as its annotation says");
  }
  run.view.skipped = trace.skipped;
  const auto jobs = simulation::BindJobs(trace, side.cluster, flags.queue);
  if (!jobs) return Annotate(jobs.error(), flags.workload);
  const std::vector<simulation::NodePool>& pools = setup.world.pools;
  simulation::RunRecorder recorder;  // for pictures, and for who is charged for nodes
  SimulationEvents events;
  setup.world.on_event = [&](const simulation::WorldEvent& event) {
    if (event.kind == simulation::WorldEvent::Kind::kFinished) progress.Step();
    if (!flags.html.empty() || !pools.empty()) recorder.Note(event);
    if (!flags.events.empty()) events.Note(event);
  };
  BERTH_TRY(const simulation::WorldResult result, RunJobs(side, *jobs, setup, flags.full));
  const std::vector<simulation::JobRun> runs = recorder.Take(result.end);
  run.view.report = simulation::MakeReport(side.cluster, *jobs, result, pools,
                                           simulation::ChargesOf(*jobs, pools, result, runs));
  if (!flags.events.empty()) {
    BERTH_CHECK_OK(events.Write(flags.events, side.cluster, *jobs, pools, result));
  }
  if (flags.html.empty()) return run;
  run.resource = MainResource(run.view.report.total.figures);
  run.timeline = simulation::MakeTimeline(side.cluster, *jobs, pools, result, runs,
                                          {.resource = run.resource});
  run.gantt = simulation::MakeGantt(side.cluster, *jobs, pools, result, runs);
  return run;
}

Status WritePage(const std::string& file, const std::string& page) {
  if (WriteTextFile(file, page)) return OkStatus();
  return Error{ErrorCode::kInvalid, "--html: cannot write " + file};
}

void PrintView(const SimulationView& view, const SimulateFlags& flags) {
  switch (flags.output) {
    case SimulateOutput::kTable: Print(RenderSimulation(view, DetectStyle(flags.ascii))); return;
    case SimulateOutput::kJson: PrintStructured(SimulationJson(view), OutputFormat::kJson); return;
    case SimulateOutput::kYaml: PrintStructured(SimulationJson(view), OutputFormat::kYaml); return;
    case SimulateOutput::kCsv: Print(SimulationCsv(view)); return;
  }
}

void PrintComparison(const SimulationView& before, const SimulationView& after,
                     const SimulateFlags& flags) {
  switch (flags.output) {
    case SimulateOutput::kTable:
      Print(RenderComparison(before, after, DetectStyle(flags.ascii)));
      return;
    case SimulateOutput::kJson:
      PrintStructured(ComparisonJson(before, after), OutputFormat::kJson);
      return;
    case SimulateOutput::kYaml:
      PrintStructured(ComparisonJson(before, after), OutputFormat::kYaml);
      return;
    case SimulateOutput::kCsv: Print(ComparisonCsv(before, after)); return;
  }
}

void PrintSpread(const simulation::SpreadReport& report, SpreadKind kind,
                 const SimulateFlags& flags) {
  switch (flags.output) {
    case SimulateOutput::kTable:
      Print(RenderSpread(report, kind, DetectStyle(flags.ascii)));
      return;
    case SimulateOutput::kJson: PrintStructured(SpreadJson(report), OutputFormat::kJson); return;
    case SimulateOutput::kYaml: PrintStructured(SpreadJson(report), OutputFormat::kYaml); return;
    case SimulateOutput::kCsv: Print(SpreadCsv(report)); return;
  }
}

// Both sides on every workload; `after` may be null.
int RunSeeds(const Side& before, const Side* after, const WorkloadSource& source,
             const SimulateFlags& flags, const Setup& setup) {
  std::vector<simulation::Report> first;
  std::vector<simulation::Report> second;
  std::optional<ProgressBar> progress;
  for (std::int64_t i = 0; i < flags.seeds; ++i) {
    const auto trace = source.Make(flags.seed + static_cast<std::uint64_t>(i));
    if (!trace) return Complain(Annotate(trace.error(), flags.workload));
    if (!progress) {
      const auto jobs = static_cast<std::int64_t>((*trace)->jobs.size());
      progress.emplace(jobs * flags.seeds * (after == nullptr ? 1 : 2), "jobs");
    }
    const auto run = Simulate(before, **trace, flags, setup, *progress);
    if (!run) return Complain(run.error());
    first.push_back(run->view.report);
    if (after == nullptr) continue;
    const auto other = Simulate(*after, **trace, flags, setup, *progress);
    if (!other) return Complain(Annotate(other.error(), "--compare"));
    second.push_back(other->view.report);
  }
  progress.reset();
  if (after == nullptr) {
    PrintSpread(simulation::SpreadOf(first), SpreadKind::kRuns, flags);
  } else {
    PrintSpread(simulation::SpreadOfDifferences(first, second), SpreadKind::kDifferences, flags);
  }
  return kExitAnswered;
}

int RunOnce(const Side& before, const Side* after, const WorkloadSource& source,
            const SimulateFlags& flags, const Setup& setup) {
  const auto trace = source.Make(flags.seed);
  if (!trace) return Complain(Annotate(trace.error(), flags.workload));
  std::optional<ProgressBar> progress;
  const auto jobs = static_cast<std::int64_t>((*trace)->jobs.size());
  progress.emplace(jobs * (after == nullptr ? 1 : 2), "jobs");
  const auto run = Simulate(before, **trace, flags, setup, *progress);
  if (!run || after == nullptr) progress.reset();
  if (!run) return Complain(run.error());
  if (after == nullptr) {
    if (!flags.html.empty()) {
      const Status written = WritePage(flags.html, SimulationPage(*run, flags.workload));
      if (!written) return Complain(written.error());
    }
    PrintView(run->view, flags);
    return kExitAnswered;
  }
  const auto other = Simulate(*after, **trace, flags, setup, *progress);
  progress.reset();
  if (!other) return Complain(Annotate(other.error(), "--compare"));
  if (!flags.html.empty()) {
    const Status written = WritePage(flags.html, ComparisonPage(*run, *other, flags.workload));
    if (!written) return Complain(written.error());
  }
  PrintComparison(run->view, other->view, flags);
  return kExitAnswered;
}

}  // namespace

int RunSimulate(const SimulateFlags& flags) {
  if (flags.from_cluster != flags.manifests.empty()) {
    Complain({ErrorCode::kInvalid, "name the queues: -f FILE, or --from-cluster"});
    return kExitUsage;
  }
  const auto source = WorkloadSource::Read(flags.workload, flags.mapped);
  if (!source) return Complain(source.error());
  if (flags.seeds > 0 && !source->is_generated()) {
    return Complain({ErrorCode::kInvalid, "--seeds: " + flags.workload +
                                              " is recorded, every seed gives the same jobs"});
  }
  if (flags.seeds > 0 && !flags.html.empty()) {
    return Complain({ErrorCode::kInvalid, "--html: the page is of one workload, without --seeds"});
  }
  if (!flags.events.empty() && (flags.seeds > 0 || !flags.compare.empty())) {
    return Complain({ErrorCode::kInvalid,
                     "--events: the events are of one run, without --seeds and --compare"});
  }
  if (flags.full && flags.from_cluster) {
    return Complain(
        {ErrorCode::kInvalid, "--full runs the objects of manifests: name them with -f"});
  }
  if (flags.full && flags.spread) {
    return Complain(
        {ErrorCode::kInvalid, "--spread: with --full the cluster's binder places pods"});
  }
  const auto setup = SetupOf(flags);
  if (!setup) return Complain(setup.error());
  const auto before =
      ReadSide(flags.from_cluster ? ReadQueuesOfCluster(flags.client) : ReadQueues(flags.manifests),
               flags.full);
  if (!before) return Complain(before.error());
  std::optional<Side> after;
  if (!flags.compare.empty()) {
    auto read = ReadSide(ReadQueues(flags.compare), flags.full);
    if (!read) return Complain(Annotate(read.error(), "--compare"));
    after = *std::move(read);
  }
  const Side* other = after ? &*after : nullptr;
  return flags.seeds > 0 ? RunSeeds(*before, other, *source, flags, *setup)
                         : RunOnce(*before, other, *source, flags, *setup);
}

}  // namespace berth::cli
