// `berth doctor`: reads an installation of Berth, and says what is wrong with it. Writes nothing
// but questions about rights.
#include "view/screens/doctor.h"

#include <memory>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/system_clock.h"
#include "cli/client_flags.h"
#include "cli/completion.h"
#include "view/output.h"
#include "view/read_installation.h"
#include "view/session.h"

namespace berth::cli {
namespace {

int RunDoctor(const ClientFlags& client) {
  const auto session = view::Session::Open(client);
  if (!session) return view::Complain(session.error());
  const std::string space = client.namespace_name.empty() ? "kueue-system" : client.namespace_name;
  const auto installation =
      view::ReadInstallation(**session, space, view::InstalledManager::kBerth, SystemClock().Now());
  if (!installation) return view::Complain(installation.error());
  const auto findings = view::Examine(*installation);
  if (client.output == view::OutputFormat::kText) {
    view::Print(view::RenderDoctor(*installation, findings, view::DetectStyle(client.ascii)));
  } else {
    view::PrintStructured(view::DoctorJson(*installation, findings), client.output);
  }
  return view::HasProblem(findings) ? view::kExitRefused : view::kExitAnswered;
}

}  // namespace

void AddDoctor(CLI::App& app, int& exit_code) {
  const auto client = std::make_shared<ClientFlags>();
  CLI::App* command =
      app.add_subcommand("doctor", "What is wrong with this installation, each with its remedy");
  AddServerFlags(*command, *client);
  AddOutputFlag(*command, client->output);
  command->add_option("-n,--namespace", client->namespace_name, "of Berth (default kueue-system)")
      ->type_name(kNamespaceValue);
  AddAsciiFlag(*command, client->ascii);
  command->footer(
      "Reads definitions, the controller's Deployment, lease and rights, webhooks and their\n"
      "certificate, queues, checks, and flavors beside the nodes. Nothing is changed.\n"
      "Exit code 1: there is a problem. What the caller may not read is listed.\n"
      "Examples:\n"
      "  berth doctor\n"
      "  berth doctor -o json | jq '.findings[] | select(.grade == \"problem\")'");
  command->callback([client, &exit_code] { exit_code = RunDoctor(*client); });
}

}  // namespace berth::cli
