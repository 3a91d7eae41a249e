// `berth kinds`: the job kinds of a cluster; `berth kinds check`: a description on sample objects,
// without a cluster.
#include <algorithm>
#include <memory>
#include <set>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "api/pod.h"
#include "base/strings.h"
#include "cli/client_flags.h"
#include "cli/completion.h"
#include "integrations/declared_kind.h"
#include "integrations/described_job.h"
#include "integrations/kind_catalogue.h"
#include "integrations/sample_play.h"
#include "view/manifest_files.h"
#include "view/output.h"
#include "view/screens/text.h"
#include "view/session.h"

namespace berth::cli {
namespace {

using integrations::KindPtr;
using Json = nlohmann::json;

constexpr char kJobKindsPath[] = "/apis/integrations.berth.dev/v1alpha1/jobkinds";

struct KindRow {
  std::string kind;
  std::string api_version;
  std::string framework;
  std::string from;
  std::string state;
};

// "Served" of a kind by the answer to its group's discovery.
bool HasResource(const Result<Json>& discovery, std::string_view plural) {
  if (!discovery) return false;
  const Json resources = discovery->value("resources", Json::array());
  return std::any_of(resources.begin(), resources.end(),
                     [plural](const Json& each) { return each.value("name", "") == plural; });
}

std::string StateOf(const Json& job_kind) {
  const Json status = job_kind.value("status", Json::object());
  for (const Json& each : status.value("conditions", Json::array())) {
    if (each.value("type", "") != "Ready") continue;
    if (each.value("status", "") == "True") return "queued";
    return each.value("reason", "") + ": " + each.value("message", "");
  }
  return "not seen by a controller yet";
}

std::vector<KindRow> RowsOf(view::Session& session) {
  std::vector<std::string> paths{kJobKindsPath};
  const auto& kinds = integrations::BuiltInKinds();
  for (const KindPtr& kind : kinds) paths.push_back("/apis/" + kind->resource.api_version());
  const auto answers = session.GetAll(paths);
  std::vector<KindRow> rows{{"Job", "batch/v1", "batch/job", "built in", "served"}};
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const integrations::JobKind& names = kinds[i]->kind;
    rows.push_back({std::string(names.kind), kinds[i]->resource.api_version(),
                    std::string(names.framework), "built in",
                    HasResource(answers[i + 1], names.plural) ? "served" : "not installed"});
  }
  if (!answers.front()) return rows;
  for (const Json& object : answers.front()->value("items", Json::array())) {
    const Json spec = object.value("spec", Json::object());
    const std::string name = object.at("metadata").value("name", "");
    const Result<KindPtr> kind = integrations::ParseDeclaredKind(spec);
    rows.push_back(
        {spec.value("kind", ""), spec.value("group", "") + "/" + spec.value("version", ""),
         kind ? std::string((*kind)->kind.framework) : "", "jobkind/" + name, StateOf(object)});
  }
  return rows;
}

bool IsDescription(const Json& document) {
  if (!document.is_object()) return false;
  return document.value("kind", Json()) == "JobKind" ||
         (document.contains("podSets") && document.contains("version"));
}

std::string RequestsOf(const api::PodSpec& spec, const view::TextStyle& style) {
  std::string text;
  for (const auto& [resource, amount] : api::PodRequests(spec)) {
    if (!text.empty()) text += ", ";
    text += std::string(resource) + " " + view::ShowAmount(resource, amount, style);
  }
  return text;
}

std::string PhaseOf(const integrations::JobView& view) {
  if (!view.problem.empty()) return "cannot be queued: " + view.problem;
  std::string text = view.suspended ? "held" : "not held";
  if (view.skipped) text += ", left to others";
  if (view.active) text += ", active";
  if (view.pods_ready) text += ", ready";
  if (view.finished) text += view.finished->succeeded ? ", succeeded" : ", failed";
  if (view.finished && !view.finished->message.empty()) text += ": " + view.finished->message;
  return text;
}

Json ViewJson(const integrations::JobView& view) {
  Json pod_sets = Json::array();
  for (const api::PodSet& pods : view.pod_sets) {
    Json requests = Json::object();
    for (const auto& [resource, amount] : api::PodRequests(pods.pod_template.spec)) {
      requests[std::string(resource)] = amount;
    }
    pod_sets.push_back({{"name", pods.name}, {"count", pods.count}, {"requests", requests}});
  }
  Json json = {{"name", view.meta.name},
               {"held", view.suspended},
               {"active", view.active},
               {"ready", view.pods_ready},
               {"skipped", view.skipped},
               {"podSets", pod_sets},
               {"finished", view.finished.has_value()}};
  if (view.finished) json["succeeded"] = view.finished->succeeded;
  if (!view.problem.empty()) json["problem"] = view.problem;
  return json;
}

std::string RenderView(const integrations::JobView& view, const view::TextStyle& style) {
  std::string text = ToLower(view.kind->kind) + "/" + view.meta.name + ": " + PhaseOf(view) + "\n";
  view::TextTable table({{"  POD SET"}, {"PODS", view::Align::kRight}, {"REQUESTS OF A POD"}});
  for (const api::PodSet& pods : view.pod_sets) {
    table.AddRow(
        {"  " + pods.name, std::to_string(pods.count), RequestsOf(pods.pod_template.spec, style)});
  }
  if (!table.empty()) text += table.Render(style);
  return text;
}

// The sample of the JobKind itself, and the documents beside it.
std::vector<const Json*> SamplesIn(const std::vector<Json>& documents, const Json& description) {
  std::vector<const Json*> samples;
  const auto spec = description.find("spec");
  if (spec != description.end()) {
    if (const Json* own = integrations::SampleOf(*spec)) samples.push_back(own);
  }
  for (const Json& each : documents) {
    if (&each != &description) samples.push_back(&each);
  }
  return samples;
}

int RunKinds(const ClientFlags& client) {
  const auto session = view::Session::Open(client);
  if (!session) return view::Complain(session.error());
  const std::vector<KindRow> rows = RowsOf(**session);
  if (client.output != view::OutputFormat::kText) {
    Json list = Json::array();
    for (const KindRow& row : rows) {
      list.push_back({{"kind", row.kind},
                      {"apiVersion", row.api_version},
                      {"framework", row.framework},
                      {"from", row.from},
                      {"state", row.state}});
    }
    view::PrintStructured({{"kinds", list}}, client.output);
    return view::kExitAnswered;
  }
  view::TextTable table({{"KIND"}, {"API VERSION"}, {"FRAMEWORK"}, {"FROM"}, {"STATE"}});
  for (const KindRow& row : rows) {
    table.AddRow({row.kind, row.api_version, row.framework, row.from, row.state});
  }
  view::Print(table.Render(view::DetectStyle(client.ascii)));
  return view::kExitAnswered;
}

int RunKindsCheck(const ClientFlags& client, const std::vector<std::string>& files) {
  const auto documents = view::ReadManifests(files);
  if (!documents) return view::Complain(documents.error());
  const auto found = std::find_if(documents->begin(), documents->end(), IsDescription);
  if (found == documents->end()) {
    view::Complain(
        {ErrorCode::kInvalid, "no JobKind among the files: expected a JobKind, or its spec alone"});
    return view::kExitUsage;
  }
  const Result<KindPtr> kind = found->value("kind", Json()) == "JobKind"
                                   ? integrations::ParseJobKind(*found)
                                   : integrations::ParseKind(*found);
  if (!kind) return view::Complain(kind.error());
  const view::TextStyle style = view::DetectStyle(client.ascii);
  std::string text = (*kind)->resource.api_version() + " " + std::string((*kind)->kind.kind) +
                     ": the description is well formed\n";
  Json played = Json::array();
  bool all_fit = true;
  for (const Json* sample : SamplesIn(*documents, *found)) {
    if (const Status fits = integrations::CheckIsOf(**kind, *sample); !fits) {
      return view::Complain(fits.error());
    }
    const Result<integrations::JobView> view = integrations::ViewOf(*kind, *sample);
    if (!view) return view::Complain(view.error());
    const Status plays = integrations::PlaySample(*kind, *sample);
    all_fit = all_fit && plays;
    text += "\n" + RenderView(*view, style);
    played.push_back(ViewJson(*view));
    if (plays || !view->problem.empty()) continue;
    text += "  does not play through: " + plays.error().message + "\n";
    played.back()["problem"] = plays.error().message;
  }
  if (client.output == view::OutputFormat::kText) {
    view::Print(text);
  } else {
    view::PrintStructured({{"samples", played}}, client.output);
  }
  return all_fit ? view::kExitAnswered : view::kExitRefused;
}

}  // namespace

void AddKinds(CLI::App& app, int& exit_code) {
  const auto client = std::make_shared<ClientFlags>();
  const auto files = std::make_shared<std::vector<std::string>>();
  CLI::App* command = app.add_subcommand("kinds", "The kinds of jobs, and whether they are queued");
  AddServerFlags(*command, *client);
  AddOutputFlag(*command, client->output);
  AddAsciiFlag(*command, client->ascii);
  command->footer(
      "A kind is built in, or declared by a JobKind object (docs/guide/job-kinds.md).\n"
      "Examples:\n"
      "  berth kinds\n"
      "  berth kinds check -f kind.yaml -f sample.yaml");
  CLI::App* check = command->add_subcommand(
      "check", "Plays a JobKind description on sample objects; needs no cluster");
  AddOutputFlag(*check, client->output);
  check->add_option("-f,--filename", *files, "YAML: one description, and objects of its kind")
      ->type_name("FILE")
      ->required();
  check->callback([client, files, &exit_code] { exit_code = RunKindsCheck(*client, *files); });
  command->callback([client, check, &exit_code] {
    if (!check->parsed()) exit_code = RunKinds(*client);
  });
}

}  // namespace berth::cli
