// cli/client_flags.h — the options of the commands that talk to a cluster, as kubectl has them.
#pragma once

#include <string>
#include <vector>

#include "view/output.h"
#include "view/session.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace berth::cli {

struct ClientFlags : view::ClientOptions {
  bool all_namespaces = false;
  view::OutputFormat output = view::OutputFormat::kText;
  bool ascii = false;
};

// Each adds options that fill `flags`, which must outlive `command`.
void AddServerFlags(CLI::App& command, ClientFlags& flags);  // --kubeconfig, --context
void AddAsciiFlag(CLI::App& command, bool& ascii);
void AddOutputFlag(CLI::App& command, view::OutputFormat& output);  // text, json or yaml
// The options of the server, -n, -A and --ascii.
void AddClientFlags(CLI::App& command, ClientFlags& flags);

// Accepts only `words`, which help and completion show as the option's value.
void AcceptOnly(CLI::Option& option, const std::vector<std::string>& words);

// The part of the cluster to read. -A reads all namespaces if the rights suffice, else the own one.
view::ReadScope ScopeOf(const ClientFlags& flags, const view::Session& session,
                        bool own_by_default);

}  // namespace berth::cli
