// cli/argument_order.h — options before the command, as kubectl takes them.
//
//     berth --kubeconfig f -A status demo     is     berth status --kubeconfig f -A demo
#pragma once

#include <string>
#include <vector>

#include "cli/completion.h"

namespace berth::cli {

// `words` without the name of the program. Options in front of the command that the command has
// stand behind it in the answer; any other words are answered as they are.
std::vector<std::string> CommandFirst(const Command& program,
                                      const std::vector<std::string>& words);

}  // namespace berth::cli
