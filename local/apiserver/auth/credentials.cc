#include "local/apiserver/auth/credentials.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "api/codec/json_write.h"
#include "base/strings.h"
#include "net/certificates.h"
#include "net/signing_key.h"

namespace berth::local {
namespace {

constexpr std::chrono::days kAuthorityDays{3650};
constexpr std::chrono::days kServingDays{365};
constexpr std::chrono::days kRenewBefore{30};
constexpr const char* kMark = "# written by berth ";  // begins files that may be replaced
constexpr const char* kMarkOfUp = "# written by berth up; changes are lost at its next start\n";
constexpr const char* kMarkOfUser = "# written by berth user add\n";

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return file ? text.str() : std::string();
}

Error FileError(const std::string& path, const char* doing) {
  return Error{ErrorCode::kUnavailable,
               std::string("cannot ") + doing + " " + path + ": " + std::strerror(errno)};
}

// The file is never readable by other users, and has the old or the new content, never a part.
Status WriteSecret(const std::string& path, const std::string& text) {
  const std::string draft = path + ".new";
  ::unlink(draft.c_str());
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): the POSIX call
  const int file = ::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return FileError(draft, "write");
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t size = ::write(file, text.data() + written, text.size() - written);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) {
      const Error error = FileError(draft, "write");
      ::close(file);
      ::unlink(draft.c_str());
      return error;
    }
    written += static_cast<std::size_t>(size);
  }
  ::fsync(file);
  ::close(file);
  if (::rename(draft.c_str(), path.c_str()) != 0) return FileError(path, "write");
  return OkStatus();
}

std::string NewToken() {
  std::random_device device;
  std::string bytes;
  for (int i = 0; i < 32; ++i) bytes.push_back(static_cast<char>(device() & 0xFFU));
  return Base64UrlEncode(bytes);
}

std::string HostName() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? std::string(name) : std::string();
}

std::vector<std::string> ServingNames() {
  std::vector<std::string> names{"localhost", "kubernetes", "kubernetes.default",
                                 "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"};
  if (const std::string host = HostName(); !host.empty() && host != "localhost") {
    names.push_back(host);
  }
  return names;
}

// A certificate of an earlier version has fewer names.
bool HasServingNames(const net::TlsIdentity& identity) {
  const auto has = net::CertificateDnsNames(identity.certificate_chain_pem);
  if (!has) return false;
  const std::vector<std::string> wanted = ServingNames();
  return std::all_of(wanted.begin(), wanted.end(), [&](const std::string& name) {
    return std::find(has->begin(), has->end(), name) != has->end();
  });
}

Result<net::TlsIdentity> IssueServing(const net::TlsIdentity& authority, WallTime now) {
  net::CertificateRequest request;
  request.common_name = "berth-apiserver";
  request.dns_names = ServingNames();
  request.ip_addresses = {"127.0.0.1", "::1"};
  request.for_server = true;
  request.not_before = now - net::kClockSlack;
  request.not_after = now + kServingDays;
  return net::IssueCertificate(authority, request);
}

bool IsFresh(const net::TlsIdentity& identity, WallTime now) {
  if (identity.certificate_chain_pem.empty() || identity.private_key_pem.empty()) return false;
  const auto end = net::CertificateEnd(identity.certificate_chain_pem);
  return end && *end > now + kRenewBefore;
}

std::string Quoted(const std::string& text) { return api::FormatJson(text); }

// `secret`: the lines of the user's credentials.
std::string KubeconfigText(const char* mark, const UserKubeconfig& about,
                           const std::string& secret) {
  const std::string user = Quoted(about.user);
  std::string text = mark;
  text +=
      "apiVersion: v1\n"
      "kind: Config\n"
      "current-context: berth\n"
      "clusters:\n"
      "- name: berth\n"
      "  cluster:\n"
      "    server: ";
  text += about.url;
  text += "\n    certificate-authority-data: " + Base64Encode(about.authority_pem);
  text += "\nusers:\n- name: " + user + "\n  user:\n" + secret;
  text +=
      "contexts:\n"
      "- name: berth\n"
      "  context:\n"
      "    cluster: berth\n"
      "    user: ";
  text += user + "\n    namespace: " + Quoted(about.namespace_name) + "\n";
  return text;
}

}  // namespace

