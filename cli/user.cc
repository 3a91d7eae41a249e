// berth user: certificates for people who use the cluster of `berth up` on this machine.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include <CLI/CLI.hpp>

#include "base/strings.h"
#include "base/system_clock.h"
#include "cli/client_flags.h"
#include "cli/completion.h"
#include "kube/client/kubeconfig.h"
#include "local/apiserver/auth/credentials.h"
#include "net/certificates.h"
#include "program/data_directory.h"
#include "view/output.h"

namespace berth::cli {
namespace {

// A user of the cluster of `berth up` on this machine.
struct UserFlags {
  std::string name;
  std::vector<std::string> groups;
  std::string data_dir;    // see UpFlags
  std::string kubeconfig;  // which `berth up` has written; empty: that in the data directory
  std::string namespace_name = "default";
  int days = 365;
  std::string out;  // file to write; empty: standard output
};

constexpr std::string_view kSystemPrefix = "system:";
constexpr std::string_view kMasters = "system:masters";
constexpr std::size_t kLongestName = 64;  // the limit of a certificate's subject
constexpr int kMostDays = 3650;

Error BadUser(std::string message) { return {ErrorCode::kInvalid, std::move(message)}; }

Status CheckName(const std::string& what, const std::string& name) {
  if (name.empty() || name.size() > kLongestName) {
    return BadUser(what + " \"" + name + "\": write 1 to 64 characters");
  }
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; };
  if (std::any_of(name.begin(), name.end(), is_control)) {
    return BadUser(what + " has control characters: leave them out");
  }
  if (name.starts_with(kSystemPrefix) && name != kMasters) {
    return BadUser(what + " \"" + name + "\": names that begin with \"system:\" are the cluster's");
  }
  return OkStatus();
}

Status CheckFlags(const UserFlags& flags) {
  BERTH_CHECK_OK(CheckName("the user's name", flags.name));
  if (flags.name == kMasters) return BadUser("\"system:masters\" is a group, not a user");
  for (const std::string& group : flags.groups) BERTH_CHECK_OK(CheckName("--group", group));
  if (flags.days >= 1 && flags.days <= kMostDays) return OkStatus();
  return BadUser("--days " + std::to_string(flags.days) + ": write 1 to 3650");
}

// The address of the API, from the kubeconfig that `berth up` has written.
Result<std::string> ServerUrl(const UserFlags& flags, const std::string& data_directory) {
  const std::string path =
      flags.kubeconfig.empty() ? data_directory + "/kubeconfig" : flags.kubeconfig;
  const std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) {
    return Error{ErrorCode::kNotFound,
                 path + " cannot be read: say with --kubeconfig which file `berth up` has written"};
  }
  BERTH_TRY(
      const kube::KubeConfig config,
      kube::ParseKubeConfig(text.str(), std::filesystem::path(path).parent_path().string(), ""));
  return config.server;
}

Result<std::string> MakeUser(const UserFlags& flags) {
  BERTH_CHECK_OK(CheckFlags(flags));
  const std::string folder = program::DataDirectory(flags.data_dir);
  BERTH_TRY(const net::TlsIdentity authority, local::ReadAuthority(folder + "/pki"));
  BERTH_TRY(const std::string url, ServerUrl(flags, folder));
  const WallTime now = SystemClock().Now();
  net::CertificateRequest request;
  request.common_name = flags.name;
  request.organizations = flags.groups;
  request.for_client = true;
  request.not_before = now - net::kClockSlack;
  request.not_after = now + std::chrono::days(flags.days);
  BERTH_TRY(const net::TlsIdentity identity, net::IssueCertificate(authority, request));
  return local::MakeUserKubeconfig(
      {authority.certificate_chain_pem, url, flags.name, flags.namespace_name}, identity);
}

int RunUserAdd(const UserFlags& flags) {
  const auto text = MakeUser(flags);
  if (!text) return view::Complain(text.error());
  if (flags.out.empty()) {
    view::Print(*text);
    return view::kExitAnswered;
  }
  const std::string path = std::filesystem::absolute(flags.out).string();
  if (const Status written = local::WriteKubeconfig(path, *text); !written) {
    return view::Complain(written.error());
  }
  view::Print(path + ": kubeconfig of " + flags.name +
              ". It gives no rights of its own: bind roles to the user or its groups, such as\n" +
              "  kubectl create rolebinding " + flags.name + " -n " + flags.namespace_name +
              " --clusterrole edit --user " + flags.name + "\n");
  return view::kExitAnswered;
}

}  // namespace

void AddUser(CLI::App& app, int& exit_code) {
  const auto flags = std::make_shared<UserFlags>();
  CLI::App* command = app.add_subcommand("user", "Users of the cluster that `berth up` runs");
  command->require_subcommand(1);
  CLI::App* add = command->add_subcommand(
      "add", "A certificate and a kubeconfig for one user; rights come from role bindings");
  add->add_option("NAME", flags->name, "name of the user")->required()->type_name("NAME");
  add->add_option("--group", flags->groups, "a group of the user; may be repeated")
      ->type_name("GROUP");
  add->add_option("--data-dir", flags->data_dir,
                  "data directory of `berth up` (default ~/.local/share/berth)")
      ->type_name(kDirectoryValue);
  add->add_option("--kubeconfig", flags->kubeconfig,
                  "kubeconfig that `berth up` has written (default: in the data directory)")
      ->type_name(kFileValue);
  add->add_option("-n,--namespace", flags->namespace_name, "namespace of the kubeconfig")
      ->type_name(kNamespaceValue)
      ->capture_default_str();
  add->add_option("--days", flags->days, "days until the certificate ends")->capture_default_str();
  add->add_option("--out", flags->out, "file to write (default: standard output)")
      ->type_name(kFileValue);
  add->footer(
      "Examples:\n"
      "  berth user add jane --group team-a -n team-a --out jane.kubeconfig\n"
      "  kubectl create rolebinding jane -n team-a --clusterrole edit --user jane");
  add->callback([flags, &exit_code] { exit_code = RunUserAdd(*flags); });
}

}  // namespace berth::cli
