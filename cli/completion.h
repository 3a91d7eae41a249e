// cli/completion.h — completion scripts for the shells.
#pragma once

#include <string>

namespace berth::cli {

// `shell`: bash, zsh or fish.
std::string CompletionScript(const std::string& shell);

}  // namespace berth::cli
