// `berth init`: writes the manifests of a first set-up, lints them, and plays a day on them. Needs
// no cluster, and writes nothing but these files.
#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/strings.h"
#include "base/terminal_text.h"
#include "cli/client_flags.h"
#include "cli/completion.h"
#include "cli/lint_findings.h"
#include "forecast/simulated_cluster.h"
#include "program/configuration_file.h"
#include "simulation/jobs.h"
#include "simulation/run_report.h"
#include "simulation/world.h"
#include "view/manifest_files.h"
#include "view/manifest_objects.h"
#include "view/output.h"
#include "view/screens/setup_day.h"
#include "view/screens/setup_manifests.h"
#include "view/screens/setup_options.h"
#include "view/screens/setup_questions.h"

namespace berth::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kStandardOutput[] = "-";
// Without one of these flags the command asks.
constexpr std::array<const char*, 8> kSetupFlags{
    "--team", "--cpu", "--memory", "--gpu", "--borrow", "--capacity", "--pool", "--namespace"};

struct InitFlags {
  std::string output = "queues";
  bool force = false;
  bool asks = false;  // no flag of the set-up is given
  std::vector<std::string> teams;
  std::string cpu;     // empty: not given
  std::string memory;  // empty: not given
  std::string gpu;     // empty: not given
  bool borrow = true;
  std::string capacity = "fixed";
  std::vector<std::string> pools;
  std::string namespace_name;
};

// The files to write. `job` is empty where one file has all manifests; both are empty for standard
// output.
struct Targets {
  std::string folder;  // made where it does not exist; empty: none
  std::string queues;
  std::string job;
};

std::vector<std::string> PathsOf(const Targets& targets) {
  std::vector<std::string> paths;
  for (const std::string& path : {targets.queues, targets.job}) {
    if (!path.empty()) paths.push_back(path);
  }
  return paths;
}

Result<Targets> TargetsOf(const InitFlags& flags) {
  Targets targets;
  if (flags.output == kStandardOutput) return targets;
  const fs::path path(flags.output);
  const std::string end = path.extension().string();
  if (end == ".yaml" || end == ".yml") {
    targets.folder = path.parent_path().string();
    targets.queues = flags.output;
  } else {
    targets.folder = flags.output;
    targets.queues = (path / "queues.yaml").string();
    targets.job = (path / "job.yaml").string();
  }
  std::error_code unknown;
  if (!targets.folder.empty() && fs::exists(targets.folder, unknown) &&
      !fs::is_directory(targets.folder, unknown)) {
    return Error{ErrorCode::kInvalid, "--output: " + targets.folder +
                                          " is no folder: name a folder, a file that ends in "
                                          ".yaml, or - for standard output"};
  }
  for (const std::string& each : PathsOf(targets)) {
    const bool is_there = fs::exists(fs::symlink_status(each, unknown));
    if (!is_there || (flags.force && !fs::is_directory(each, unknown))) continue;
    return Error{ErrorCode::kAlreadyExists,
                 "--output: " + each +
                     " exists: say --force to write over it, or name another place with --output"};
  }
  return targets;
}

Status TakeMachines(const InitFlags& flags, view::SetupOptions& options) {
  if (!flags.cpu.empty()) {
    const auto cpu = view::ParseSetupAmount("cpu", flags.cpu);
    if (!cpu) return Annotate(cpu.error(), "--cpu");
    options.cpu = *cpu;
  }
  if (!flags.memory.empty()) {
    const auto memory = view::ParseSetupAmount("memory", flags.memory);
    if (!memory) return Annotate(memory.error(), "--memory");
    options.memory = *memory;
  }
  if (flags.gpu.empty()) return OkStatus();
  const auto gpus = view::ParseSetupGpus(flags.gpu);
  if (!gpus) return Annotate(gpus.error(), "--gpu");
  options.gpus = *gpus;
  return OkStatus();
}

Result<view::SetupOptions> OptionsOf(const InitFlags& flags) {
  view::SetupOptions options{.borrow = flags.borrow, .namespace_name = flags.namespace_name};
  for (const std::string& word : flags.teams) {
    auto team = view::ParseSetupTeam(word);
    if (!team) return Annotate(team.error(), "--team");
    options.teams.push_back(*std::move(team));
  }
  BERTH_CHECK_OK(TakeMachines(flags, options));
  for (const std::string& word : flags.pools) {
    auto pool = view::ParseSetupPool(word);
    if (!pool) return Annotate(pool.error(), "--pool");
    options.pools.push_back(*std::move(pool));
  }
  BERTH_TRY(options.capacity, view::ParseSetupCapacity(flags.capacity));
  if (options.namespace_name.empty()) return options;
  const Status named = view::CheckSetupNamespace(options.namespace_name);
  if (!named) return Annotate(named.error(), "--namespace");
  return options;
}

