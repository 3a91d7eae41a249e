// local/apiserver/registry/cluster_roles.h — the cluster roles that the server itself writes: the
// default ones, and the rules of roles with an aggregationRule.
//
// Threads: any.
// Source: Kubernetes "Using RBAC Authorization", default roles and aggregated ClusterRoles.
#pragma once

#include <mutex>

#include "base/clock.h"
#include "base/result.h"
#include "local/apiserver/api.h"
#include "local/apiserver/registry/identifiers.h"
#include "local/apiserver/store/store.h"

namespace berth::local {

// Whether the role has the rules of the roles that it selects.
bool HasAggregationRule(const Json& role);

class ClusterRoles {
 public:
  ClusterRoles(Store& store, const Clock& clock, Identifiers& identifiers)
      : store_(store), clock_(clock), identifiers_(identifiers) {}

  // Creates the default roles and bindings, and adds the missing rules and subjects to stored ones;
  // idempotent.
  Status Bootstrap();
  // Fills the rules of cluster roles with an aggregationRule. A role that a client writes meanwhile
  // is not changed, since the client's write calls Aggregate again.
  void Aggregate();

 private:
  bool AggregateOnce();

  Store& store_;
  const Clock& clock_;
  Identifiers& identifiers_;
  std::mutex mutex_;  // held while roles are aggregated
};

}  // namespace berth::local
