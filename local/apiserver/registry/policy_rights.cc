#include "local/apiserver/registry/policy_rights.h"

#include <string>
#include <string_view>

#include "api/api_version.h"
#include "local/apiserver/auth/authorizer.h"
#include "local/apiserver/policies/mutation_dispatch.h"
#include "local/apiserver/policies/policy_dispatch.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/status_errors.h"

namespace berth::local {
namespace {

// The text that Go prints for a user.
std::string ShownUser(const UserInfo& user) {
  std::string text = "&{" + user.name + " " + user.uid + " [";
  for (std::size_t i = 0; i < user.groups.size(); ++i) {
    text += (i == 0 ? "" : " ") + user.groups[i];
  }
  return text + "] map[]}";
}

// The right to read every object of `kind`, a paramKind; or objects of all kinds where the kind is
// not known.
AccessAttributes ReadAll(const ResourceTable& table, const Json* kind) {
  AccessAttributes asked;
  asked.verb = "get";
  asked.group = asked.version = asked.resource = "*";
  if (kind == nullptr) return asked;
  const std::string api_version = TextAt(*kind, {"apiVersion"});
  asked.group = api::GroupOf(api_version);
  asked.version = api::VersionOf(api_version);
  const ResourcePtr resource = table.FindKind(asked.group, asked.version, TextAt(*kind, {"kind"}));
  if (resource != nullptr) asked.resource = resource->id.resource;
  return asked;
}

const Json* ObjectAt(const Json* object, std::string_view field) {
  if (object == nullptr) return nullptr;
  const Json* found = At(*object, {"spec", field});
  return found == nullptr || !found->is_object() ? nullptr : found;
}

bool SameField(const Json& a, const Json* b, std::string_view field) {
  return b != nullptr && SameAt(a, *b, {"spec", field});
}

}  // namespace

std::optional<ApiError> CheckParamsRights(const Store& store, RoleIndex& roles,
                                          const RequestContext& context, const Json& object,
                                          const Json* old_object) {
  const ResourceInfo& resource = *context.resource;
  const auto refuse = [&](const char* field, const std::string& why) {
    return InvalidStatus(resource.id.group, resource.kind, context.name,
                         {ForbiddenError(field, "user " + ShownUser(context.user) + why)});
  };
  if (resource.storage == kValidatingPolicies || resource.storage == kMutatingPolicies) {
    const Json* kind = ObjectAt(&object, "paramKind");
    if (kind == nullptr || SameField(object, old_object, "paramKind")) return std::nullopt;
    AccessAttributes asked = ReadAll(*context.table, kind);
    asked.namespace_name = asked.name = "*";
    if (Authorize(roles, context.user, asked).allowed) return std::nullopt;
    return refuse(
        "spec.paramKind",
        " must have \"get\" permission on all objects of the referenced paramKind (kind=" +
            TextAt(*kind, {"kind"}) + ", apiVersion=" + TextAt(*kind, {"apiVersion"}) + ")");
  }
  const Json* reference = ObjectAt(&object, "paramRef");
  if (reference == nullptr ||
      (SameField(object, old_object, "paramRef") && SameField(object, old_object, "policyName"))) {
    return std::nullopt;
  }
  const char* policies =
      resource.storage == kMutatingPolicyBindings ? kMutatingPolicies : kValidatingPolicies;
  const StoredPtr stored = store.GetLatest({policies, "", TextAt(object, {"spec", "policyName"})});
  const Object policy = stored == nullptr ? nullptr : stored->json();
  AccessAttributes asked = ReadAll(*context.table, ObjectAt(policy.get(), "paramKind"));
  asked.name = TextAt(*reference, {"name"});
  asked.namespace_name = TextAt(*reference, {"namespace"});
  if (asked.name.empty()) asked.verb = "list";
  if (Authorize(roles, context.user, asked).allowed) return std::nullopt;
  return refuse("spec.paramRef", " does not have \"" + asked.verb +
                                     "\" permission on the object referenced by paramRef");
}

}  // namespace berth::local
