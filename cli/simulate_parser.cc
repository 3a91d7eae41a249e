// `berth simulate` on the command line.
#include <map>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "cli/client_flags.h"
#include "cli/completion.h"
#include "cli/simulate.h"

namespace berth::cli {
namespace {

// The jobs, and where they go.
void AddWorkloadFlags(CLI::App& command, SimulateFlags& flags) {
  command
      .add_option("--workload", flags.workload,
                  "jobs: CSV with a header, Standard Workload Format (.swf), traces of Philly and "
                  "of Alibaba's GPU clusters, a JobGenerator, or a ledger; - is standard input")
      ->type_name(kFileValue)
      ->required();
  command.add_option("--queue", flags.queue, "LocalQueue of the rows that name none")
      ->type_name("[NAMESPACE/]NAME");
  command
      .add_option(
          "--map", flags.mapped,
          "LocalQueue of a trace's virtual cluster, class of service, type of GPU, queue or "
          "user (queue:3, user:12 of SWF)")
      ->type_name("ORIGIN=QUEUE");
  command.add_option("--seed", flags.seed, "of a JobGenerator; one seed makes one workload")
      ->type_name("NUMBER")
      ->capture_default_str();
  command
      .add_option("--seeds", flags.seeds,
                  "run this many workloads of a JobGenerator; show means and their spread")
      ->check(CLI::Range(2, 1000).description(""))
      ->type_name("NUMBER");
}

}  // namespace

void AddSimulate(CLI::App& app, int& exit_code) {
  const auto flags = std::make_shared<SimulateFlags>();
  CLI::App* command = app.add_subcommand(
      "simulate", "A workload of a file on the queues of manifests, in virtual time");
  command
      ->add_option("-f,--filename,FILES", flags->manifests,
                   "YAML or JSON of the queues, or a folder of such files; may be repeated")
      ->type_name(kFileValue);
  command->add_flag("--from-cluster", flags->from_cluster,
                    "the queues of a cluster, read with your rights, in place of -f");
  AddServerFlags(*command, flags->client);
  AddWorkloadFlags(*command, *flags);
  command
      ->add_option("--compare", flags->compare,
                   "other manifests: run both, and show what these change")
      ->type_name(kFileValue);
  command
      ->add_option("--pools", flags->pools,
                   "NodePools (cloud.berth.dev): jobs need nodes, which boot on demand and are "
                   "removed when idle; Nodes stay")
      ->type_name(kFileValue);
  command->add_flag("--full", flags->full,
                    "with every part of Berth, not with the scheduler alone: admission checks, "
                    "queued provisioning, evictions, topologies; slower");
  command->add_flag("--spread", flags->spread,
                    "pods go to the nodes with the fewest pods, not to the oldest with room");
  command->add_option("--config", flags->config, "Kueue Configuration file")->type_name(kFileValue);
  command
      ->add_option("--decisions", flags->decisions, "decide as Kueue does, or with Berth's rules")
      ->check(CLI::IsMember({"kueue", "berth"}).description(""))
      ->type_name("kueue|berth");
  const std::map<std::string, SimulateOutput> formats{{"table", SimulateOutput::kTable},
                                                      {"json", SimulateOutput::kJson},
                                                      {"yaml", SimulateOutput::kYaml},
                                                      {"csv", SimulateOutput::kCsv}};
  command->add_option("-o,--output", flags->output, "table, json, yaml or csv")
      ->transform(CLI::CheckedTransformer(formats).description(""))
      ->type_name("table|json|yaml|csv");
  command
      ->add_option("--html", flags->html,
                   "write a page with pictures of the run, or of both, to FILE")
      ->type_name(kFileValue);
  command
      ->add_option("--events", flags->events, "write the events of the run to FILE, a JSON a line")
      ->type_name(kFileValue);
  AddAsciiFlag(*command, flags->ascii);
  command->footer(
      "Needs no cluster without --from-cluster, and writes nothing. The scheduler is that of\n"
      "berth controller. Quota decides, and room on the nodes of --pools; with --full admission\n"
      "checks and the emulated cloud, too. Columns of the workload: docs/guide/simulate.md.\n"
      "Examples:\n"
      "  berth simulate -f queues.yaml --workload jobs.csv\n"
      "  berth simulate -f queues/ --workload log.swf --queue team-a/main -o json\n"
      "  berth simulate -f queues.yaml --compare changed.yaml --workload day.yaml --seeds 20\n"
      "  berth simulate -f queues.yaml --workload ledger.db\n"
      "  berth simulate -f queues.yaml --pools nodepools.yaml --workload jobs.csv\n"
      "  berth simulate -f dws/ --pools nodepools.yaml --full --workload jobs.csv\n"
      "  berth simulate --from-cluster --compare changed.yaml --workload jobs.csv\n"
      "  berth simulate queues.yaml --compare changed.yaml --workload jobs.csv\n"
      "  berth simulate -f queues.yaml --workload jobs.csv --html day.html");
  command->callback([flags, &exit_code] { exit_code = RunSimulate(*flags); });
}

}  // namespace berth::cli
