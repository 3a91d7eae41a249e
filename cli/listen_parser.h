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

// --read-api-listen, --read-api-actions, --read-api-proxy-….
void AddReadApiFlags(CLI::App& command, std::string& listen, bool& actions, PageProxyFlags& proxy);

}  // namespace berth::cli
