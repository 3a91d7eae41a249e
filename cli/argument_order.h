// cli/argument_order.h — accepts options in front of the command, as kubectl does.
//
//     berth --kubeconfig f -A status demo     is     berth status --kubeconfig f -A demo
//     --controllers=                          is     --controllers ""
#pragma once

#include <string>
#include <vector>

#include "cli/completion.h"

namespace berth::cli {

// `words`: without the program's name. Moves options that the command has from the front of the
// command to its end; other words stay in place.
std::vector<std::string> CommandFirst(const Command& program,
                                      const std::vector<std::string>& words);

// `words`, the command first, with an empty value as a word of its own: the parser takes
// `--option=` for an option whose value is missing.
std::vector<std::string> SplitEmptyValues(const Command& program, std::vector<std::string> words);

// What is wrong with the first word of a command line that is no command where one has to stand:
// the word, and the nearest command. Empty: nothing.
std::string UnknownCommand(const Command& program, const std::vector<std::string>& words);

}  // namespace berth::cli
