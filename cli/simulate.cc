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
#include "cli/screens/simulation_page.h"
#include "cli/screens/simulation_tables.h"
#include "cli/screens/spread.h"
#include "cli/session.h"
#include "cli/simulated_cluster.h"
#include "cli/simulated_pools.h"
#include "cli/simulation_events.h"
#include "cli/workload_source.h"
#include "simulation/jobs.h"
#include "simulation/world.h"

namespace berth::cli {
namespace {

Result<simulation::WorldOptions> OptionsOf(const SimulateFlags& flags) {
  BERTH_TRY(admission::Configuration configuration, ReadConfigurationFile(flags.config));
  if (!flags.decisions.empty()) {
    admission::SetDecisions(configuration, flags.decisions == "kueue"
                                               ? admission::Decisions::kKueue
                                               : admission::Decisions::kBerth);
  }
  simulation::WorldOptions options;
  options.scheduler = configuration.admission.scheduler;
  options.scheduler.block_admission = false;  // the pods of a simulated job are ready at once
  options.wake_up_batch = configuration.admission.wake_up_batch;
  if (!flags.pools.empty()) {
    BERTH_TRY(const std::vector<std::string> files, ManifestsBelow(flags.pools));
    BERTH_TRY(const std::vector<nlohmann::json> documents, ReadManifests(files));
    auto pools = ReadSimulatedPools(documents);
    if (!pools) return Annotate(pools.error(), "--pools");
    options.pools = *std::move(pools);
    if (flags.spread) options.placement = simulation::PodPlacement::kSpread;
  }
  return options;
}

Result<simulation::Cluster> ReadQueues(const std::vector<std::string>& manifests) {
  BERTH_TRY(const std::vector<std::string> files, ManifestsBelow(manifests));
  BERTH_TRY(const std::vector<nlohmann::json> documents, ReadManifests(files));
  return ReadSimulatedCluster(documents);
}

// The queues alone: Workloads of the cluster take no part.
Result<simulation::Cluster> ReadQueuesOfCluster(const ClientFlags& client) {
  BERTH_TRY(const std::unique_ptr<Session> session, Session::Open(client));
  const ReadScope scope{.screen = ReadScope::Screen::kQueues,
                        .own_namespace = session->default_namespace()};
  BERTH_TRY(const ClusterView view, ReadCluster(*session, scope, SystemClock().Now()));
  for (const char* kind : {"clusterqueues", "cohorts", "resourceflavors"}) {
    if (IsKnown(view, kind) || std::string_view(kind) == "cohorts") continue;
    return Error{ErrorCode::kForbidden, std::string("no right to list ") + kind + " at " +
                                            session->server_url() + ": simulate from manifests"};
  }
  return SimulatedClusterOf(view);
}

// One set of manifests, ready to run.
struct Side {
  simulation::Cluster cluster;
  std::vector<std::string> notes;
};

Result<Side> ReadSide(Result<simulation::Cluster> queues) {
  BERTH_TRY(simulation::Cluster cluster, std::move(queues));
  Side side{.cluster = std::move(cluster), .notes = {}};
  side.notes = simulation::Prepare(side.cluster);
  return side;
}

Result<SimulationPictures> Simulate(const Side& side, const simulation::Trace& trace,
                                    const SimulateFlags& flags, simulation::WorldOptions options) {
  SimulationPictures run;
  run.view.notes = side.notes;
  run.view.skipped = trace.skipped;
  const auto jobs = simulation::BindJobs(trace, side.cluster, flags.queue);
  if (!jobs) return Annotate(jobs.error(), flags.workload);
  simulation::RunRecorder recorder;
  SimulationEvents events;
  if (!flags.html.empty() || !flags.events.empty()) {
    options.on_event = [&](const simulation::WorldEvent& event) {
      if (!flags.html.empty()) recorder.Note(event);
      if (!flags.events.empty()) events.Note(event);
    };
  }
  const simulation::WorldResult result = simulation::World(side.cluster, *jobs, options).Run();
  run.view.report = simulation::MakeReport(side.cluster, *jobs, result);
  if (!flags.events.empty()) {
    BERTH_CHECK_OK(events.Write(flags.events, side.cluster, *jobs, options.pools, result));
  }
  if (flags.html.empty()) return run;
  const std::vector<simulation::JobRun> runs = recorder.Take(result.end);
  run.resource = MainResource(run.view.report.total.figures);
  run.timeline = simulation::MakeTimeline(side.cluster, *jobs, options.pools, result, runs,
                                          {.resource = run.resource});
  run.gantt = simulation::MakeGantt(side.cluster, *jobs, options.pools, result, runs);
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
             const SimulateFlags& flags, const simulation::WorldOptions& options) {
  std::vector<simulation::Report> first;
  std::vector<simulation::Report> second;
  for (std::int64_t i = 0; i < flags.seeds; ++i) {
    const auto trace = source.Make(flags.seed + static_cast<std::uint64_t>(i));
    if (!trace) return Complain(Annotate(trace.error(), flags.workload));
    const auto run = Simulate(before, **trace, flags, options);
    if (!run) return Complain(run.error());
    first.push_back(run->view.report);
    if (after == nullptr) continue;
    const auto other = Simulate(*after, **trace, flags, options);
    if (!other) return Complain(Annotate(other.error(), "--compare"));
    second.push_back(other->view.report);
  }
  if (after == nullptr) {
    PrintSpread(simulation::SpreadOf(first), SpreadKind::kRuns, flags);
  } else {
    PrintSpread(simulation::SpreadOfDifferences(first, second), SpreadKind::kDifferences, flags);
  }
  return kExitAnswered;
}

int RunOnce(const Side& before, const Side* after, const WorkloadSource& source,
            const SimulateFlags& flags, const simulation::WorldOptions& options) {
  const auto trace = source.Make(flags.seed);
  if (!trace) return Complain(Annotate(trace.error(), flags.workload));
  const auto run = Simulate(before, **trace, flags, options);
  if (!run) return Complain(run.error());
  if (after == nullptr) {
    if (!flags.html.empty()) {
      const Status written = WritePage(flags.html, SimulationPage(*run, flags.workload));
      if (!written) return Complain(written.error());
    }
    PrintView(run->view, flags);
    return kExitAnswered;
  }
  const auto other = Simulate(*after, **trace, flags, options);
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
  const auto options = OptionsOf(flags);
  if (!options) return Complain(options.error());
  const auto before = ReadSide(flags.from_cluster ? ReadQueuesOfCluster(flags.client)
                                                  : ReadQueues(flags.manifests));
  if (!before) return Complain(before.error());
  std::optional<Side> after;
  if (!flags.compare.empty()) {
    auto read = ReadSide(ReadQueues(flags.compare));
    if (!read) return Complain(Annotate(read.error(), "--compare"));
    after = *std::move(read);
  }
  const Side* other = after ? &*after : nullptr;
  return flags.seeds > 0 ? RunSeeds(*before, other, *source, flags, *options)
                         : RunOnce(*before, other, *source, flags, *options);
}

}  // namespace berth::cli
