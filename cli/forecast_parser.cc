// `berth eta` and `berth what-if` on the command line, and the other commands in virtual time.
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "cli/client_flags.h"
#include "cli/completion.h"
#include "cli/forecast_commands.h"

namespace berth::cli {
namespace {

void AddForecastFlags(CLI::App& command, ForecastFlags& flags) {
  ClientFlags& client = flags.client;
  AddServerFlags(command, client);
  command.add_option("-n,--namespace", client.namespace_name, "namespace of the jobs")
      ->type_name(kNamespaceValue);
  command
      .add_option("--from", flags.from,
                  "the cluster in files: lists of `kubectl get -o json`, or folders of such files")
      ->type_name(kFileValue);
  command
      .add_option("--now", flags.now,
                  "the time of the files, such as 2026-01-31T08:00:00Z (default: the last time "
                  "that their objects name)")
      ->type_name("TIME");
  command
      .add_option("--ledger", flags.ledger,
                  "file of past runs (default: ledger.db beside the kubeconfig, if there is one)")
      ->type_name(kFileValue);
  command.add_option("--config", flags.config, "Kueue Configuration file")->type_name(kFileValue);
  command.add_option("--decisions", flags.decisions, "decide as Kueue does, or with Berth's rules")
      ->check(CLI::IsMember({"kueue", "berth"}).description(""))
      ->type_name("kueue|berth");
  command
      .add_option("--draws", flags.draws,
                  "number of simulated futures (default: 10 to 50, by the number of jobs)")
      ->check(CLI::Range(1, kMostDraws).description(""))
      ->type_name("NUMBER");
  command.add_option("--seed", flags.seed, "random seed; the same seed gives the same answer")
      ->type_name("NUMBER")
      ->capture_default_str();
  AddAsciiFlag(command, client.ascii);
  AddOutputFlag(command, client.output);
}

}  // namespace

void AddEta(CLI::App& app, int& exit_code) {
  const auto flags = std::make_shared<EtaFlags>();
  CLI::App* command =
      app.add_subcommand("eta", "When waiting jobs start: the scheduler in virtual time");
  command
      ->add_option("NAME", flags->reference,
                   "job/NAME, KIND/NAME (jobset/x), workload/NAME, or a job's name")
      ->type_name(kReferenceValue);
  command->add_flag("--all", flags->all, "every job that waits");
  AddForecastFlags(*command, flags->forecast);
  command->add_flag(
      "--draw", flags->draw,
      "make a new forecast, also where the controller keeps fresh ones on Workloads; implied by "
      "--draws, --seed, --scores, --config, --decisions, --ledger, --pods");
  command->add_flag("-A,--all-namespaces", flags->forecast.client.all_namespaces,
                    "look for NAME in every namespace");
  command
      ->add_option("--scores", flags->scores,
                   "keep the forecasts in this file, count how often they were right, and correct "
                   "new ones by their errors")
      ->type_name(kFileValue);
  command->footer(
      "Reads the forecasts that the controller keeps on Workloads, where some are fresh; else, "
      "and\n"
      "with --draw, plays many futures of the cluster with the scheduler of berth controller, on "
      "run\n"
      "times that are drawn from past runs. Nothing is written.\n"
      "Method and limits: docs/guide/eta.md.\n"
      "Examples:\n"
      "  berth eta job/train\n"
      "  berth eta --all -o json | jq '.jobs[] | [.name, .startSeconds.p50]'\n"
      "  berth eta --all --from cluster.json\n"
      "  berth eta --all --scores scores.jsonl     # say every ten minutes, in a CronJob");
  command->callback([flags, &exit_code, command] {
    for (const char* name :
         {"--draws", "--seed", "--scores", "--config", "--decisions", "--ledger", "--pods"}) {
      const CLI::Option* option = command->get_option_no_throw(name);
      if (option != nullptr && option->count() > 0) flags->draw = true;
    }
    exit_code = RunEta(*flags);
  });
}

void AddWhatIf(CLI::App& app, int& exit_code) {
  const auto flags = std::make_shared<WhatIfFlags>();
  CLI::App* command = app.add_subcommand(
      "what-if", "What a change would do to the jobs of the cluster: a diff; nothing is written");
  command
      ->add_option("-f,--filename", flags->files,
                   "queues, cohorts, flavors, checks and policies as they would be, and new jobs")
      ->type_name(kFileValue);
  command
      ->add_option("--add-quota", flags->changes.quota,
                   "adds nominal quota (=+8), removes it (=-8), or sets it (=8)")
      ->type_name("QUEUE/FLAVOR/RESOURCE=+AMOUNT");
  command->add_flag("-R,--recursive", flags->recursive, "read the folders in folders, too");
  command->add_option("--submit", flags->submit, "jobs that would be created now")
      ->type_name(kFileValue);
  command->add_option("--times", flags->changes.times, "how often each job of --submit is created")
      ->check(CLI::Range(1, kMostTimes).description(""))
      ->type_name("NUMBER");
  command->add_option("--priority", flags->changes.priority, "another priority of a job")
      ->type_name("JOB=NUMBER");
  command
      ->add_option("--stop-queue", flags->changes.stop,
                   "stops a queue: nothing more is admitted, running jobs continue")
      ->type_name(kQueueValue);
  command
      ->add_option("--remove-node", flags->changes.nodes,
                   "removes a node: the jobs with pods on it start again")
      ->type_name("NODE");
  AddForecastFlags(*command, flags->forecast);
  command->footer(
      "Both futures have the same run times. Exit code 3: some job is worse off, it starts later,\n"
      "is preempted more often, or can start no more. Method and limits: docs/guide/eta.md.\n"
      "Examples:\n"
      "  berth what-if --add-quota team-a/t4/nvidia.com/gpu=+8\n"
      "  berth what-if --submit job.yaml --times 10\n"
      "  berth what-if -f queues.yaml -o json | jq '.jobs[] | select(.worseOff)'");
  command->callback([flags, &exit_code] {
    flags->forecast.pods = !flags->changes.nodes.empty();
    exit_code = RunWhatIf(*flags);
  });
}

}  // namespace berth::cli
