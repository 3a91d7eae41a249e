// `berth trace`: where the time of a job went.
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/system_clock.h"
#include "cli/client_flags.h"
#include "cli/completion.h"
#include "view/screens/job_trace.h"

namespace berth::cli {
namespace {

int RunTrace(const ClientFlags& client, const std::string& reference) {
  const auto session = view::Session::Open(client);
  if (!session) return view::Complain(session.error());
  const view::StoryScope scope{.namespace_name = ScopeOf(client, **session, true).own_namespace,
                               .all_namespaces = client.all_namespaces,
                               .reference = reference,
                               .with_past = true};
  const auto read = view::ReadStory(**session, scope, SystemClock().Now());
  if (!read) return view::Complain(read.error());
  const auto trace = view::TraceJob(read->view, read->namespace_name, reference);
  if (!trace) return view::Complain(trace.error());
  if (client.output != view::OutputFormat::kText) {
    view::PrintStructured(view::TraceJson(read->view, *trace), client.output);
  } else {
    view::Print(view::RenderTrace(read->view, *trace, view::DetectStyle(client.ascii)));
  }
  return view::kExitAnswered;
}

}  // namespace

void AddTrace(CLI::App& app, int& exit_code) {
  const auto client = std::make_shared<ClientFlags>();
  const auto reference = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand(
      "trace", "Where the time of a job went: quota, capacity, nodes, containers, the run");
  AddClientFlags(*command, *client);
  AddOutputFlag(*command, client->output);
  command
      ->add_option("NAME", *reference,
                   "job/NAME, KIND/NAME (jobset/x), workload/NAME, pod/NAME, or a job's name")
      ->required()
      ->type_name(kReferenceValue);
  command->footer(
      "Reads the job's objects as they are now; times are whole seconds.\n"
      "Examples:\n"
      "  berth trace job/h100-train\n"
      "  berth trace jobset/train -o json");
  command->callback([client, reference, &exit_code] { exit_code = RunTrace(*client, *reference); });
}

}  // namespace berth::cli
