#include "kube/client/kubeconfig.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include <nlohmann/json.hpp>

#include "api/codec/json_write.h"
#include "api/yaml/yaml.h"
#include "base/strings.h"

namespace berth::kube {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxFileBytes = 1024 * 1024;
constexpr char kServiceAccount[] = "/var/run/secrets/kubernetes.io/serviceaccount";
constexpr char kPluginGroup[] = "client.authentication.k8s.io/";

// A kubeconfig file, with the directory of its relative paths.
struct Document {
  Json root;
  std::string directory;
};

// An entry of a list such as "users", with the directory of its file.
struct Entry {
  Json value;
  std::string directory;
};

Error Invalid(const std::string& message) { return {ErrorCode::kInvalid, message}; }

Result<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{ErrorCode::kNotFound, "cannot read " + path};
  std::string text(kMaxFileBytes + 1, '\0');  // a device has no end
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kMaxFileBytes) return Invalid(path + " is larger than 1 MiB");
  return text;
}

std::string Env(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): start-up only
  return value == nullptr ? std::string() : std::string(value);
}

std::string ScalarOf(const Json& object, const char* key) {
  const auto value = object.find(key);
  if (value == object.end() || value->is_null() || value->is_structured()) return {};
  return value->is_string() ? value->get<std::string>() : api::FormatJson(*value);
}

const Json& MemberOf(const Json& object, const char* key) {
  static const Json kNone;
  const auto value = object.find(key);
  return value == object.end() ? kNone : *value;
}

Result<std::vector<std::string>> TextsOf(const Json& object, const char* key) {
  std::vector<std::string> texts;
  const Json& list = MemberOf(object, key);
  if (list.is_null()) return texts;
  if (!list.is_array()) return Invalid(std::string(key) + " must be a list of strings");
  for (const Json& item : list) {
    if (!item.is_string()) return Invalid(std::string(key) + " must be a list of strings");
    texts.push_back(item.get<std::string>());
  }
  return texts;
}

// The member `inner` of the first entry of `list` with the name.
Result<Entry> Find(const std::vector<Document>& documents, const char* list,
                   const std::string& name, const char* inner) {
  for (const Document& document : documents) {
    const Json& entries = MemberOf(document.root, list);
    if (!entries.is_array()) continue;
    for (const Json& entry : entries) {
      if (!entry.is_object() || ScalarOf(entry, "name") != name) continue;
      const Json& value = MemberOf(entry, inner);
      if (value.is_object()) return Entry{value, document.directory};
    }
  }
  return Invalid(std::string(list) + " has no entry \"" + name + "\"");
}

std::string PathOf(const Entry& entry, const char* field) {
  const std::string path = ScalarOf(entry.value, field);
  return path.empty() ? path : (std::filesystem::path(entry.directory) / path).string();
}

// Decodes `field`-data (base64) into `pem`, or else stores the path in `field` in `file`.
Status Material(const Entry& entry, const std::string& field, std::string& pem, std::string& file) {
  if (const std::string data = ScalarOf(entry.value, (field + "-data").c_str()); !data.empty()) {
    std::optional<std::string> decoded = Base64Decode(data);
    if (!decoded) return Invalid(field + "-data is not base64");
    pem = *std::move(decoded);
    return OkStatus();
  }
  file = PathOf(entry, field.c_str());
  return OkStatus();
}

Status ReadCluster(const Entry& cluster, KubeConfig& config) {
  config.server = ScalarOf(cluster.value, "server");
  if (config.server.empty()) return Invalid("the cluster has no server");
  config.server_name = ScalarOf(cluster.value, "tls-server-name");
  config.proxy_url = ScalarOf(cluster.value, "proxy-url");
  if (ScalarOf(cluster.value, "insecure-skip-tls-verify") == "true") {
    return Invalid(
        "insecure-skip-tls-verify is not supported: give certificate-authority-data instead");
  }
  return Material(cluster, "certificate-authority", config.ca_pem, config.ca_file);
}

Result<ExecPlugin::Interactive> InteractiveOf(const Json& exec, const ExecPlugin& plugin) {
  const std::string mode = ScalarOf(exec, "interactiveMode");
  if (mode == "Never") return ExecPlugin::Interactive::kNever;
  if (mode == "Always") return ExecPlugin::Interactive::kAlways;
  if (mode == "IfAvailable") return ExecPlugin::Interactive::kIfAvailable;
  if (mode.empty() && plugin.api_version.ends_with("/v1beta1")) {
    return ExecPlugin::Interactive::kIfAvailable;
  }
  return Invalid("exec.interactiveMode must be Never, IfAvailable or Always");
}

