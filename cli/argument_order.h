// cli/argument_order.h — accepts options in front of the command, as kubectl does.
//
//     berth --kubeconfig f -A status demo     is     berth status --kubeconfig f -A demo
//     --controllers=                          is     --controllers ""
#pragma once

#include <string>
#include <vector>

#include "cli/completion.h"

namespace berth::cli {

// `words` follow the program's name. Moves options of the command that stand in front of it to the
// end of the line; other words stay in place.
std::vector<std::string> CommandFirst(const Command& program,
                                      const std::vector<std::string>& words);

// Returns `words`, which begin with the command, with each empty value as a word of its own, since
// the parser takes `--option=` for an option whose value is missing.
std::vector<std::string> SplitEmptyValues(const Command& program, std::vector<std::string> words);

// The error about the first word that should be a command and is none: the word, and the nearest
// command. Empty: there is no such word.
std::string UnknownCommand(const Command& program, const std::vector<std::string>& words);

}  // namespace berth::cli
