// `berth capacity`: requests for capacity, node pools, and what is known of the stock.
#include "view/screens/capacity.h"

#include <memory>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/system_clock.h"
#include "cli/client_flags.h"

namespace berth::cli {
namespace {

int RunCapacity(const ClientFlags& client) {
  const auto session = view::Session::Open(client);
  if (!session) return view::Complain(session.error());
  view::ReadScope scope = ScopeOf(client, **session, false);
  scope.screen = view::ReadScope::Screen::kCapacity;
  const auto view = view::ReadCluster(**session, scope, SystemClock().Now());
  if (!view) return view::Complain(view.error());
  if (client.output != view::OutputFormat::kText) {
    view::PrintStructured(view::CapacityScreenJson(*view), client.output);
  } else {
    view::Print(view::RenderCapacity(*view, view::DetectStyle(client.ascii)));
  }
  return view::kExitAnswered;
}

}  // namespace

void AddCapacity(CLI::App& app, int& exit_code) {
  const auto client = std::make_shared<ClientFlags>();
  CLI::App* command = app.add_subcommand(
      "capacity", "Requests for capacity, node pools, and what is known of the stock");
  AddClientFlags(*command, *client);
  AddOutputFlag(*command, client->output);
  command->footer(
      "Examples:\n"
      "  berth capacity\n"
      "  berth capacity -o json | jq '.stock[] | select(.restsUntil)'");
  command->callback([client, &exit_code] { exit_code = RunCapacity(*client); });
}

}  // namespace berth::cli