// The cluster entry's configuration for plugins.
std::string PluginConfigOf(const Json& cluster) {
  const Json& extensions = MemberOf(cluster, "extensions");
  if (!extensions.is_array()) return {};
  for (const Json& each : extensions) {
    if (each.is_object() && ScalarOf(each, "name") == std::string(kPluginGroup) + "exec" &&
        each.contains("extension")) {
      return api::FormatJson(each["extension"]);
    }
  }
  return {};
}

Result<ExecPlugin> ReadExec(const Json& exec, const std::string& directory, const Json& cluster) {
  if (!exec.is_object()) return Invalid("exec must be a map");
  ExecPlugin plugin;
  plugin.api_version = ScalarOf(exec, "apiVersion");
  if (plugin.api_version != std::string(kPluginGroup) + "v1" &&
      plugin.api_version != std::string(kPluginGroup) + "v1beta1") {
    return Invalid("exec.apiVersion is \"" + plugin.api_version + "\": " + kPluginGroup + "v1 or " +
                   kPluginGroup + "v1beta1 is understood; a newer version of the plugin has one");
  }
  plugin.command = ScalarOf(exec, "command");
  if (plugin.command.empty()) return Invalid("exec.command must name a program");
  if (plugin.command.find('/') != std::string::npos) {
    plugin.command = (std::filesystem::path(directory) / plugin.command).string();
  }
  Result<std::vector<std::string>> args = TextsOf(exec, "args");
  if (!args) return Annotate(args.error(), "exec");
  plugin.args = *std::move(args);
  const Json& env = MemberOf(exec, "env");
  if (!env.is_null() && !env.is_array()) return Invalid("exec.env must be a list");
  for (const Json& each : env) {
    if (!each.is_object() || ScalarOf(each, "name").empty()) {
      return Invalid("exec.env must be a list of maps with name and value");
    }
    plugin.env.emplace_back(ScalarOf(each, "name"), ScalarOf(each, "value"));
  }
  plugin.install_hint = ScalarOf(exec, "installHint");
  plugin.provide_cluster_info = ScalarOf(exec, "provideClusterInfo") == "true";
  BERTH_TRY(plugin.interactive, InteractiveOf(exec, plugin));
  plugin.cluster_config = PluginConfigOf(cluster);
  return plugin;
}

Result<Impersonation> ReadImpersonation(const Json& user) {
  Impersonation as;
  as.user = ScalarOf(user, "as");
  as.uid = ScalarOf(user, "as-uid");
  BERTH_TRY(as.groups, TextsOf(user, "as-groups"));
  const Json& extra = MemberOf(user, "as-user-extra");
  if (!extra.is_null() && !extra.is_object()) return Invalid("as-user-extra must be a map");
  for (const auto& [key, values] : extra.items()) {
    BERTH_TRY(as.extra[key], TextsOf(extra, key.c_str()));
  }
  if (as.user.empty() && (!as.uid.empty() || !as.groups.empty() || !as.extra.empty())) {
    return Invalid("as-uid, as-groups and as-user-extra need a user in \"as\"");
  }
  return as;
}

Status ReadUser(const Entry& user, const Json& cluster, KubeConfig& config) {
  if (user.value.contains("auth-provider")) {
    return Invalid(
        "the user's auth-provider is not supported: give exec, a token or a client certificate");
  }
  if (user.value.contains("username") || user.value.contains("password")) {
    return Invalid("user name and password are not supported: give a token or a certificate");
  }
  BERTH_CHECK_OK(Material(user, "client-certificate", config.client_certificate_pem,
                          config.client_certificate_file));
  BERTH_CHECK_OK(Material(user, "client-key", config.client_key_pem, config.client_key_file));
  config.bearer_token = ScalarOf(user.value, "token");
  config.token_file = PathOf(user, "tokenFile");
  if (const Json& exec = MemberOf(user.value, "exec"); !exec.is_null()) {
    BERTH_TRY(config.exec, ReadExec(exec, user.directory, cluster));
  }
  BERTH_TRY(config.as, ReadImpersonation(user.value));
  const bool has_certificate =
      !config.client_certificate_pem.empty() || !config.client_certificate_file.empty();
  const bool has_key = !config.client_key_pem.empty() || !config.client_key_file.empty();
  if (has_certificate != has_key) {
    return Invalid("client-certificate and client-key must come together");
  }
  return OkStatus();
}

std::string CurrentContext(const std::vector<Document>& documents) {
  for (const Document& document : documents) {
    if (std::string name = ScalarOf(document.root, "current-context"); !name.empty()) return name;
  }
  return {};
}

