#include "local/apiserver/registry/commit_effects.h"

#include <utility>

#include "local/apiserver/auth/role_index.h"
#include "local/apiserver/registry/crd.h"

namespace berth::local {

CommitEffects::CommitEffects(const Store& store, Catalog& catalog, ApiServices& api_services,
                             ClusterRoles& cluster_roles, const NamespaceObjects& namespace_objects,
                             std::function<void(const std::string& crd_name)> finish_crd_deletion)
    : store_(store),
      catalog_(catalog),
      api_services_(api_services),
      cluster_roles_(cluster_roles),
      namespace_objects_(namespace_objects),
      finish_crd_deletion_(std::move(finish_crd_deletion)) {}

bool CommitEffects::AreAwaited(const ObjectKey& key) {
  return key.resource == kCrdStorage || key.resource == kClusterRoles || IsRootCa(key);
}

void CommitEffects::Perform(const ObjectKey& key, bool deleted) {
  if (key.resource == kCrdStorage) {
    RefreshCatalog();
    api_services_.Register();
    return;
  }
  if (key.resource == kClusterRoles) {
    cluster_roles_.Aggregate();
    return;
  }
  if (IsRootCa(key)) return namespace_objects_.RestoreRootCa(key.namespace_name);
  if (!deleted) return;
  const ResourcePtr resource = catalog_.Current()->FindStored(key.resource);
  if (resource != nullptr && resource->crd != nullptr && resource->crd->terminating) {
    finish_crd_deletion_(resource->crd->crd_name);
  }
}

void CommitEffects::RefreshCatalog() {
  const std::lock_guard lock(refresh_mutex_);
  catalog_.SetCustomKinds(store_.cache().List(kCrdStorage, "").objects);
}

}  // namespace berth::local
