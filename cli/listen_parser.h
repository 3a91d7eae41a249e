// cli/listen_parser.h — the flags of the ports that berth serves.
#pragma once

#include <string>

#include "cli/server_flags.h"

namespace CLI {
class App;
}

namespace berth::cli {

// The flags of `berth controller`: metrics, health, webhooks, visibility API, read API.
void AddListenFlags(CLI::App& command, ControllerFlags& flags);

// --cluster-name, --read-api-listen, --read-api-actions, --read-api-proxy-….
void AddReadApiFlags(CLI::App& command, ReadApiFlags& flags);

}  // namespace berth::cli
