// `berth doctor`: reads an installation of Berth, and says what is wrong with it. Writes nothing
// but questions about rights.
#include "view/screens/doctor.h"

#include <memory>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "base/system_clock.h"
#include "cli/client_flags.h"
#include "cli/completion.h"
#include "net/certificates.h"
#include "view/output.h"
#include "view/screens/json_at.h"
#include "view/session.h"

namespace berth::cli {
namespace {

using Json = nlohmann::json;

void NoteUnread(const std::string& object, const Error& error, view::Installation& out) {
  out.unread.push_back({view::DoctorGrade::kUnread, object,
                        "not read, so not checked: " + error.message,
                        "run the command with the rights of an administrator"});
}

void TakeCertificate(const Json& secret, view::Installation& out) {
  out.secret = secret;
  const auto pem = Base64Decode(view::TextAt(secret, "/data/tls.crt"));
  if (!pem) return;
  if (const auto end = net::CertificateEnd(*pem)) out.certificate_end = *end;
}

// Asks the API server for each right that the controller needs.
void AskForRights(view::Session& session, view::Installation& out) {
  const std::string account =
      "system:serviceaccount:" + out.namespace_name + ":kueue-controller-manager";
  for (const view::ControllerRight& right : view::NeededRights()) {
    const std::size_t slash = right.resource.find('/');
    Json attributes = {{"verb", right.verb},
                       {"group", right.group},
                       {"resource", right.resource.substr(0, slash)}};
    if (slash != std::string::npos) attributes["subresource"] = right.resource.substr(slash + 1);
    if (right.in_namespace) attributes["namespace"] = out.namespace_name;
    const auto answer = session.Write(
        "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", "application/json",
        {{"apiVersion", "authorization.k8s.io/v1"},
         {"kind", "SubjectAccessReview"},
         {"spec",
          {{"user", account},
           {"groups",
            {"system:serviceaccounts", "system:serviceaccounts:" + out.namespace_name,
             "system:authenticated"}},
           {"resourceAttributes", std::move(attributes)}}}});
    if (!answer) return NoteUnread("rights of the controller", answer.error(), out);
    const Json* allowed = view::FindAt(*answer, "/status/allowed");
    if (allowed == nullptr || *allowed != true) out.refused.push_back(right);
  }
}

Result<view::Installation> ReadInstallation(view::Session& session, const std::string& space) {
  view::Installation out{
      .cluster_name = session.cluster_name(), .namespace_name = space, .now = SystemClock().Now()};
  const auto lists = view::ListsToExamine(space);
  std::vector<std::string> paths;
  for (const auto& list : lists) paths.push_back(list.second);
  const std::size_t rest = paths.size();
  for (const std::string& path :
       {std::string("/version"), view::LeasePath(space), view::SecretPath(space)}) {
    paths.push_back(path);
  }
  const auto answers = session.GetAll(paths);
  if (!answers[rest]) return answers[rest].error();
  out.is_berth_up = answers[rest]->value("gitVersion", "").ends_with("+berth");
  for (std::size_t i = 0; i < rest; ++i) {
    if (answers[i]) {
      out.lists[lists[i].first] = answers[i]->value("items", Json::array());
    } else if (answers[i].error().code == ErrorCode::kForbidden) {
      NoteUnread(lists[i].first, answers[i].error(), out);
    } else if (answers[i].error().code != ErrorCode::kNotFound) {
      return Annotate(answers[i].error(), lists[i].second);
    }
  }
  const auto& lease = answers[rest + 1];
  if (lease) {
    out.lease = *lease;
  } else if (lease.error().code != ErrorCode::kNotFound) {
    NoteUnread("lease", lease.error(), out);
    out.lease = Json::object();
  }
  const auto& secret = answers[rest + 2];
  if (secret) {
    TakeCertificate(*secret, out);
  } else if (secret.error().code != ErrorCode::kNotFound) {
    NoteUnread("secret", secret.error(), out);
  }
  if (!out.is_berth_up) AskForRights(session, out);
  return out;
}

int RunDoctor(const ClientFlags& client) {
  const auto session = view::Session::Open(client);
  if (!session) return view::Complain(session.error());
  const std::string space = client.namespace_name.empty() ? "kueue-system" : client.namespace_name;
  const auto installation = ReadInstallation(**session, space);
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
