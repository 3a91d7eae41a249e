// `berth adopt --check`: reads the objects of a cluster in which Kueue is at work, its
// Configuration, and what `berth doctor` examines. Writes nothing.
#include <algorithm>
#include <memory>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "admission/controller/configuration/configuration.h"
#include "api/labels.h"
#include "api/yaml/yaml.h"
#include "base/system_clock.h"
#include "checks/check_kinds.h"
#include "cli/client_flags.h"
#include "cli/completion.h"
#include "program/configuration_file.h"
#include "program/job_kinds.h"
#include "view/output.h"
#include "view/read_installation.h"
#include "view/screens/adoption.h"
#include "view/session.h"

namespace berth::cli {
namespace {

constexpr char kKueueGroup[] = "/apis/kueue.x-k8s.io/v1beta2/";
constexpr char kJobKinds[] = "/apis/integrations.berth.dev/v1alpha1/jobkinds";
constexpr char kConfigMap[] = "kueue-manager-config";
constexpr char kConfigKey[] = "controller_manager_config.yaml";

// Lists by path, with the plural that names their rule; in the order of the findings.
std::vector<std::pair<std::string, std::string>> ListsOf(const std::string& space) {
  std::vector<std::pair<std::string, std::string>> lists{
      {"deployments", "/apis/apps/v1/namespaces/" + space + "/deployments"},
      {"jobs", "/apis/batch/v1/jobs"},
      {"pods", std::string("/api/v1/pods?labelSelector=") + api::kManagedLabel + "=true"}};
  for (const char* plural :
       {"workloads", "admissionchecks", "clusterqueues", "cohorts", "localqueues",
        "resourceflavors", "topologies", "workloadpriorityclasses"}) {
    lists.emplace_back(plural, kKueueGroup + std::string(plural));
  }
  const auto add = [&lists](const checks::ParametersKind& kind) {
    lists.emplace_back(kind.plural,
                       std::string("/apis/") + kind.group + "/" + kind.version + "/" + kind.plural);
  };
  for (const checks::CheckKind& check : checks::CheckKinds()) {
    if (check.adoption != checks::Adoption::kTakenOver) continue;
    std::for_each(check.parameters_kinds.begin(), check.parameters_kinds.end(), add);
  }
  for (const checks::MissingCheck& check : checks::MissingChecks()) {
    std::for_each(check.kinds.begin(), check.kinds.end(), add);
  }
  return lists;
}

void CheckConfiguration(const std::string& text, const std::string& object,
                        view::AdoptionReport& report) {
  const auto refuse = [&](const std::string& why) {
    report.findings.push_back(
        {view::AdoptionGrade::kMissing, object, why + "; Berth does not start with it"});
  };
  const Result<api::YamlDocument> document = api::ParseYaml(text);
  if (!document) return refuse(document.error().message);
  if (!document->duplicate_keys.empty()) {
    return refuse(document->duplicate_keys.front() + ": duplicate key");
  }
  const auto configuration = program::ReadConfigurationDocument(document->value);
  if (!configuration) return refuse(configuration.error().message);
  for (const admission::OwnerKind& owner : program::OwnersOf(*configuration)) {
    report.queued_kinds.insert(owner.group + "/" + owner.kind);
  }
  for (const auto& [field, why] : configuration->ignored) {
    report.findings.push_back(
        {view::AdoptionGrade::kDiffers, object, field + " has no effect: " + why});
  }
}

// The Configuration that Kueue's manager reads; absent where Kueue was installed otherwise.
void CheckConfigMap(const Result<nlohmann::json>& answer, const std::string& space,
                    view::AdoptionReport& report) {
  const std::string object = "configmap " + space + "/" + kConfigMap;
  const nlohmann::json::json_pointer path(std::string("/data/") + kConfigKey);
  if (answer && answer->contains(path) && answer->at(path).is_string()) {
    return CheckConfiguration(answer->at(path).get<std::string>(), object, report);
  }
  report.findings.push_back(
      {view::AdoptionGrade::kFirst, object,
       answer ? std::string("has no text ") + kConfigKey
              : "cannot be read (" + answer.error().message +
                    "): name the namespace of Kueue with -n, and check its Configuration with "
                    "berth version --config FILE"});
}

// Kinds that users have declared are queued, too.
void TakeDeclaredKinds(const Result<nlohmann::json>& answer, view::AdoptionReport& report) {
  if (!answer) return;
  for (const nlohmann::json& each : answer->value("items", nlohmann::json::array())) {
    const nlohmann::json spec = each.value("spec", nlohmann::json::object());
    report.queued_kinds.insert(spec.value("group", "") + "/" + spec.value("kind", ""));
  }
}

void ExamineInstallation(view::Session& session, const std::string& space,
                         view::AdoptionReport& report) {
  const auto installation =
      view::ReadInstallation(session, space, view::InstalledManager::kKueue, SystemClock().Now());
  if (installation) {
    report.installation = view::Examine(*installation);
  } else {
    report.installation.push_back({view::DoctorGrade::kUnread, "installation",
                                   "not read, so not checked: " + installation.error().message,
                                   "run the command with the rights of an administrator"});
  }
}

int RunAdopt(const ClientFlags& client) {
  const auto session = view::Session::Open(client);
  if (!session) return view::Complain(session.error());
  const std::string space = client.namespace_name.empty() ? "kueue-system" : client.namespace_name;
  const auto lists = ListsOf(space);
  std::vector<std::string> paths;
  for (const auto& list : lists) paths.push_back(list.second);
  paths.emplace_back(kJobKinds);
  paths.push_back("/api/v1/namespaces/" + space + "/configmaps/" + kConfigMap);
  const auto answers = (*session)->GetAll(paths);

  view::AdoptionReport report{.cluster_name = (*session)->cluster_name()};
  CheckConfigMap(answers.back(), space, report);  // names the kinds that are queued
  TakeDeclaredKinds(answers[lists.size()], report);
  for (std::size_t i = 0; i < lists.size(); ++i) {
    const auto& [plural, path] = lists[i];
    const Result<nlohmann::json>& answer = answers[i];
    if (answer) {
      view::CheckAdoptionOf(plural, answer->value("items", nlohmann::json::array()), report);
    } else if (plural != "workloads" && answer.error().code == ErrorCode::kNotFound) {
      continue;  // the cluster does not have the kind
    } else if (plural == "workloads" || answer.error().code != ErrorCode::kForbidden) {
      return view::Complain(Annotate(answer.error(), path));
    } else {
      report.findings.push_back({view::AdoptionGrade::kFirst, plural,
                                 "not read, so not checked: " + answer.error().message});
    }
  }
  ExamineInstallation(**session, space, report);
  if (client.output == view::OutputFormat::kText) {
    view::Print(view::RenderAdoption(report, view::DetectStyle(client.ascii)));
  } else {
    view::PrintStructured(view::AdoptionJson(report), client.output);
  }
  return view::HasMissing(report) ? view::kExitRefused : view::kExitAnswered;
}

}  // namespace

void AddAdopt(CLI::App& app, int& exit_code) {
  const auto client = std::make_shared<ClientFlags>();
  const auto check = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand(
      "adopt", "What Berth would do with the objects of a cluster in which Kueue is at work");
  AddServerFlags(*command, *client);
  AddOutputFlag(*command, client->output);
  command->add_option("-n,--namespace", client->namespace_name, "of Kueue (default kueue-system)")
      ->type_name(kNamespaceValue);
  AddAsciiFlag(*command, client->ascii);
  command->add_flag("--check", *check, "read and report; nothing is written")->required();
  command->footer(
      "Grades: first (to be done before), missing (would wait for what Berth lacks; exit code 1),\n"
      "differs, stays (left alone; its quota counts). docs/operate/change-over.md has the steps.\n"
      "The findings of berth doctor follow; the exit code does not depend on them.\n"
      "Examples:\n"
      "  berth adopt --check\n"
      "  berth adopt --check -o json | jq '.findings[] | select(.grade == \"missing\")'");
  command->callback([client, check, &exit_code] { exit_code = RunAdopt(*client); });
}

}  // namespace berth::cli
