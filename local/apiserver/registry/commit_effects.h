// local/apiserver/registry/commit_effects.h — the actions of the server after a write has reached
// the disk.
//
//   CustomResourceDefinition    → served kinds, APIServices
//   ClusterRole                 → rules of aggregated roles
//   ConfigMap kube-root-ca.crt  → restored
//   last instance of a CRD that is being deleted → the CRD goes
//
// Threads: any.
#pragma once

#include <functional>
#include <mutex>
#include <string>

#include "local/apiserver/registry/api_services.h"
#include "local/apiserver/registry/catalog.h"
#include "local/apiserver/registry/cluster_roles.h"
#include "local/apiserver/registry/namespace_objects.h"
#include "local/apiserver/store/store.h"

namespace berth::local {

class CommitEffects {
 public:
  // `finish_crd_deletion`: removes the CRD of this name if it has no instances left.
  CommitEffects(const Store& store, Catalog& catalog, ApiServices& api_services,
                ClusterRoles& cluster_roles, const NamespaceObjects& namespace_objects,
                std::function<void(const std::string& crd_name)> finish_crd_deletion);

  // Whether the answer to a write of `key` waits for its effects: the served kinds change with a
  // CRD, the rights with a cluster role, and a client that has the answer may use them.
  static bool AreAwaited(const ObjectKey& key);
  // Performs the effects of a write of `key`. `deleted`: the write has removed the object.
  void Perform(const ObjectKey& key, bool deleted);

  // Makes the catalog serve the kinds of the stored CRDs.
  void RefreshCatalog();

 private:
  const Store& store_;
  Catalog& catalog_;
  ApiServices& api_services_;
  ClusterRoles& cluster_roles_;
  const NamespaceObjects& namespace_objects_;
  const std::function<void(const std::string&)> finish_crd_deletion_;
  std::mutex refresh_mutex_;  // held while the catalog follows the store
};

}  // namespace berth::local
