#include "local/apiserver/registry/account_volume.h"

#include <algorithm>

#include "local/apiserver/registry/json_access.h"

namespace berth::local {
namespace {

constexpr const char* kTokenPath = "/var/run/secrets/kubernetes.io/serviceaccount";
constexpr const char* kVolumePrefix = "kube-api-access-";
constexpr int kTokenFileMode = 0644;
constexpr int kTokenSeconds = 3607;  // Kubernetes' number, by which tokens of this kind are known

bool WantsToken(const Json& account, const Json& pod) {
  for (const Json* wish : {At(pod, {"spec", "automountServiceAccountToken"}),
                           At(account, {"automountServiceAccountToken"})}) {
    if (wish != nullptr && wish->is_boolean()) return wish->get<bool>();
  }
  return true;
}

std::string KnownTokenVolume(const Json& spec) {
  for (const Json& volume : ArrayAt(spec, {"volumes"})) {
    if (std::string name = TextAt(volume, {"name"}); name.starts_with(kVolumePrefix)) return name;
  }
  return "";
}

bool HasTokenMount(const Json& container) {
  const Json& mounts = ArrayAt(container, {"volumeMounts"});
  return std::any_of(mounts.begin(), mounts.end(),
                     [](const Json& mount) { return TextAt(mount, {"mountPath"}) == kTokenPath; });
}

Json TokenVolume(const std::string& name) {
  const Json key{{"key", "ca.crt"}, {"path", "ca.crt"}};
  const Json field{{"apiVersion", "v1"}, {"fieldPath", "metadata.namespace"}};
  const Json file{{"path", "namespace"}, {"fieldRef", field}};
  Json sources = Json::array();
  sources.push_back(
      {{"serviceAccountToken", {{"expirationSeconds", kTokenSeconds}, {"path", "token"}}}});
  sources.push_back({{"configMap", {{"name", "kube-root-ca.crt"}, {"items", Json::array({key})}}}});
  sources.push_back({{"downwardAPI", {{"items", Json::array({file})}}}});
  return {{"name", name},
          {"projected", {{"defaultMode", kTokenFileMode}, {"sources", std::move(sources)}}}};
}

}  // namespace

void MountAccountToken(const Json& account, const std::function<std::string()>& suffix, Json& pod) {
  if (!WantsToken(account, pod)) return;
  Json& spec = pod["spec"];
  std::string name = KnownTokenVolume(spec);
  const bool is_known = !name.empty();
  if (!is_known) name = kVolumePrefix + suffix();
  bool is_used = false;
  for (const char* list : {"initContainers", "containers"}) {
    const auto containers = spec.find(list);
    if (containers == spec.end() || !containers->is_array()) continue;
    for (Json& container : *containers) {
      if (!container.is_object() || HasTokenMount(container)) continue;
      container["volumeMounts"].push_back(
          Json{{"name", name}, {"readOnly", true}, {"mountPath", kTokenPath}});
      is_used = true;
    }
  }
  if (is_used && !is_known) spec["volumes"].push_back(TokenVolume(name));
}

void AddPullSecrets(const Json& account, Json& pod) {
  const Json& secrets = ArrayAt(account, {"imagePullSecrets"});
  if (secrets.empty() || !ArrayAt(pod, {"spec", "imagePullSecrets"}).empty()) return;
  pod["spec"]["imagePullSecrets"] = secrets;
}

}  // namespace berth::local
