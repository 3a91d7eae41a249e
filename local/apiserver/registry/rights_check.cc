#include "local/apiserver/registry/rights_check.h"

#include <string>
#include <utility>

#include "local/apiserver/auth/authorizer.h"
#include "local/apiserver/policies/mutation_dispatch.h"
#include "local/apiserver/policies/policy_dispatch.h"
#include "local/apiserver/registry/cluster_roles.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/policy_rights.h"
#include "local/apiserver/registry/status_errors.h"

namespace berth::local {
namespace {

// The object without what only its deletion and its bookkeeping change.
Json WithoutHousekeeping(Json object) {
  for (const char* field :
       {"ownerReferences", "finalizers", "managedFields", "resourceVersion", "generation"}) {
    object["metadata"].erase(field);
  }
  return object;
}

std::string QuotedGroups(const UserInfo& user) {
  std::string list;
  for (const std::string& group : user.groups) {
    list += (list.empty() ? "" : " ") + GoQuote(group);
  }
  return "[" + list + "]";
}

AccessAttributes AttributesOf(const RequestContext& context, std::string verb,
                              const ResourceId& resource, std::string name) {
  return {.verb = std::move(verb),
          .group = resource.group,
          .version = resource.version,
          .resource = resource.resource,
          .subresource = "",
          .namespace_name = context.namespace_name,
          .name = std::move(name),
          .path = ""};
}

}  // namespace

std::optional<ApiError> RightsCheck::CheckMayCreate(const RequestContext& context) const {
  const AccessAttributes create =
      AttributesOf(context, "create", context.resource->id, context.name);
  return CheckAccess(roles_, context.user, create);
}

std::optional<ApiError> RightsCheck::CheckGrants(const RequestContext& context,
                                                 const std::vector<PolicyRule>& rules) const {
  const std::vector<std::string> missing =
      MissingRights(roles_.RulesFor(context.user, context.namespace_name), rules);
  if (missing.empty()) return std::nullopt;
  std::string why = "user " + GoQuote(context.user.name) +
                    " (groups=" + QuotedGroups(context.user) +
                    ") is attempting to grant RBAC permissions not currently held:";
  for (const std::string& line : missing) why += "\n" + line;
  return ForbiddenStatus(context.resource->id, context.name, why);
}

std::optional<ApiError> RightsCheck::CheckRole(const RequestContext& context, const Json& role,
                                               const Json* old_role) const {
  const ResourceId& id = context.resource->id;
  const AccessAttributes escalate =
      AttributesOf(context, "escalate", id, old_role == nullptr ? std::string() : context.name);
  if (Authorize(roles_, context.user, escalate).allowed) return std::nullopt;
  if (auto error = CheckGrants(context, RulesOf(role))) return error;
  if (!HasAggregationRule(role) && (old_role == nullptr || !HasAggregationRule(*old_role)))
    return std::nullopt;
  const std::vector<PolicyRule> everything = {
      {.verbs = {"*"}, .groups = {"*"}, .resources = {"*"}, .names = {}, .paths = {}},
      {.verbs = {"*"}, .groups = {}, .resources = {}, .names = {}, .paths = {"*"}}};
  if (!CheckGrants(context, everything)) return std::nullopt;
  return ForbiddenStatus(id, context.name,
                         "must have cluster-admin privileges to use the aggregationRule");
}

std::optional<ApiError> RightsCheck::CheckBinding(const RequestContext& context,
                                                  const Json& binding) const {
  const bool is_cluster_role = TextAt(binding, {"roleRef", "kind"}) == "ClusterRole";
  const ResourceId role{kRbacGroup, "v1", is_cluster_role ? "clusterroles" : "roles"};
  const std::string name = TextAt(binding, {"roleRef", "name"});
  const AccessAttributes bind = AttributesOf(context, "bind", role, name);
  if (Authorize(roles_, context.user, bind).allowed) return std::nullopt;
  const auto rules = roles_.RulesOfRole(is_cluster_role ? "" : context.namespace_name, name);
  // kube-apiserver names the resource of the request.
  if (!rules) return NotFoundStatus(context.resource->id, name);
  return CheckGrants(context, *rules);
}

std::optional<ApiError> RightsCheck::CheckEscalation(const RequestContext& context,
                                                     const Json& object,
                                                     const Json* old_object) const {
  const ResourceInfo& resource = *context.resource;
  if (IsMaster(context.user)) return std::nullopt;
  const auto& storage = resource.storage;
  if (storage == kValidatingPolicies || storage == kValidatingPolicyBindings ||
      storage == kMutatingPolicies || storage == kMutatingPolicyBindings) {
    return CheckParamsRights(store_, roles_, context, object, old_object);
  }
  if (resource.id.group != kRbacGroup) return std::nullopt;
  if (old_object != nullptr && WithoutHousekeeping(object) == WithoutHousekeeping(*old_object)) {
    return std::nullopt;
  }
  if (storage == kRoles || storage == kClusterRoles) {
    return CheckRole(context, object, old_object);
  }
  return CheckBinding(context, object);
}

}  // namespace berth::local
