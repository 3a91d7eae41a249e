// Roles and bindings: the default ones, roles that collect others, and the checks that nobody
// grants more than they have.
#include <algorithm>

#include "base/rfc3339.h"
#include "local/apiserver/auth/authorizer.h"
#include "local/apiserver/auth/default_roles.h"
#include "local/apiserver/registry/errors.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/registry.h"
#include "local/apiserver/schema/item_index.h"

namespace berth::local {
namespace {

constexpr int kMostRounds = 16;  // rounds of roles that collect roles that collect roles

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

bool Collects(const Json& role) {
  return !ArrayAt(role, {"aggregationRule", "clusterRoleSelectors"}).empty();
}

const Json& LabelsOf(const Json& object) {
  static const Json kNone;
  const Json* labels = At(object, {"metadata", "labels"});
  return labels == nullptr ? kNone : *labels;
}

// The rules of the roles that `role` selects, in the order of their names.
Json CollectedRules(const Json& role, const std::vector<Object>& all) {
  Json rules = Json::array();
  ItemIndex known({}, ItemIndex::Absent::kNoItem);
  for (const Json& text : ArrayAt(role, {"aggregationRule", "clusterRoleSelectors"})) {
    const auto selector = LabelSelectorFromJson(text);
    if (!selector) continue;
    for (const Object& other : all) {
      if (NameOf(*other) == NameOf(role) || !Matches(*selector, LabelsOf(*other))) continue;
      for (const Json& rule : ArrayAt(*other, {"rules"})) {
        if (known.Find(rule)) continue;
        known.Add(rule, rules.size());
        rules.push_back(rule);
      }
    }
  }
  return rules;
}

}  // namespace

std::optional<ApiError> Registry::CheckMayCreate(const RequestContext& context) {
  const ResourceId& id = context.resource->id;
  AccessAttributes create{.verb = "create",
                          .group = id.group,
                          .version = id.version,
                          .resource = id.resource,
                          .namespace_name = context.namespace_name,
                          .name = context.name};
  return CheckAccess(roles_, context.user, create);
}

std::optional<ApiError> Registry::CheckGrants(const RequestContext& context,
                                              const std::vector<PolicyRule>& rules) {
  const std::vector<std::string> missing =
      MissingRights(roles_.RulesFor(context.user, context.namespace_name), rules);
  if (missing.empty()) return std::nullopt;
  std::string why = "user " + GoQuote(context.user.name) +
                    " (groups=" + QuotedGroups(context.user) +
                    ") is attempting to grant RBAC permissions not currently held:";
  for (const std::string& line : missing) why += "\n" + line;
  return ForbiddenStatus(context.resource->id, context.name, why);
}

std::optional<ApiError> Registry::CheckRole(const RequestContext& context, const Json& role,
                                            const Json* old_role) {
  const ResourceId& id = context.resource->id;
  AccessAttributes escalate{.verb = "escalate",
                            .group = id.group,
                            .version = id.version,
                            .resource = id.resource,
                            .namespace_name = context.namespace_name,
                            .name = old_role == nullptr ? std::string() : context.name};
  if (Authorize(roles_, context.user, escalate).allowed) return std::nullopt;
  if (auto error = CheckGrants(context, RulesOf(role))) return error;
  if (!Collects(role) && (old_role == nullptr || !Collects(*old_role))) return std::nullopt;
  const std::vector<PolicyRule> everything = {
      {.verbs = {"*"}, .groups = {"*"}, .resources = {"*"}, .names = {}, .paths = {}},
      {.verbs = {"*"}, .groups = {}, .resources = {}, .names = {}, .paths = {"*"}}};
  if (!CheckGrants(context, everything)) return std::nullopt;
  return ForbiddenStatus(id, context.name,
                         "must have cluster-admin privileges to use the aggregationRule");
}

std::optional<ApiError> Registry::CheckBinding(const RequestContext& context, const Json& binding) {
  const bool is_cluster_role = TextAt(binding, {"roleRef", "kind"}) == "ClusterRole";
  const ResourceId role{kRbacGroup, "v1", is_cluster_role ? "clusterroles" : "roles"};
  const std::string name = TextAt(binding, {"roleRef", "name"});
  const AccessAttributes bind{.verb = "bind",
                              .group = role.group,
                              .version = role.version,
                              .resource = role.resource,
                              .subresource = "",
                              .namespace_name = context.namespace_name,
                              .name = name,
                              .path = ""};
  if (Authorize(roles_, context.user, bind).allowed) return std::nullopt;
  const auto rules = roles_.RulesOfRole(is_cluster_role ? "" : context.namespace_name, name);
  // kube-apiserver names the resource of the request.
  if (!rules) return NotFoundStatus(context.resource->id, name);
  return CheckGrants(context, *rules);
}

std::optional<ApiError> Registry::CheckEscalation(const RequestContext& context, const Json& object,
                                                  const Json* old_object) {
  const ResourceInfo& resource = *context.resource;
  if (IsMaster(context.user)) return std::nullopt;
  if (resource.storage == kValidatingPolicies || resource.storage == kValidatingPolicyBindings) {
    return CheckParamsAccess(context, object, old_object);
  }
  if (resource.id.group != kRbacGroup) return std::nullopt;
  if (old_object != nullptr && WithoutHousekeeping(object) == WithoutHousekeeping(*old_object)) {
    return std::nullopt;
  }
  if (resource.storage == kRoles || resource.storage == kClusterRoles) {
    return CheckRole(context, object, old_object);
  }
  return CheckBinding(context, object);
}

bool Registry::CollectOnce() {
  std::vector<Object> all;
  std::vector<StoredPtr> collecting;
  for (const StoredPtr& stored : store_.cache().List(kClusterRoles, "").objects) {
    Object role = stored->json();
    if (role == nullptr) continue;
    if (Collects(*role)) collecting.push_back(stored);
    all.push_back(std::move(role));
  }
  bool changed = false;
  for (const StoredPtr& stored : collecting) {
    Json next = *stored->json();
    Json rules = CollectedRules(next, all);
    if (ArrayAt(next, {"rules"}) == rules) continue;
    next["rules"] = std::move(rules);
    changed = true;
    // A client has written the role meanwhile: its write collects again.
    if (!store_.Commit(
            {{Write::Kind::kUpdate, stored->key(), std::move(next), stored->revision()}})) {
      return false;
    }
  }
  return changed;
}

void Registry::CollectRoles() {
  const std::lock_guard lock(collect_mutex_);
  for (int round = 0; round < kMostRounds && CollectOnce(); ++round) {
  }
}

Status Registry::BootstrapRoles() {
  std::vector<Write> writes;
  const auto add = [&](const char* resource, const std::vector<Json>& wanted) {
    for (const Json& one : wanted) {
      const ObjectKey key{resource, "", NameOf(one)};
      const StoredPtr stored = store_.GetLatest(key);
      const Object known = stored == nullptr ? nullptr : stored->json();
      if (known != nullptr) {
        Json next = WithDefaults(*known, one);
        if (next != *known) {
          writes.push_back({Write::Kind::kUpdate, key, std::move(next), stored->revision()});
        }
        continue;
      }
      Json object = one;
      object["metadata"]["uid"] = NewUid();
      object["metadata"]["creationTimestamp"] = FormatTime(Now());
      writes.push_back({Write::Kind::kCreate, key, std::move(object), 0});
    }
  };
  add(kClusterRoles, DefaultClusterRoles());
  add(kClusterRoleBindings, DefaultClusterRoleBindings());
  if (!writes.empty()) {
    if (auto done = store_.Commit(std::move(writes)); !done) return done.error();
  }
  CollectRoles();
  return OkStatus();
}

}  // namespace berth::local
