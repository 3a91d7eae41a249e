// cli/main.cc — the command line of berth: parses the words, and runs the command.

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/argument_order.h"
#include "cli/commands.h"
#include "cli/completion.h"
#include "program/version.h"
#include "view/output.h"

namespace berth::cli {
namespace {

CommandOption OptionOf(const CLI::Option& option) {
  CommandOption out{.help = option.get_description()};
  for (const std::string& name : option.get_snames()) out.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) out.names.push_back("--" + name);
  if (option.get_items_expected_max() > 0) out.value = option.get_type_name();
  return out;
}

// The command tree for completion, from the parser of CLI11.
Command CommandOf(const CLI::App& app) {
  Command command{.name = app.get_name(), .help = app.get_description()};
  command.aliases = app.get_aliases();
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) {
      command.positionals.push_back(option->get_type_name());
    } else {
      command.options.push_back(OptionOf(*option));
    }
  }
  for (const CLI::App* below : app.get_subcommands([](const CLI::App*) { return true; })) {
    command.commands.push_back(CommandOf(*below));
  }
  return command;
}

int Run(int argc, char** argv) {
  CLI::App app{
      "berth: batch job queues for Kubernetes that speak Kueue's API and explain every wait",
      "berth"};
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("berth ") + program::kVersion,
                       "the version of berth");
  app.footer(
      "Start with `berth up`, or point KUBECONFIG at a cluster and try `berth status`.\n"
      "`berth COMMAND --help` shows examples.");
  int exit_code = view::kExitAnswered;
  AddCommands(app, exit_code);
  // The shells pass words that need not be valid, so they are not parsed.
  if (argc > 1 && std::string_view(argv[1]) == kCompleteCommand) {
    return RunComplete(CommandOf(app), {argv + 2, argv + argc});
  }
  try {
    const Command program = CommandOf(app);
    std::vector<std::string> words =
        SplitEmptyValues(program, CommandFirst(program, {argv + 1, argv + argc}));
    if (const std::string unknown = UnknownCommand(program, words); !unknown.empty()) {
      view::Complain({ErrorCode::kInvalid, unknown});
      return view::kExitUsage;
    }
    std::reverse(words.begin(), words.end());  // CLI11's order
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? view::kExitAnswered : view::kExitUsage;
  }
  return exit_code;
}

}  // namespace
}  // namespace berth::cli

int main(int argc, char** argv) { return berth::cli::Run(argc, argv); }
