#include "view/read_installation.h"

#include <optional>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "net/certificates.h"
#include "view/screens/json_at.h"

namespace berth::view {
namespace {

using Json = nlohmann::json;

void NoteUnread(const std::string& object, const Error& error, Installation& out) {
  out.unread.push_back({DoctorGrade::kUnread, object, "not read, so not checked: " + error.message,
                        "run the command with the rights of an administrator"});
}

// The end of the first certificate of a value of the Secret; nullopt: the value has none.
std::optional<WallTime> EndOf(const Json& secret, const char* path) {
  const auto pem = Base64Decode(TextAt(secret, path));
  if (!pem) return std::nullopt;
  const auto end = net::CertificateEnd(*pem);
  if (!end) return std::nullopt;
  return *end;
}

void TakeCertificate(const Json& secret, Installation& out) {
  out.secret = secret;
  out.certificate_end = EndOf(secret, "/data/tls.crt");
  out.authority_end = EndOf(secret, "/data/ca.crt");
}

// Asks the API server for each right that the controller needs.
void AskForRights(Session& session, Installation& out) {
  const std::string account =
      "system:serviceaccount:" + out.namespace_name + ":kueue-controller-manager";
  for (const ControllerRight& right : NeededRights()) {
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
    const Json* allowed = FindAt(*answer, "/status/allowed");
    if (allowed == nullptr || *allowed != true) out.refused.push_back(right);
  }
}

}  // namespace

Result<Installation> ReadInstallation(Session& session, const std::string& namespace_name,
                                      InstalledManager manager, WallTime now) {
  Installation out{.cluster_name = session.cluster_name(),
                   .namespace_name = namespace_name,
                   .manager = manager,
                   .now = now};
  const auto lists = ListsToExamine(namespace_name);
  std::vector<std::string> paths;
  for (const auto& list : lists) paths.push_back(list.second);
  const std::size_t rest = paths.size();
  for (const std::string& path :
       {std::string("/version"), LeasePath(namespace_name), SecretPath(namespace_name)}) {
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
  if (!out.is_berth_up && manager == InstalledManager::kBerth) AskForRights(session, out);
  return out;
}

}  // namespace berth::view
