// `berth why`: the chain from a job to what is missing.
#include "view/screens/why.h"

#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/system_clock.h"
#include "cli/client_flags.h"
#include "cli/completion.h"

namespace berth::cli {
namespace {

int RunWhy(const ClientFlags& client, const std::string& reference) {
  const auto session = view::Session::Open(client);
  if (!session) return view::Complain(session.error());
  const view::StoryScope scope{.namespace_name = ScopeOf(client, **session, true).own_namespace,
                               .all_namespaces = client.all_namespaces,
                               .reference = reference};
  const auto read = view::ReadStory(**session, scope, SystemClock().Now());
  if (!read) return view::Complain(read.error());
  const view::TextStyle style = view::DetectStyle(client.ascii);
  const auto story = view::TellStory(read->view, read->namespace_name, reference, style);
  if (!story) return view::Complain(story.error());
  if (client.output != view::OutputFormat::kText) {
    view::PrintStructured(view::StoryJson(*story), client.output);
  } else {
    view::Print(view::RenderStory(read->view, *story, style));
  }
  return view::kExitAnswered;
}

}  // namespace

void AddWhy(CLI::App& app, int& exit_code) {
  const auto client = std::make_shared<ClientFlags>();
  const auto reference = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("why", "Why a job waits: the chain from the Job to what is missing");
  AddClientFlags(*command, *client);
  AddOutputFlag(*command, client->output);
  command
      ->add_option("NAME", *reference,
                   "job/NAME, KIND/NAME (jobset/x), workload/NAME, pod/NAME, or a job's name")
      ->required()
      ->type_name(kReferenceValue);
  command->footer(
      "Examples:\n"
      "  berth why job/h100-train\n"
      "  berth why workload/job-h100-train-5c1f2 -o json");
  command->callback([client, reference, &exit_code] { exit_code = RunWhy(*client, *reference); });
}

}  // namespace berth::cli
