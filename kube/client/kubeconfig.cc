#include "kube/client/kubeconfig.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include <nlohmann/json.hpp>

#include "api/yaml/yaml.h"
#include "base/strings.h"

namespace berth::kube {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxFileBytes = 1024 * 1024;
constexpr char kServiceAccount[] = "/var/run/secrets/kubernetes.io/serviceaccount";

Error Invalid(const std::string& message) { return {ErrorCode::kInvalid, message}; }

Result<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{ErrorCode::kNotFound, "cannot read " + path};
  std::ostringstream text;
  text << file.rdbuf();
  if (text.str().size() > kMaxFileBytes) return Invalid(path + " is larger than 1 MiB");
  return text.str();
}

std::string Env(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): start-up only
  return value == nullptr ? std::string() : std::string(value);
}

// The member `key` of a map; null where there is none.
const Json& Member(const Json& node, const char* key) {
  static const Json kNone;
  const auto found = node.find(key);
  return found == node.end() ? kNone : *found;
}

// A name or token of digits is a number in YAML.
std::string TextOf(const Json& node, const char* key) {
  const Json& value = Member(node, key);
  if (value.is_string()) return value.get<std::string>();
  return value.is_number() || value.is_boolean() ? value.dump() : std::string();
}

// The `inner` map of the entry of `list` that is called `name`.
Result<Json> Entry(const Json& root, const char* list, const std::string& name, const char* inner) {
  const Json& entries = Member(root, list);
  if (!entries.is_structured())
    return Invalid(std::string(list) + " has no entry \"" + name + "\"");
  for (const Json& entry : entries) {
    if (entry.is_object() && TextOf(entry, "name") == name && Member(entry, inner).is_object()) {
      return Member(entry, inner);
    }
  }
  return Invalid(std::string(list) + " has no entry \"" + name + "\"");
}

// `field`-data as base64, or the file that `field` names; empty where neither is given.
Result<std::string> Material(const Json& node, const std::string& field,
                             const std::string& directory) {
  if (const std::string data = TextOf(node, (field + "-data").c_str()); !data.empty()) {
    std::optional<std::string> decoded = Base64Decode(data);
    if (!decoded) return Invalid(field + "-data is not base64");
    return *std::move(decoded);
  }
  const std::string path = TextOf(node, field.c_str());
  if (path.empty()) return std::string();
  Result<std::string> text = ReadFile(std::filesystem::path(directory) / path);
  if (!text) return Annotate(text.error(), field);
  return text;
}

Status ReadCluster(const Json& cluster, const std::string& directory, KubeConfig& config) {
  config.server = TextOf(cluster, "server");
  if (config.server.empty()) return Invalid("the cluster has no server");
  config.server_name = TextOf(cluster, "tls-server-name");
  if (TextOf(cluster, "insecure-skip-tls-verify") == "true") {
    return Invalid(
        "insecure-skip-tls-verify is not supported: give certificate-authority-data instead");
  }
  BERTH_TRY(config.ca_pem, Material(cluster, "certificate-authority", directory));
  return OkStatus();
}

Status ReadUser(const Json& user, const std::string& directory, KubeConfig& config) {
  for (const char* field : {"exec", "auth-provider"}) {
    if (!Member(user, field).is_null()) {
      return Invalid(std::string("the user's ") + field +
                     " is not supported: give a token or a client certificate");
    }
  }
  if (!Member(user, "username").is_null()) {
    return Invalid("user name and password are not supported: give a token or a certificate");
  }
  BERTH_TRY(config.client_certificate_pem, Material(user, "client-certificate", directory));
  BERTH_TRY(config.client_key_pem, Material(user, "client-key", directory));
  if (config.client_certificate_pem.empty() != config.client_key_pem.empty()) {
    return Invalid("client-certificate and client-key must come together");
  }
  config.bearer_token = TextOf(user, "token");
  if (const std::string path = TextOf(user, "tokenFile"); !path.empty()) {
    config.token_file = std::filesystem::path(directory) / path;
    BERTH_TRY(const std::string token, ReadFile(config.token_file));
    config.bearer_token = std::string(TrimSpace(token));
  }
  return OkStatus();
}

