// berth version: the program's version, and its decision rules.
#include "program/version.h"

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "program/configuration_file.h"
#include "view/output.h"
#include "view/session.h"

namespace berth::cli {

int RunVersion(const ClientFlags& client, const std::string& config) {
  const auto configuration = ReadConfigurationFile(config);
  if (!configuration) return Complain(configuration.error());
  const admission::OwnRules& rules = configuration->admission.scheduler.own_rules;
  const std::string on = rules.NamesOfEnabled();
  const std::string off = rules.NamesOfDisabled();
  nlohmann::json out = {
      {"berth", kVersion}, {"cluster", nullptr}, {"ownRules", {{"on", on}, {"off", off}}}};
  std::string server;
  if (const auto session = Session::Open(client); session) {
    const auto answer = (*session)->GetAll({"/version"}).front();
    if (answer && answer->contains("gitVersion")) {
      out["cluster"] = {{"version", (*answer)["gitVersion"]}, {"url", (*session)->server_url()}};
      server = (*answer)["gitVersion"].get<std::string>() + " at " + (*session)->server_url();
    }
  }
  if (client.output != OutputFormat::kText) {
    PrintStructured(out, client.output);
    return kExitAnswered;
  }
  Print(std::string("berth    ") + kVersion + "\ncluster  " +
        (server.empty() ? "(none can be reached)" : server) +
        "\n\nrules of its own by which the controllers decide" +
        (config.empty() ? "" : " with " + config) + " (docs/differences.md)\n  on   " +
        (on.empty() ? "none" : on) + "\n  off  " + (off.empty() ? "none" : off) + "\n");
  return kExitAnswered;
}

}  // namespace berth::cli
