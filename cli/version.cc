// berth version: the program's version, and its decision rules.
#include "program/version.h"

#include <memory>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/client_flags.h"
#include "cli/completion.h"
#include "program/configuration_file.h"
#include "view/output.h"
#include "view/session.h"

namespace berth::cli {
namespace {

int RunVersion(const ClientFlags& client, const std::string& config) {
  const auto configuration = program::ReadConfigurationFile(config);
  if (!configuration) return view::Complain(configuration.error());
  const admission::OwnRules& rules = configuration->admission.driver.scheduler.own_rules;
  const std::string on = rules.NamesOfEnabled();
  const std::string off = rules.NamesOfDisabled();
  nlohmann::json out = {
      {"berth", program::kVersion}, {"cluster", nullptr}, {"ownRules", {{"on", on}, {"off", off}}}};
  std::string server;
  if (const auto session = view::Session::Open(client); session) {
    const auto answer = (*session)->GetAll({"/version"}).front();
    if (answer && answer->contains("gitVersion")) {
      out["cluster"] = {{"version", (*answer)["gitVersion"]}, {"url", (*session)->server_url()}};
      server = (*answer)["gitVersion"].get<std::string>() + " at " + (*session)->server_url();
    }
  }
  if (client.output != view::OutputFormat::kText) {
    view::PrintStructured(out, client.output);
    return view::kExitAnswered;
  }
  view::Print(std::string("berth    ") + program::kVersion + "\ncluster  " +
              (server.empty() ? "(none can be reached)" : server) +
              "\n\nBerth's own decision rules" + (config.empty() ? "" : " with " + config) +
              " (docs/reference/differences.md)\n  on   " + (on.empty() ? "none" : on) +
              "\n  off  " + (off.empty() ? "none" : off) + "\n");
  return view::kExitAnswered;
}

}  // namespace

void AddVersion(CLI::App& app, int& exit_code) {
  const auto client = std::make_shared<ClientFlags>();
  const auto config = std::make_shared<std::string>();
  CLI::App* version = app.add_subcommand("version", "Versions of berth and of the cluster");
  AddServerFlags(*version, *client);
  AddOutputFlag(*version, client->output);
  version
      ->add_option("--config", *config,
                   "Configuration file: show which of Berth's own rules are on with it")
      ->type_name(kFileValue);
  version->callback([client, config, &exit_code] { exit_code = RunVersion(*client, *config); });
}

}  // namespace berth::cli
