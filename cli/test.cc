// `berth test` on the command line.
#include <memory>

#include <CLI/CLI.hpp>

#include "cli/completion.h"
#include "scenarios/command.h"

namespace berth::cli {

void AddTest(CLI::App& app, int& exit_code) {
  const auto flags = std::make_shared<scenarios::TestFlags>();
  CLI::App* command = app.add_subcommand(
      "test", "Plays scenarios: manifests, events in virtual time, expected decisions");
  command->add_option("PATHS", flags->paths, "scenario files, or folders of .scenario files")
      ->type_name(kFileValue)
      ->required();
  command
      ->add_option("--manifests", flags->manifests,
                   "folder of `apply PATH` (default: the folder of each scenario)")
      ->type_name(kFileValue);
  command->add_option("--only", flags->only, "only scenarios with this text in their name")
      ->type_name("TEXT");
  command->add_option("--junit", flags->junit, "write a JUnit report for CI")
      ->type_name(kFileValue);
  command->add_flag("-v,--verbose", flags->verbose, "print the events of every scenario");
  command->footer(
      "Needs no cluster: each scenario has its own, with all controllers, in virtual time.\n"
      "Exit code 1: a scenario failed. The format: docs/guide/scenarios.md. Examples:\n"
      "  berth test scenarios/ --junit report.xml\n"
      "  berth test scenarios/ --manifests queues/ --only borrow -v");
  command->callback([flags, &exit_code] { exit_code = scenarios::RunTest(*flags); });
}

}  // namespace berth::cli