Result<KubeConfig> ReadConfig(const std::vector<Document>& documents, const std::string& wanted) {
  KubeConfig config;
  config.context = wanted.empty() ? CurrentContext(documents) : wanted;
  if (config.context.empty()) return Invalid("current-context is not set");
  BERTH_TRY(const Entry context, Find(documents, "contexts", config.context, "context"));
  if (const std::string space = ScalarOf(context.value, "namespace"); !space.empty()) {
    config.namespace_name = space;
  }
  BERTH_TRY(const Entry cluster,
            Find(documents, "clusters", ScalarOf(context.value, "cluster"), "cluster"));
  BERTH_CHECK_OK(ReadCluster(cluster, config));
  if (const std::string name = ScalarOf(context.value, "user"); !name.empty()) {
    BERTH_TRY(const Entry user, Find(documents, "users", name, "user"));
    BERTH_CHECK_OK(ReadUser(user, cluster.value, config));
  }
  BERTH_CHECK_OK(ReadFilesAgain(config));
  return config;
}

Result<Document> ParseDocument(std::string_view text, const std::string& directory) {
  BERTH_TRY(api::YamlDocument yaml, api::ParseYaml(text, {.max_bytes = kMaxFileBytes}));
  if (yaml.value.is_null()) yaml.value = Json::object();  // an empty file
  if (!yaml.value.is_object()) return Invalid("a kubeconfig is a YAML map");
  return Document{std::move(yaml.value), directory};
}

Result<KubeConfig> LoadFiles(const std::vector<std::string>& paths, const std::string& context) {
  std::vector<Document> documents;
  for (const std::string& path : paths) {
    BERTH_TRY(const std::string text, ReadFile(path));
    Result<Document> document =
        ParseDocument(text, std::filesystem::path(path).parent_path().string());
    if (!document) return Annotate(document.error(), path);
    documents.push_back(*std::move(document));
  }
  Result<KubeConfig> config = ReadConfig(documents, context);
  if (!config) return Annotate(config.error(), Join(paths, ", "));
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
  config.ca_file = directory + "/ca.crt";
  config.token_file = directory + "/token";
  BERTH_CHECK_OK(ReadFilesAgain(config));
  if (const Result<std::string> space = ReadFile(directory + "/namespace")) {
    config.namespace_name = std::string(TrimSpace(*space));
  }
  return config;
}

// Reads `file` into `text`; an empty name leaves `text` unchanged.
Status ReadInto(const std::string& file, const char* field, std::string& text) {
  if (file.empty()) return OkStatus();
  Result<std::string> read = ReadFile(file);
  if (!read) return Annotate(read.error(), field);
  if (read->empty()) return Invalid(std::string(field) + ": " + file + " is empty");
  text = *std::move(read);
  return OkStatus();
}

}  // namespace

Status ReadFilesAgain(KubeConfig& config) {
  KubeConfig read = config;
  BERTH_CHECK_OK(ReadInto(read.ca_file, "certificate-authority", read.ca_pem));
  BERTH_CHECK_OK(
      ReadInto(read.client_certificate_file, "client-certificate", read.client_certificate_pem));
  BERTH_CHECK_OK(ReadInto(read.client_key_file, "client-key", read.client_key_pem));
  BERTH_CHECK_OK(ReadInto(read.token_file, "tokenFile", read.bearer_token));
  if (!read.token_file.empty()) read.bearer_token = std::string(TrimSpace(read.bearer_token));
  config = std::move(read);
  return OkStatus();
}

Result<KubeConfig> ParseKubeConfig(std::string_view text, const std::string& directory,
                                   const std::string& context) {
  BERTH_TRY(Document document, ParseDocument(text, directory));
  return ReadConfig({std::move(document)}, context);
}

Result<KubeConfig> FindKubeConfig(const KubeConfigSource& source) {
  if (!source.path.empty()) return LoadFiles({source.path}, source.context);
  std::error_code ignored;
  const std::string listed = Env("KUBECONFIG");
  std::vector<std::string> there;
  for (const std::string_view path : Split(listed, ':')) {
    if (!path.empty() && std::filesystem::exists(path, ignored)) there.emplace_back(path);
  }
  if (!there.empty()) return LoadFiles(there, source.context);
  if (!listed.empty()) {
    return Error{ErrorCode::kNotFound, "KUBECONFIG names no file that exists: " + listed};
  }
  const std::string home = Env("HOME") + "/.kube/config";
  if (std::filesystem::exists(home, ignored)) return LoadFiles({home}, source.context);
  return InCluster();
}

}  // namespace berth::kube
