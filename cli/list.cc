// `berth list`: one line a workload.
#include "view/screens/list.h"

#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/system_clock.h"
#include "cli/client_flags.h"

namespace berth::cli {
namespace {

int RunList(const ClientFlags& client, view::ListOptions options) {
  const auto session = view::Session::Open(client);
  if (!session) return view::Complain(session.error());
  view::ReadScope scope = ScopeOf(client, **session, true);
  scope.screen = view::ReadScope::Screen::kList;
  scope.jobs = !options.labels.empty();
  scope.cost = options.cost;
  options.namespace_name = scope.namespace_name;
  const auto view = view::ReadCluster(**session, scope, SystemClock().Now());
  if (!view) return view::Complain(view.error());
  if (client.output != view::OutputFormat::kText) {
    view::PrintStructured(view::ListJson(*view, options), client.output);
    return view::kExitAnswered;
  }
  const Result<std::string> text =
      view::RenderList(*view, options, view::DetectStyle(client.ascii));
  if (!text) {
    view::Complain(text.error());
    return view::kExitUsage;
  }
  view::Print(*text);
  return view::kExitAnswered;
}

}  // namespace

void AddList(CLI::App& app, int& exit_code) {
  const auto client = std::make_shared<ClientFlags>();
  const auto options = std::make_shared<view::ListOptions>();
  const auto labels = std::make_shared<std::vector<std::string>>();
  CLI::App* command =
      app.add_subcommand("list", "One line a workload: state, age, where it runs or why it waits");
  AddClientFlags(*command, *client);
  AddOutputFlag(*command, client->output);
  command->add_flag("--waiting", options->waiting, "those that wait");
  command->add_flag("--running", options->running, "those that run");
  command->add_flag("--finished", options->finished, "those that are over");
  command->add_flag("--cost", options->cost, "what runs, in USD an hour and so far");
  command->add_option("-l,--selector", *labels, "label=value of the job; may be repeated")
      ->delimiter(',')
      ->type_name("LABEL=VALUE");
  AcceptOnly(*command->add_option("--sort", options->sort, "order of the lines"),
             {"queue", "age", "name", "priority", "state"});
  command->footer(
      "Examples:\n"
      "  berth list -A --waiting\n"
      "  berth list -l team=vision --sort age");
  command->callback([client, options, labels, command, &exit_code] {
    if (!command->get_subcommands().empty()) return;  // one of kueuectl's kinds
    for (const std::string& label : *labels) {
      const std::size_t equals = label.find('=');
      if (equals == std::string::npos || equals == 0) {
        throw CLI::ValidationError("-l", "\"" + label + "\" is not label=value");
      }
      options->labels[label.substr(0, equals)] = label.substr(equals + 1);
    }
    exit_code = RunList(*client, *options);
  });
}

}  // namespace berth::cli