Result<KubeConfig> ReadConfig(const Json& root, const std::string& directory,
                              const std::string& wanted_context) {
  if (!root.is_object()) return Invalid("a kubeconfig is a YAML map");
  KubeConfig config;
  config.context = wanted_context.empty() ? TextOf(root, "current-context") : wanted_context;
  if (config.context.empty()) return Invalid("current-context is not set");
  BERTH_TRY(const Json context, Entry(root, "contexts", config.context, "context"));
  if (const std::string space = TextOf(context, "namespace"); !space.empty()) {
    config.namespace_name = space;
  }
  BERTH_TRY(const Json cluster, Entry(root, "clusters", TextOf(context, "cluster"), "cluster"));
  BERTH_CHECK_OK(ReadCluster(cluster, directory, config));
  if (const std::string name = TextOf(context, "user"); !name.empty()) {
    BERTH_TRY(const Json user, Entry(root, "users", name, "user"));
    BERTH_CHECK_OK(ReadUser(user, directory, config));
  }
  return config;
}

Result<KubeConfig> LoadFile(const std::string& path, const std::string& context) {
  BERTH_TRY(const std::string text, ReadFile(path));
  Result<KubeConfig> config =
      ParseKubeConfig(text, std::filesystem::path(path).parent_path().string(), context);
  if (!config) return Annotate(config.error(), path);
  return config;
}

Result<KubeConfig> InCluster() {
  const std::string host = Env("KUBERNETES_SERVICE_HOST");
  const std::string port = Env("KUBERNETES_SERVICE_PORT");
  const std::string directory = kServiceAccount;
  if (host.empty() || port.empty() || !std::filesystem::exists(directory + "/token")) {
    return Error{ErrorCode::kNotFound,
                 "no kubeconfig: give --kubeconfig, set KUBECONFIG, or create ~/.kube/config"};
  }
  KubeConfig config;
  config.context = "in-cluster";
  const bool is_ipv6 = host.find(':') != std::string::npos;
  config.server = "https://" + (is_ipv6 ? "[" + host + "]" : host) + ":" + port;
  BERTH_TRY(config.ca_pem, ReadFile(directory + "/ca.crt"));
  config.token_file = directory + "/token";
  BERTH_TRY(const std::string token, ReadFile(config.token_file));
  config.bearer_token = std::string(TrimSpace(token));
  if (const Result<std::string> space = ReadFile(directory + "/namespace")) {
    config.namespace_name = std::string(TrimSpace(*space));
  }
  return config;
}

}  // namespace

Result<KubeConfig> ParseKubeConfig(std::string_view text, const std::string& directory,
                                   const std::string& context) {
  BERTH_TRY(const api::YamlDocument document, api::ParseYaml(text, {.max_bytes = kMaxFileBytes}));
  return ReadConfig(document.value, directory, context);
}

Result<KubeConfig> FindKubeConfig(const KubeConfigSource& source) {
  if (!source.path.empty()) return LoadFile(source.path, source.context);
  std::error_code ignored;
  const std::string listed = Env("KUBECONFIG");
  for (const std::string_view path : Split(listed, ':')) {
    if (!path.empty() && std::filesystem::exists(path, ignored)) {
      return LoadFile(std::string(path), source.context);
    }
  }
  if (!listed.empty()) {
    return Error{ErrorCode::kNotFound, "KUBECONFIG names no file that exists: " + listed};
  }
  const std::string home = Env("HOME") + "/.kube/config";
  if (std::filesystem::exists(home, ignored)) return LoadFile(home, source.context);
  return InCluster();
}

}  // namespace berth::kube