Result<view::FirstSetup> SetupOf(const InitFlags& flags) {
  const bool asks = flags.asks && isatty(STDIN_FILENO) == 1;
  BERTH_TRY(const view::SetupOptions options,
            asks ? view::AskSetup(std::cin, std::cerr) : OptionsOf(flags));
  return view::PlanSetup(options);
}

std::string AllOf(const view::SetupManifests& manifests) {
  return manifests.queues + "---\n" + manifests.job;
}

Status WriteFile(const std::string& path, const std::string& text) {
  if (view::WriteTextFile(path, text)) return OkStatus();
  return Error{ErrorCode::kInvalid, "--output: cannot write " + path};
}

Status Write(const Targets& targets, const view::SetupManifests& manifests) {
  if (targets.queues.empty()) {
    view::PrintRaw(AllOf(manifests));
    return OkStatus();
  }
  std::error_code failed;
  if (!targets.folder.empty()) fs::create_directories(targets.folder, failed);
  if (failed) {
    return Error{ErrorCode::kInvalid,
                 "--output: cannot make the folder " + targets.folder + ": " + failed.message()};
  }
  if (targets.job.empty()) return WriteFile(targets.queues, AllOf(manifests));
  BERTH_CHECK_OK(WriteFile(targets.queues, manifests.queues));
  return WriteFile(targets.job, manifests.job);
}

// Names and texts, for the places of findings.
std::vector<std::pair<std::string, std::string>> TextsOf(const Targets& targets,
                                                         const view::SetupManifests& manifests) {
  if (!targets.job.empty()) {
    return {{targets.queues, manifests.queues}, {targets.job, manifests.job}};
  }
  const std::string name = targets.queues.empty() ? "standard output" : targets.queues;
  return {{name, AllOf(manifests)}};
}

Result<std::string> LintReport(view::ManifestObjects& objects,
                               const admission::Configuration& configuration) {
  BERTH_TRY(const std::vector<view::PlacedFinding> findings,
            FindingsOf(objects, configuration.admission.driver.scheduler, nullptr));
  if (findings.empty()) {
    return "berth lint: " + std::to_string(objects.objects.size()) + " objects, nothing found\n";
  }
  std::string text = "these manifests have a mistake, which is a bug of berth init; report it:";
  for (const view::PlacedFinding& each : findings) text += "\n" + view::ProblemText(each);
  return Error{ErrorCode::kInternal, std::move(text)};
}

Result<simulation::Report> PlayDay(const view::FirstSetup& setup,
                                   const view::ManifestObjects& objects,
                                   const admission::Configuration& configuration) {
  BERTH_TRY(simulation::Cluster cluster, forecast::ReadSimulatedCluster(objects.objects));
  simulation::Prepare(cluster);
  BERTH_TRY(const simulation::Trace day, view::DayOf(setup));
  BERTH_TRY(const std::vector<simulation::Job> jobs, simulation::BindJobs(day, cluster, ""));
  simulation::WorldOptions options;
  options.driver = configuration.admission.driver;
  const simulation::WorldResult result = simulation::World(cluster, jobs, options).Run();
  return simulation::MakeReport(cluster, jobs, result);
}

// The path as one word of a shell.
std::string ShellWord(const std::string& path) {
  const bool is_plain = std::all_of(path.begin(), path.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("/._-+").find(c) != std::string_view::npos;
  });
  if (is_plain) return path;
  std::string word = "'";
  for (const char c : path) word += c == '\'' ? "'\\''" : std::string(1, c);
  return word + "'";
}

std::string NextText(const view::FirstSetup& setup, const Targets& targets) {
  const std::string& space = view::NamespaceOf(setup, setup.teams.front());
  std::vector<std::string> commands;
  for (const std::string& path : PathsOf(targets)) {
    commands.push_back("kubectl apply -f " + ShellWord(path));
  }
  commands.push_back(std::string("berth why job/") + view::kSampleJobName + " -n " + space);
  if (targets.job.empty()) commands.emplace_back("berth status");
  if (targets.queues.empty()) commands.push_back("kubectl get workloads -n " + space);
  return "Next:\n  " + Join(commands, "\n  ") + "\n";
}

// Standard output has the manifests alone where they are printed.
void Tell(const Targets& targets, const std::string& text) {
  if (!targets.queues.empty()) return view::Print(text);
  std::fputs(TerminalScreen(text).c_str(), stderr);
}

