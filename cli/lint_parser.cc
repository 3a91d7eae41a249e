// `berth lint` on the command line.
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "cli/client_flags.h"
#include "cli/completion.h"
#include "cli/lint_command.h"

namespace berth::cli {

void AddLint(CLI::App& app, int& exit_code) {
  const auto flags = std::make_shared<LintFlags>();
  CLI::App* command = app.add_subcommand(
      "lint", "What is wrong with manifests of queues and jobs, before a cluster has them");
  command
      ->add_option("-f,--filename,FILES", flags->files,
                   "YAML or JSON of queues, flavors, checks and jobs, or folders of such files")
      ->type_name(kFileValue)
      ->required();
  command->add_flag("-R,--recursive", flags->recursive, "read the folders in folders, too");
  command->add_flag("--strict", flags->strict, "warnings fail, too");
  command->add_option("--config", flags->config, "Kueue Configuration file")->type_name(kFileValue);
  AddOutputFlag(*command, flags->output);
  command->footer(
      "Needs no cluster. Exit code 1: an error was found, with --strict also: a warning.\n"
      "The rules: docs/guide/lint.md. Examples:\n"
      "  berth lint queues/ jobs/\n"
      "  berth lint --strict -o json manifests/ | jq -r '.findings[] | .file'");
  command->callback([flags, &exit_code] { exit_code = RunLint(*flags); });
}

}  // namespace berth::cli
