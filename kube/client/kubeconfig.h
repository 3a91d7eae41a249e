// kube/client/kubeconfig.h — the API server's address and the credentials, found as kubectl does.
//
// Read: clusters (server, certificate-authority[-data], tls-server-name, proxy-url), users
// (client-certificate[-data], client-key[-data], token, tokenFile, exec, as, as-groups, as-uid,
// as-user-extra), contexts with a namespace, current-context. Refused with an error:
// insecure-skip-tls-verify, auth-provider plugins, user name and password. Relative paths start at
// the directory of the file that has them.
//
// Errors: kNotFound (no configuration found), kInvalid (with file and field).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace berth::kube {

// A program that returns credentials: client.authentication.k8s.io, v1 and v1beta1.
struct ExecPlugin {
  enum class Interactive { kNever, kIfAvailable, kAlways };

  std::string api_version;
  std::string command;  // searched in PATH where it has no '/'
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;  // added to this process' environment
  std::string install_hint;
  bool provide_cluster_info = false;
  Interactive interactive = Interactive::kIfAvailable;
  std::string cluster_config;  // JSON of the cluster's entry for plugins; empty: none
};

// The user on whose behalf requests are made.
struct Impersonation {
  std::string user;
  std::string uid;
  std::vector<std::string> groups;
  std::map<std::string, std::vector<std::string>> extra;
};

struct KubeConfig {
  std::string context;
  std::string server;  // "https://127.0.0.1:6443"
  std::string server_name;
  std::string
      proxy_url;       // proxy-url of the cluster's entry; empty: HTTPS_PROXY and NO_PROXY decide
  std::string ca_pem;  // empty: the system's roots
  std::string client_certificate_pem;
  std::string client_key_pem;
  std::string bearer_token;
  // The files from which the four fields above were read; empty: the field never changes.
  std::string ca_file;
  std::string client_certificate_file;
  std::string client_key_file;
  std::string token_file;
  std::optional<ExecPlugin> exec;
  Impersonation as;
  std::string namespace_name = "default";
};

struct KubeConfigSource {
  std::string path;     // --kubeconfig; empty: the default search
  std::string context;  // --context; empty: current-context
};

// Parses `text`; relative paths start at `directory`.
Result<KubeConfig> ParseKubeConfig(std::string_view text, const std::string& directory,
                                   const std::string& context);

// Returns the first that exists: source.path; the existing files of KUBECONFIG, merged;
// ~/.kube/config; the service account of this process' pod. If several files have an entry of one
// name, the whole entry of the first file counts.
Result<KubeConfig> FindKubeConfig(const KubeConfigSource& source);

// Reads the files of `config` again. On an error `config` does not change.
Status ReadFilesAgain(KubeConfig& config);

}  // namespace berth::kube
