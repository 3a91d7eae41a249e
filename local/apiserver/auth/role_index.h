// local/apiserver/auth/role_index.h — the rights of every user: the stored roles and bindings,
// indexed by subject, namespace and resource.
//
//   request ─▶ names of the user and the user's groups ─▶ grants of the cluster and the namespace
//                                                        └▶ rules that name the resource
//
// The index follows the watch cache: a call sees every write that was answered before the call.
//
// Threads: every function may be called from any thread and does not block on the disk.
// Units: a call takes microseconds with thousands of roles (tests/bench/apiserver/access_bench.cc).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "local/apiserver/auth/policy_rule.h"
#include "local/apiserver/auth/user.h"
#include "local/apiserver/store/watch_cache.h"

namespace berth::local {

// Storage names of the four kinds.
inline constexpr char kRoles[] = "roles.rbac.authorization.k8s.io";
inline constexpr char kClusterRoles[] = "clusterroles.rbac.authorization.k8s.io";
inline constexpr char kRoleBindings[] = "rolebindings.rbac.authorization.k8s.io";
inline constexpr char kClusterRoleBindings[] = "clusterrolebindings.rbac.authorization.k8s.io";
inline constexpr char kRbacGroup[] = "rbac.authorization.k8s.io";

class RoleIndex {
 public:
  // The cache must outlive the index. Nothing is read before the first question.
  explicit RoleIndex(const WatchCache& cache);
  ~RoleIndex();
  RoleIndex(const RoleIndex&) = delete;
  RoleIndex& operator=(const RoleIndex&) = delete;

  // The binding that allows the request: `ClusterRoleBinding "b" of ClusterRole "r" to Group "g"`.
  std::optional<std::string> Allows(const UserInfo& user, const AccessAttributes& attributes);
  // The rules that hold for the user in the whole cluster, and the rules that hold in the namespace
  // ("": no namespace).
  std::vector<PolicyRule> RulesFor(const UserInfo& user, const std::string& namespace_name);
  // The rules of a role; nullopt: there is no such role. `namespace_name` empty: a ClusterRole.
  std::optional<std::vector<PolicyRule>> RulesOfRole(const std::string& namespace_name,
                                                     const std::string& name);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace berth::local
