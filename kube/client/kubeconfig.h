// kube/client/kubeconfig.h — where the API server is and who we are, as kubectl finds it.
//
// Understood: clusters (server, certificate-authority[-data], tls-server-name), users
// (client-certificate[-data], client-key[-data], token, tokenFile), contexts with a namespace,
// current-context. Refused with a sentence: insecure-skip-tls-verify, exec and auth-provider
// plugins, user name and password. Relative paths are relative to the file.
//
// Errors: kNotFound (no configuration anywhere), kInvalid (names file and field).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace berth::kube {

struct KubeConfig {
  std::string context;
  std::string server;  // "https://127.0.0.1:6443"
  std::string server_name;
  std::string ca_pem;  // empty: the system's roots
  std::string client_certificate_pem;
  std::string client_key_pem;
  std::string bearer_token;
  std::string token_file;  // read anew as it rotates; empty: bearer_token holds
  std::string namespace_name = "default";
};

struct KubeConfigSource {
  std::string path;     // --kubeconfig; empty: look around
  std::string context;  // --context; empty: current-context
};

// What `text` says; `directory` is where relative paths start.
Result<KubeConfig> ParseKubeConfig(std::string_view text, const std::string& directory,
                                   const std::string& context);

// The first of: source.path, the first file of KUBECONFIG that exists, ~/.kube/config, the service
// account of the pod we run in.
Result<KubeConfig> FindKubeConfig(const KubeConfigSource& source);

}  // namespace berth::kube
