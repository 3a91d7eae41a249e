// local/apiserver/registry/namespace_objects.h — the objects that every namespace has: the
// ServiceAccount default, and the ConfigMap with the certificate authority of this server.
//
// Threads: any.
// Source: Kubernetes' ServiceAccount controller and its root CA publisher, restated.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "local/apiserver/api.h"
#include "local/apiserver/registry/identifiers.h"
#include "local/apiserver/registry/request.h"
#include "local/apiserver/store/store.h"

namespace berth::local {

// Whether `key` names the ConfigMap kube-root-ca.crt of some namespace.
bool IsRootCa(const ObjectKey& key);

class NamespaceObjects {
 public:
  NamespaceObjects(Store& store, const Clock& clock, Identifiers& identifiers,
                   std::string root_ca_pem)
      : store_(store),
        clock_(clock),
        identifiers_(identifiers),
        root_ca_pem_(std::move(root_ca_pem)) {}

  // The further writes that the creation of `object` needs: if it is a namespace, the objects that
  // every namespace has.
  std::vector<Write> CompanionsOf(const RequestContext& context, const Json& object) const;
  // Writes the ConfigMap again if it is missing or has other data. After a failed write the next
  // change of the ConfigMap tries again.
  void RestoreRootCa(const std::string& namespace_name) const;

 private:
  Json RootCa() const;

  Store& store_;
  const Clock& clock_;
  Identifiers& identifiers_;
  const std::string root_ca_pem_;
};

}  // namespace berth::local
