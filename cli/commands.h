// cli/commands.h — the commands of berth. The source of a command has its options, its help and its
// function, which answers on stdout and complains on stderr; commands.cc lists them all.
//
// Exit codes: 0 success, 1 not found or refused, 2 wrong usage, 4 the API is unreachable.
#pragma once

#include <string>
#include <vector>

#include "cli/completion.h"

namespace CLI {
class App;
}

namespace berth::cli {

// Adds all commands to the parser, in the order of its help. The parser runs the command that it
// finds, and sets `exit_code`, which must outlive `app`.
void AddCommands(CLI::App& app, int& exit_code);

// Answers the scripts of `berth completion` (cli/completion.h); `words` follow the command.
inline constexpr char kCompleteCommand[] = "__complete";
int RunComplete(const Command& program, const std::vector<std::string>& words);

}  // namespace berth::cli