Result<Credentials> LoadOrMakeCredentials(const std::string& folder, WallTime now) {
  Credentials credentials;
  const bool kept = !folder.empty();
  if (kept) {
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    if (failed) {
      return Error{ErrorCode::kUnavailable, "cannot make " + folder + ": " + failed.message()};
    }
  }
  const auto read = [&](const char* name) {
    return kept ? ReadFile(folder + "/" + name) : std::string();
  };
  const auto write = [&](const char* name, const std::string& text) {
    return kept ? WriteSecret(folder + "/" + name, text) : OkStatus();
  };
  credentials.authority = {read("ca.crt"), read("ca.key")};
  bool new_authority = false;
  if (!IsFresh(credentials.authority, now)) {
    BERTH_TRY(credentials.authority, net::MakeCertificateAuthority(
                                         "berth-ca", now - net::kClockSlack, now + kAuthorityDays));
    BERTH_CHECK_OK(write("ca.key", credentials.authority.private_key_pem));
    BERTH_CHECK_OK(write("ca.crt", credentials.authority.certificate_chain_pem));
    new_authority = true;
  }
  credentials.serving = {read("serving.crt"), read("serving.key")};
  if (new_authority || !IsFresh(credentials.serving, now) ||
      !HasServingNames(credentials.serving)) {
    BERTH_TRY(credentials.serving, IssueServing(credentials.authority, now));
    BERTH_CHECK_OK(write("serving.key", credentials.serving.private_key_pem));
    BERTH_CHECK_OK(write("serving.crt", credentials.serving.certificate_chain_pem));
  }
  net::TlsIdentity& proxy = credentials.front_proxy_authority;
  proxy = {read("front-proxy-ca.crt"), read("front-proxy-ca.key")};
  if (!IsFresh(proxy, now)) {
    BERTH_TRY(proxy, net::MakeCertificateAuthority("berth-front-proxy-ca", now - net::kClockSlack,
                                                   now + kAuthorityDays));
    BERTH_CHECK_OK(write("front-proxy-ca.key", proxy.private_key_pem));
    BERTH_CHECK_OK(write("front-proxy-ca.crt", proxy.certificate_chain_pem));
  }
  credentials.account_key_pem = read("sa.key");
  if (credentials.account_key_pem.empty()) {
    BERTH_TRY(const net::SigningKey key, net::SigningKey::Make());
    credentials.account_key_pem = key.pem();
    BERTH_CHECK_OK(write("sa.key", credentials.account_key_pem));
  }
  credentials.token = std::string(TrimSpace(read("token")));
  if (credentials.token.empty()) {
    credentials.token = NewToken();
    BERTH_CHECK_OK(write("token", credentials.token + "\n"));
  }
  return credentials;
}

std::string MakeKubeconfig(const Credentials& credentials, const std::string& url) {
  return KubeconfigText(kMarkOfUp,
                        {credentials.authority.certificate_chain_pem, url, "berth", "default"},
                        "    token: " + credentials.token + "\n");
}

Result<net::TlsIdentity> ReadAuthority(const std::string& folder) {
  net::TlsIdentity authority{ReadFile(folder + "/ca.crt"), ReadFile(folder + "/ca.key")};
  if (!authority.certificate_chain_pem.empty() && !authority.private_key_pem.empty()) {
    return authority;
  }
  return Error{ErrorCode::kNotFound, folder +
                                         " has no certificate authority that can be read: start "
                                         "`berth up` with this data directory first"};
}

std::string MakeTokenKubeconfig(const UserKubeconfig& about, const std::string& token) {
  return KubeconfigText(kMarkOfUp, about, "    token: " + token + "\n");
}

std::string MakeUserKubeconfig(const UserKubeconfig& about, const net::TlsIdentity& identity) {
  return KubeconfigText(
      kMarkOfUser, about,
      "    client-certificate-data: " + Base64Encode(identity.certificate_chain_pem) +
          "\n    client-key-data: " + Base64Encode(identity.private_key_pem) + "\n");
}

Status WriteKubeconfig(const std::string& path, const std::string& text) {
  const std::string there = ReadFile(path);
  if (!there.empty() && there.rfind(kMark, 0) != 0) {
    return Error{ErrorCode::kAlreadyExists,
                 path +
                     " is a kubeconfig that Berth has not written; choose another file with "
                     "--kubeconfig"};
  }
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code failed;
  if (!folder.empty()) std::filesystem::create_directories(folder, failed);
  return WriteSecret(path, text);
}

}  // namespace berth::local