int RunInit(const InitFlags& flags) {
  const auto targets = TargetsOf(flags);
  if (!targets) return view::Complain(targets.error());
  const auto configuration = program::ReadConfigurationFile("");
  if (!configuration) return view::Complain(configuration.error());
  const auto setup = SetupOf(flags);
  if (!setup) {
    view::Complain(setup.error());
    return view::kExitUsage;
  }
  const view::SetupManifests manifests = view::ManifestsOf(*setup);
  if (const Status written = Write(*targets, manifests); !written) {
    return view::Complain(written.error());
  }
  const std::vector<std::string> paths = PathsOf(*targets);
  if (!paths.empty()) Tell(*targets, "wrote " + Join(paths, " and ") + "\n");
  view::ManifestObjects objects = view::ManifestObjectsOf(TextsOf(*targets, manifests));
  const auto linted = LintReport(objects, *configuration);
  if (!linted) return view::Complain(linted.error());
  const auto day = PlayDay(*setup, objects, *configuration);
  if (!day) return view::Complain(Annotate(day.error(), "the simulated day of the teams"));
  Tell(*targets, *linted + "\n" + view::RenderDay(*setup, *day, view::DetectStyle(false)) +
                     NextText(*setup, *targets));
  return view::kExitAnswered;
}

void AddSetupFlags(CLI::App& command, InitFlags& flags) {
  command
      .add_option("--team", flags.teams,
                  "a team, with its quota of cpu, memory and gpu; may be repeated")
      ->type_name("NAME[=QUOTA]");
  command
      .add_option("--cpu", flags.cpu,
                  "CPUs that teams without a quota of cpu share with the others (default: 8 for "
                  "each)")
      ->type_name("NUMBER");
  command
      .add_option("--memory", flags.memory,
                  "the same for memory (default: 4Gi for each CPU of the team)")
      ->type_name("SIZE");
  command
      .add_option("--gpu", flags.gpu,
                  "the same for GPUs (default: 0), of the resource nvidia.com/gpu or RESOURCE")
      ->type_name("[RESOURCE=]COUNT");
  command.add_flag("--borrow,!--no-borrow", flags.borrow,
                   "teams lend each other the quota that they do not use, and get it back at once "
                   "(default: they do)");
  AcceptOnly(*command
                  .add_option("--capacity", flags.capacity,
                              "where machines come from: existing nodes, queued provisioning of "
                              "GKE, spot machines with a fallback, Karpenter")
                  ->capture_default_str(),
             {"fixed", "dws", "spot", "karpenter"});
  command
      .add_option("--pool", flags.pools,
                  "node pool of the machines, by its label (default "
                  "cloud.google.com/gke-nodepool, for karpenter karpenter.sh/nodepool); spot has "
                  "two: first that of spot machines")
      ->type_name("[LABEL=]NAME");
  command
      .add_option("-n,--namespace", flags.namespace_name,
                  "the namespace of all teams (default: a namespace for each team, with its name)")
      ->type_name(kNamespaceValue);
}

}  // namespace

void AddInit(CLI::App& app, int& exit_code) {
  const auto flags = std::make_shared<InitFlags>();
  CLI::App* command =
      app.add_subcommand("init", "Manifests of queues for your teams, with a sample job");
  AddSetupFlags(*command, *flags);
  command
      ->add_option("--output", flags->output,
                   "folder for queues.yaml and job.yaml, or one file that ends in .yaml, or - for "
                   "standard output")
      ->type_name(kFileValue)
      ->capture_default_str();
  command->add_flag("--force", flags->force, "write over files that exist");
  command->footer(
      "Without flags it asks on a terminal. Needs no cluster. The manifests are linted, and a day\n"
      "of the teams is played on them in virtual time. Examples:\n"
      "  berth init\n"
      "  berth init --team red --team blue --cpu 64 --memory 256Gi --gpu 16\n"
      "  berth init --team red=cpu=16,memory=64Gi,gpu=4 --team blue=cpu=8 --no-borrow\n"
      "  berth init --team red=gpu=8 --capacity dws --pool a100-pool\n"
      "  berth init --team red=gpu=8 --capacity spot --pool spot-pool --pool on-demand-pool\n"
      "  berth init --team red --namespace default --output - | kubectl apply -f -");
  command->callback([flags, command, &exit_code] {
    flags->asks = std::none_of(kSetupFlags.begin(), kSetupFlags.end(),
                               [command](const char* name) { return command->count(name) > 0; });
    exit_code = RunInit(*flags);
  });
}

}  // namespace berth::cli
