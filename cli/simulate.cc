// `berth simulate`: a workload of a file on the queues of manifests or of a cluster, in virtual
// time. Nothing is written.
#include "cli/simulate.h"

#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "base/system_clock.h"
#include "cli/manifest_queues.h"
#include "cli/played_cluster.h"
#include "cli/progress_bar.h"
#include "cli/simulation_events.h"
#include "cli/workload_source.h"
#include "forecast/simulated_cluster.h"
#include "forecast/simulated_pools.h"
#include "program/configuration_file.h"
#include "scenarios/played_jobs.h"
#include "simulation/flavor_costs.h"
#include "simulation/jobs.h"
#include "simulation/world.h"
#include "view/manifest_files.h"
#include "view/manifest_places.h"
#include "view/output.h"
#include "view/screens/simulation_page.h"
#include "view/screens/simulation_tables.h"
#include "view/screens/spread_screen.h"
#include "view/session.h"

namespace berth::cli {
namespace {

// How jobs are run: on the scheduler alone, or with every part of Berth (--full).
struct Setup {
  simulation::WorldOptions world;
  admission::Configuration configuration;
  std::vector<nlohmann::json> machines;  // documents, of both sides: --pools, or of the cluster
  // Documents of the cluster's NodePools, of sides that have none of their own.
  std::vector<nlohmann::json> node_pools;
};

Result<Setup> SetupOf(const SimulateFlags& flags) {
  BERTH_TRY(admission::Configuration configuration, program::ReadConfigurationFile(flags.config));
  if (!flags.decisions.empty()) {
    admission::SetDecisions(configuration, flags.decisions == "kueue"
                                               ? admission::Decisions::kKueue
                                               : admission::Decisions::kBerth);
  }
  Setup setup;
  simulation::WorldOptions& options = setup.world;
  options.driver = configuration.admission.driver;
  if (!flags.pools.empty()) {
    BERTH_TRY(const std::vector<std::string> files, view::ManifestsBelow(flags.pools));
    BERTH_TRY(setup.machines, view::ReadManifests(files));
    auto pools = forecast::ReadSimulatedPools(
        setup.machines,
        flags.full ? forecast::PoolKinds::kNodePools : forecast::PoolKinds::kNodePoolsAndNodes);
    if (!pools) return Annotate(view::AtPlace(pools.error(), view::PlacesIn(files)), "--pools");
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
  std::vector<nlohmann::json> documents;  // none: the queues of a cluster, without --full
  // The pools of the documents, with --full and without --pools.
  std::vector<simulation::NodePool> pools;
};

// What --full plays of the documents; --pools takes the place of their NodePools.
Result<Side> PlayedSide(const std::vector<nlohmann::json>& documents, bool has_pools) {
  PlayedCluster played = SplitPlayed(documents);
  Side side;
  side.documents = std::move(played.machines);
  side.documents.insert(side.documents.end(), played.queues.begin(), played.queues.end());
  if (has_pools || played.node_pools.empty()) return side;
  BERTH_TRY(side.pools,
            forecast::ReadSimulatedPools(played.node_pools, forecast::PoolKinds::kNodePools));
  side.documents.insert(side.documents.end(), played.node_pools.begin(), played.node_pools.end());
  return side;
}

Result<Side> ReadQueues(const std::vector<std::string>& manifests, const SimulateFlags& flags) {
  BERTH_TRY(const std::vector<std::string> files, view::ManifestsBelow(manifests));
  BERTH_TRY(std::vector<nlohmann::json> documents, view::ReadManifests(files));
  Side side;
  if (flags.full) {
    auto played = PlayedSide(documents, !flags.pools.empty());
    if (!played) return view::AtPlace(played.error(), view::PlacesIn(files));
    side = *std::move(played);
  } else {
    side.documents = std::move(documents);
    side.notes = forecast::NotSimulatedIn(side.documents, !flags.pools.empty());
  }
  BERTH_TRY(side.cluster, ReadManifestQueues(side.documents, files));
  return side;
}

// The queues alone: Workloads of the cluster take no part.
Result<Side> ReadQueuesOfCluster(const ClientFlags& client) {
  BERTH_TRY(const std::unique_ptr<view::Session> session, view::Session::Open(client));
  const view::ReadScope scope{.screen = view::ReadScope::Screen::kQueues,
                              .own_namespace = session->default_namespace()};
  BERTH_TRY(const view::ClusterView view, view::ReadCluster(*session, scope, SystemClock().Now()));
  for (const char* kind : {"clusterqueues", "cohorts", "resourceflavors"}) {
    if (view::IsKnown(view, kind) || std::string_view(kind) == "cohorts") continue;
    return Error{ErrorCode::kForbidden, std::string("no right to list ") + kind + " at " +
                                            session->server_url() + ": simulate from manifests"};
  }
  Side side;
  side.cluster = forecast::SimulatedClusterOf(view);
  return side;
}

// Likewise, with everything that --full plays. The Nodes are those of both sides; --pools, and the
// NodePools of a side's own manifests, take the place of the cluster's NodePools.
Result<Side> ReadWholeCluster(const SimulateFlags& flags, Setup& setup) {
  BERTH_TRY(const std::unique_ptr<view::Session> session, view::Session::Open(flags.client));
  BERTH_TRY(PlayedCluster played, ReadPlayedCluster(*session));
  std::vector<nlohmann::json>& machines = setup.machines;
  machines.insert(machines.end(), played.machines.begin(), played.machines.end());
  if (flags.pools.empty() && !played.node_pools.empty()) {
    BERTH_TRY(setup.world.pools,
              forecast::ReadSimulatedPools(played.node_pools, forecast::PoolKinds::kNodePools));
    setup.node_pools = std::move(played.node_pools);
  }
  Side side;
  side.documents = std::move(played.queues);
  BERTH_TRY(side.cluster, forecast::ReadSimulatedCluster(side.documents));
  return side;
}

Result<Side> ReadBefore(const SimulateFlags& flags, Setup& setup) {
  if (!flags.from_cluster) return ReadQueues(flags.manifests, flags);
  return flags.full ? ReadWholeCluster(flags, setup) : ReadQueuesOfCluster(flags.client);
}

// `is_full`: nothing of the manifests is left out.
Result<Side> ReadSide(Result<Side> queues, bool is_full) {
  BERTH_TRY(Side side, std::move(queues));
  std::vector<std::string> taken_out = simulation::Prepare(side.cluster);
  if (!is_full) side.notes.insert(side.notes.end(), taken_out.begin(), taken_out.end());
  return side;
}

Result<simulation::WorldResult> RunJobs(const Side& side, const std::vector<simulation::Job>& jobs,
                                        const Setup& setup, bool is_full) {
  if (!is_full) return simulation::World(side.cluster, jobs, setup.world).Run();
  scenarios::PlayOptions play{.objects = setup.machines,
                              .configuration = setup.configuration,
                              .pools = setup.world.pools,
                              .on_event = setup.world.on_event};
  play.objects.insert(play.objects.end(), side.documents.begin(), side.documents.end());
  if (side.pools.empty()) {
    play.objects.insert(play.objects.end(), setup.node_pools.begin(), setup.node_pools.end());
  }
  return scenarios::PlayJobs(side.cluster, jobs, play);
}

Result<view::SimulationPictures> Simulate(const Side& side, const simulation::Trace& trace,
                                          const SimulateFlags& flags, Setup setup,
                                          ProgressBar& progress) {
  view::SimulationPictures run;
  run.view.notes = side.notes;
  if (!side.pools.empty()) setup.world.pools = side.pools;
  for (const simulation::NodePool& pool : setup.world.pools) {
    if (!flags.full || pool.boots.empty()) continue;
    run.view.notes.push_back("NodePool " + pool.name +
                             ": its nodes boot for spec.bootSeconds, not as its annotation says");
  }
  if (!trace.unread_columns.empty()) {
    run.view.notes.push_back("columns of the trace that are not read: " +
                             Join(trace.unread_columns, ", "));
  }
  run.view.skipped = trace.skipped;
  run.view.unit = trace.unit;
  const auto jobs = simulation::BindJobs(trace, side.cluster, flags.queue);
  if (!jobs) return Annotate(jobs.error(), flags.workload);
  const std::vector<simulation::NodePool>& pools = setup.world.pools;
  simulation::RunRecorder recorder;  // for pictures, and for who is charged for nodes
  simulation::FlavorCosts costs(side.cluster, pools.empty() ? jobs->size() : 0);
  SimulationEvents events;
  setup.world.on_event = [&](const simulation::WorldEvent& event) {
    if (event.kind == simulation::WorldEvent::Kind::kFinished) progress.Step();
    if (!flags.html.empty() || !pools.empty()) recorder.Note(event);
    if (pools.empty()) costs.Note(event);
    if (!flags.events.empty()) events.Note(event);
  };
  BERTH_TRY(const simulation::WorldResult result, RunJobs(side, *jobs, setup, flags.full));
  const std::vector<simulation::JobRun> runs = recorder.Take(result.end);
  run.view.report = simulation::MakeReport(side.cluster, *jobs, result, pools,
                                           simulation::ChargesOf(*jobs, pools, result, runs),
                                           costs.Take(result.end));
  if (!flags.events.empty()) {
    BERTH_CHECK_OK(events.Write(flags.events, side.cluster, *jobs, pools, result));
  }
  if (flags.html.empty()) return run;
  run.resource = view::MainResource(run.view.report.total.figures);
  run.timeline = simulation::MakeTimeline(side.cluster, *jobs, pools, result, runs,
                                          {.resource = run.resource});
  run.gantt = simulation::MakeGantt(side.cluster, *jobs, pools, result, runs);
  return run;
}

Status WritePage(const std::string& file, const std::string& page) {
  if (view::WriteTextFile(file, page)) return OkStatus();
  return Error{ErrorCode::kInvalid, "--html: cannot write " + file};
}

void PrintView(const view::SimulationView& view, const SimulateFlags& flags) {
  switch (flags.output) {
    case SimulateOutput::kTable:
      view::Print(view::RenderSimulation(view, view::DetectStyle(flags.ascii)));
      return;
    case SimulateOutput::kJson:
      view::PrintStructured(view::SimulationJson(view), view::OutputFormat::kJson);
      return;
    case SimulateOutput::kYaml:
      view::PrintStructured(view::SimulationJson(view), view::OutputFormat::kYaml);
      return;
    case SimulateOutput::kCsv: view::Print(view::SimulationCsv(view)); return;
  }
}

void PrintComparison(const view::SimulationView& before, const view::SimulationView& after,
                     const SimulateFlags& flags) {
  switch (flags.output) {
    case SimulateOutput::kTable:
      view::Print(view::RenderComparison(before, after, view::DetectStyle(flags.ascii)));
      return;
    case SimulateOutput::kJson:
      view::PrintStructured(view::ComparisonJson(before, after), view::OutputFormat::kJson);
      return;
    case SimulateOutput::kYaml:
      view::PrintStructured(view::ComparisonJson(before, after), view::OutputFormat::kYaml);
      return;
    case SimulateOutput::kCsv: view::Print(view::ComparisonCsv(before, after)); return;
  }
}

void PrintSpread(const simulation::SpreadReport& report, view::SpreadKind kind,
                 const SimulateFlags& flags) {
  switch (flags.output) {
    case SimulateOutput::kTable:
      view::Print(view::RenderSpread(report, kind, view::DetectStyle(flags.ascii)));
      return;
    case SimulateOutput::kJson:
      view::PrintStructured(view::SpreadJson(report), view::OutputFormat::kJson);
      return;
    case SimulateOutput::kYaml:
      view::PrintStructured(view::SpreadJson(report), view::OutputFormat::kYaml);
      return;
    case SimulateOutput::kCsv: view::Print(view::SpreadCsv(report)); return;
  }
}

// Plays both sides on every workload; `after` may be null.
int RunSeeds(const Side& before, const Side* after, const WorkloadSource& source,
             const SimulateFlags& flags, const Setup& setup) {
  std::vector<simulation::Report> first;
  std::vector<simulation::Report> second;
  std::optional<ProgressBar> progress;
  for (std::int64_t i = 0; i < flags.seeds; ++i) {
    const auto trace = source.Make(flags.seed + static_cast<std::uint64_t>(i));
    if (!trace) return view::Complain(Annotate(trace.error(), flags.workload));
    if (!progress) {
      const auto jobs = static_cast<std::int64_t>((*trace)->jobs.size());
      progress.emplace(jobs * flags.seeds * (after == nullptr ? 1 : 2), "jobs");
    }
    const auto run = Simulate(before, **trace, flags, setup, *progress);
    if (!run) return view::Complain(run.error());
    first.push_back(run->view.report);
    if (after == nullptr) continue;
    const auto other = Simulate(*after, **trace, flags, setup, *progress);
    if (!other) return view::Complain(Annotate(other.error(), "--compare"));
    second.push_back(other->view.report);
  }
  progress.reset();
  if (after == nullptr) {
    PrintSpread(simulation::SpreadOf(first), view::SpreadKind::kRuns, flags);
  } else {
    PrintSpread(simulation::SpreadOfDifferences(first, second), view::SpreadKind::kDifferences,
                flags);
  }
  return view::kExitAnswered;
}

int RunOnce(const Side& before, const Side* after, const WorkloadSource& source,
            const SimulateFlags& flags, const Setup& setup) {
  const auto trace = source.Make(flags.seed);
  if (!trace) return view::Complain(Annotate(trace.error(), flags.workload));
  std::optional<ProgressBar> progress;
  const auto jobs = static_cast<std::int64_t>((*trace)->jobs.size());
  progress.emplace(jobs * (after == nullptr ? 1 : 2), "jobs");
  const auto run = Simulate(before, **trace, flags, setup, *progress);
  if (!run || after == nullptr) progress.reset();
  if (!run) return view::Complain(run.error());
  if (after == nullptr) {
    if (!flags.html.empty()) {
      const Status written = WritePage(flags.html, view::SimulationPage(*run, flags.workload));
      if (!written) return view::Complain(written.error());
    }
    PrintView(run->view, flags);
    return view::kExitAnswered;
  }
  const auto other = Simulate(*after, **trace, flags, setup, *progress);
  progress.reset();
  if (!other) return view::Complain(Annotate(other.error(), "--compare"));
  if (!flags.html.empty()) {
    const Status written =
        WritePage(flags.html, view::ComparisonPage(*run, *other, flags.workload));
    if (!written) return view::Complain(written.error());
  }
  PrintComparison(run->view, other->view, flags);
  return view::kExitAnswered;
}

}  // namespace

int RunSimulate(const SimulateFlags& flags) {
  if (flags.from_cluster != flags.manifests.empty()) {
    view::Complain({ErrorCode::kInvalid, "name the queues: -f FILE, or --from-cluster"});
    return view::kExitUsage;
  }
  const auto source = WorkloadSource::Read(flags.workload, flags.mapped);
  if (!source) return view::Complain(source.error());
  if (flags.seeds > 0 && !source->is_generated()) {
    return view::Complain(
        {ErrorCode::kInvalid,
         "--seeds: " + flags.workload + " is a recorded workload: every seed gives the same jobs"});
  }
  if (flags.seeds > 0 && !flags.html.empty()) {
    return view::Complain(
        {ErrorCode::kInvalid, "--html: the page shows one workload; leave out --seeds"});
  }
  if (!flags.events.empty() && (flags.seeds > 0 || !flags.compare.empty())) {
    return view::Complain({ErrorCode::kInvalid,
                           "--events: the events are of one run; leave out --seeds and --compare"});
  }
  if (flags.full && flags.spread) {
    return view::Complain(
        {ErrorCode::kInvalid,
         "--spread: not with --full, where the cluster's scheduler places the pods"});
  }
  auto setup = SetupOf(flags);
  if (!setup) return view::Complain(setup.error());
  const auto before = ReadSide(ReadBefore(flags, *setup), flags.full);
  if (!before) return view::Complain(before.error());
  std::optional<Side> after;
  if (!flags.compare.empty()) {
    auto read = ReadSide(ReadQueues(flags.compare, flags), flags.full);
    if (!read) return view::Complain(Annotate(read.error(), "--compare"));
    after = *std::move(read);
  }
  const Side* other = after ? &*after : nullptr;
  return flags.seeds > 0 ? RunSeeds(*before, other, *source, flags, *setup)
                         : RunOnce(*before, other, *source, flags, *setup);
}

}  // namespace berth::cli
