// cli/listen_parser.h — the flags of the ports that berth serves.
#pragma once

#include <string>

#include "cli/commands.h"

namespace CLI {
class App;
}

namespace berth::cli {

// Of `berth controller`: metrics, health, webhooks, visibility API, read API.
void AddListenFlags(CLI::App& command, ControllerFlags& flags);

// --read-api-listen.
void AddReadApiFlags(CLI::App& command, std::string& listen, bool& actions);

}  // namespace berth::cli
