#include "local/apiserver/registry/bootstrap.h"

#include <string>
#include <utility>

#include "base/log/log.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/registry.h"

namespace berth::local {
namespace {

constexpr char kExtensionAuthentication[] = "extension-apiserver-authentication";

// The ConfigMap that servers of extensions read at their start.
Status BootstrapExtensionAuthentication(Registry& registry, const ClusterAuthorities& authorities) {
  Json data{{"client-ca-file", authorities.root_ca_pem}};
  if (!authorities.front_proxy_ca_pem.empty()) {
    data["requestheader-client-ca-file"] = authorities.front_proxy_ca_pem;
    data["requestheader-allowed-names"] = "[\"" + std::string(kFrontProxyName) + "\"]";
    data["requestheader-username-headers"] = "[\"X-Remote-User\"]";
    data["requestheader-uid-headers"] = "[\"X-Remote-Uid\"]";
    data["requestheader-group-headers"] = "[\"X-Remote-Group\"]";
    data["requestheader-extra-headers-prefix"] = "[\"X-Remote-Extra-\"]";
  }
  RequestContext context;
  context.table = registry.table();
  context.resource = context.table->Find({"", "v1", "configmaps"});
  context.namespace_name = "kube-system";
  context.name = kExtensionAuthentication;
  const StoredPtr stored = registry.store().GetLatest(context.key());
  const Object known = stored == nullptr ? nullptr : stored->json();
  if (known != nullptr && known->value("data", Json()) == data) return OkStatus();
  Json object{{"metadata", {{"name", context.name}, {"namespace", context.namespace_name}}},
              {"data", std::move(data)}};
  const auto written = stored != nullptr
                           ? registry.Patch(context, {PatchType::kMerge, {std::move(object), {}}})
                           : registry.Create(context, {std::move(object), {}});
  if (written || written.error().reason == "AlreadyExists") return OkStatus();
  if (stored == nullptr) return Error{ErrorCode::kUnavailable, written.error().message};
  // Somebody has made it immutable: servers of extensions trust the authorities that it names.
  LogWarning("the authorities of clients and of the front proxy were not renewed",
             {{"configmap", context.name}, {"error", written.error().message}});
  return OkStatus();
}

}  // namespace

// Namespaces are created by Create, which adds their service account.
Status BootstrapCluster(Registry& registry, const ClusterAuthorities& authorities) {
  const auto create = [&](const ResourceId& id, Json object) -> Status {
    RequestContext context;
    context.table = registry.table();
    context.resource = context.table->Find(id);
    context.name = NameOf(object);
    if (registry.store().GetLatest(context.key()) != nullptr) return OkStatus();
    auto created = registry.Create(context, {std::move(object), {}});
    if (!created && created.error().reason != "AlreadyExists") {
      return Error{ErrorCode::kUnavailable, created.error().message};
    }
    return OkStatus();
  };
  for (const char* name : {"default", "kube-system", "kube-public", "kube-node-lease"}) {
    BERTH_CHECK_OK(create({"", "v1", "namespaces"}, {{"metadata", {{"name", name}}}}));
  }
  const ResourceId priorities{"scheduling.k8s.io", "v1", "priorityclasses"};
  BERTH_CHECK_OK(create(priorities, {{"metadata", {{"name", "system-cluster-critical"}}},
                                     {"value", 2000000000},
                                     {"description",
                                      "Used for system critical pods that must run "
                                      "in the cluster, but can be moved to another "
                                      "node if necessary."}}));
  BERTH_CHECK_OK(create(priorities, {{"metadata", {{"name", "system-node-critical"}}},
                                     {"value", 2000001000},
                                     {"description",
                                      "Used for system critical pods that must not be moved "
                                      "from their current node."}}));
  BERTH_CHECK_OK(BootstrapExtensionAuthentication(registry, authorities));
  Json metadata = {{"name", kExtensionAuthentication}, {"namespace", "kube-system"}};
  metadata["name"] = std::string(kExtensionAuthentication) + "-reader";
  metadata["labels"] = {{"kubernetes.io/bootstrapping", "rbac-defaults"}};
  metadata["annotations"] = {{"rbac.authorization.kubernetes.io/autoupdate", "true"}};
  return create({"rbac.authorization.k8s.io", "v1", "roles"},
                {{"metadata", metadata},
                 {"rules", Json::array({{{"apiGroups", {""}},
                                         {"resources", {"configmaps"}},
                                         {"resourceNames", {kExtensionAuthentication}},
                                         {"verbs", {"get", "list", "watch"}}}})}});
}

}  // namespace berth::local
