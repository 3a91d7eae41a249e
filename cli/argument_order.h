// cli/argument_order.h — accepts options in front of the command, as kubectl does.
//
//     berth --kubeconfig f -A status demo     is     berth status --kubeconfig f -A demo
#pragma once

#include <string>
#include <vector>

#include "cli/completion.h"

namespace berth::cli {

// `words`: without the program's name. Moves options that the command has from the front of the
// command to its end; other words stay in place.
std::vector<std::string> CommandFirst(const Command& program,
                                      const std::vector<std::string>& words);

}  // namespace berth::cli
