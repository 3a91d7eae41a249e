// `berth completion`: the script of a shell.
#include <cstdio>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "cli/client_flags.h"
#include "cli/completion.h"
#include "view/output.h"

namespace berth::cli {

void AddCompletion(CLI::App& app, int& exit_code) {
  const auto shell = std::make_shared<std::string>();
  CLI::App* completion = app.add_subcommand("completion", "Completion script for a shell");
  AcceptOnly(*completion->add_option("SHELL", *shell, "whose script is written")->required(),
             {"bash", "zsh", "fish"});
  completion->footer(
      "Examples:\n"
      "  source <(berth completion bash)\n"
      "  source <(berth completion zsh)\n"
      "  berth completion fish | source");
  completion->callback([shell, &exit_code] {
    std::fputs(CompletionScript(*shell).c_str(), stdout);
    exit_code = view::kExitAnswered;
  });
}

}  // namespace berth::cli
