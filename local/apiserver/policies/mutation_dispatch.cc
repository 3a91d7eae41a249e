#include "local/apiserver/policies/mutation_dispatch.h"

#include <utility>

#include "base/strings.h"
#include "local/apiserver/patch/json_patch.h"
#include "local/apiserver/patch/typed.h"
#include "local/apiserver/policies/policy_params.h"
#include "local/apiserver/registry/admission.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/status_errors.h"
#include "local/apiserver/webhooks/admission_review.h"
#include "local/apiserver/webhooks/match_input.h"

namespace berth::local {
namespace {

constexpr int kMostDepth = 200;

Error Wrong(std::string why) { return {ErrorCode::kInvalid, std::move(why)}; }

// The paths of lists and maps in `patch` that have one owner as a whole: what such a value leaves
// out would be lost.
void FindAtomics(const TypeNode* type, const Json& patch, const std::string& path, int depth,
                 std::vector<std::string>& found) {
  if (type == nullptr || depth > kMostDepth) return;
  if (patch.is_object() && (type->kind == TypeKind::kObject || type->kind == TypeKind::kMap)) {
    if (type->atomic) found.push_back(path);
    for (const auto& [key, value] : patch.items()) {
      FindAtomics(ChildType(*type, key), value, path + "." + key, depth + 1, found);
    }
  } else if (patch.is_array() && type->kind == TypeKind::kList) {
    if (type->list_type == ListType::kAtomic) found.push_back(path);
    for (std::size_t at = 0; at < patch.size(); ++at) {
      FindAtomics(type->element, patch[at], path + "[" + std::to_string(at) + "]", depth + 1,
                  found);
    }
  }
}

Result<Json> MergeInto(const TypeNode* type, const Json& object, Json patch) {
  if (!patch.is_object()) return Wrong("the expression must evaluate to an Object");
  for (const char* field : {"apiVersion", "kind"}) patch[field] = TextAt(object, {field});
  const std::vector<std::string> problems = ValidateTyped(type, patch);
  if (!problems.empty()) {
    return Wrong("error applying patch: failed to convert patch object to typed object: " +
                 Join(problems, "; "));
  }
  std::vector<std::string> atomics;
  FindAtomics(type, patch, "", 0, atomics);
  if (!atomics.empty()) {
    return Wrong(
        "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or "
        "structs: " +
        Join(atomics, ", "));
  }
  return MergeTyped(type, object, patch);
}

// A failed test of a patch leaves the object as it is.
Result<Json> PatchWith(const Json& object, const Json& operations) {
  if (!operations.is_array()) return Wrong("the expression must evaluate to a list of JSONPatch");
  auto patched = ApplyJsonPatch(object, operations);
  if (patched) return std::move(*patched);
  const Json& causes = ArrayAt(patched.error().details, {"causes"});
  const std::string why = causes.empty() ? patched.error().message : TextAt(causes[0], {"message"});
  if (why.starts_with("test failed")) return object;
  return Wrong("JSON Patch: " + why);
}

const TypeNode* TypeIn(const ResourceInfo& resource, const std::string& version) {
  if (version == resource.id.version || resource.crd == nullptr) return resource.type;
  const auto known = resource.crd->versions.find(version);
  const bool has_schema = known != resource.crd->versions.end() && known->second.schema != nullptr;
  return has_schema ? &known->second.schema->root() : nullptr;
}

ApiError Denied(const AdmissionRequest& request, const std::string& policy,
                const std::string& binding, const std::string& why) {
  std::string text = "policy '" + policy + "'";
  if (!binding.empty()) text += " with binding '" + binding + "'";
  text += " denied request: " + why;
  ApiError error = ForbiddenStatus(request.context->resource->id, request.name, text);
  error.reason = "Invalid";
  error.code = 422;
  error.details["causes"] = Json::array({{{"message", std::move(text)}}});
  return error;
}

}  // namespace

ApiResult<std::vector<MutationDispatch::Invocation>> MutationDispatch::Find(
    const AdmissionRequest& request, const Json& object) const {
  std::vector<Invocation> invocations;
  const std::vector<StoredPtr> policies = store_.cache().List(kMutatingPolicies, "").objects;
  if (policies.empty() || IsAdmissionPolicy(*request.context->resource) ||
      request.operation == AdmissionRequest::Operation::kConnect) {
    return invocations;
  }
  const MatchInput match = MakeMatchInput(store_, request, &object);
  const std::vector<StoredPtr> bindings = store_.cache().List(kMutatingPolicyBindings, "").objects;
  for (const StoredPtr& stored : policies) {
    const Object policy = stored->json();
    const Json* constraints =
        policy == nullptr ? nullptr : At(*policy, {"spec", "matchConstraints"});
    const auto version =
        constraints == nullptr ? std::nullopt : MatchResources(*constraints, match);
    if (!version) continue;
    const bool ignores = TextAt(*policy, {"spec", "failurePolicy"}) == "Ignore";
    for (const StoredPtr& other : bindings) {
      const Object binding = other->json();
      if (binding == nullptr || TextAt(*binding, {"spec", "policyName"}) != NameOf(*policy)) {
        continue;
      }
      const Json* resources = At(*binding, {"spec", "matchResources"});
      if (resources != nullptr && !MatchResources(*resources, match)) continue;
      PolicyParams params =
          ParamsOfBinding(store_, converter_, *request.context, *policy, *binding);
      if (!params.error.empty()) {
        if (ignores) continue;
        return Denied(
            request, NameOf(*policy), params.of_policy ? "" : NameOf(*binding),
            (params.of_policy ? "failed to configure policy: " : "failed to configure binding: ") +
                params.error);
      }
      Invocation one{.program = programs_.Of(*stored),
                     .policy = NameOf(*policy),
                     .binding = NameOf(*binding),
                     .version = *version,
                     .params = std::nullopt,
                     .ignores_failures = ignores,
                     .may_repeat = TextAt(*policy, {"spec", "reinvocationPolicy"}) == "IfNeeded",
                     .seen = Json()};
      if (params.none) invocations.push_back(one);
      for (Json& each : params.objects) {
        one.params = std::move(each);
        invocations.push_back(one);
      }
    }
  }
  return invocations;
}

// Performs the mutations on `object`, which is in the version of the invocation.
Status MutationDispatch::PerformIn(const AdmissionRequest& request, const Invocation& invocation,
                                   Json& object, bool& is_changed) const {
  const ResourceInfo& resource = *request.context->resource;
  const Object namespace_json = NamespaceOfRequest(store_, request);
  const WebhookQuestion review = MakeReview(
      request,
      {.uid = "", .version = invocation.version, .object = nullptr, .old_object = nullptr});
  AdmissionVariables variables;
  variables.request = [&review] { return Member(review.envelope, "request"); };
  variables.params = invocation.params ? &*invocation.params : nullptr;
  variables.namespace_object = namespace_json.get();
  variables.roles = &roles_;
  variables.user = &request.context->user;
  variables.resource = ResourceOfRequest(request);
  Json old_object;
  if (request.old_object != nullptr) {
    auto converted = converter_.ConvertOne(resource, *request.old_object,
                                           ApiVersion(resource.id.group, invocation.version));
    if (!converted) return Wrong(converted.error().message);
    old_object = std::move(*converted);
    variables.old_object = &old_object;
  }
  for (std::size_t at = 0; at < invocation.program->mutations(); ++at) {
    variables.object = &object;
    if (at == 0) {
      BERTH_TRY(const bool applies, invocation.program->Applies(variables));
      if (!applies) return OkStatus();
    }
    BERTH_TRY(PolicyMutation mutation, invocation.program->Mutation(at, variables));
    Result<Json> next = mutation.is_patch ? PatchWith(object, mutation.value)
                                          : MergeInto(TypeIn(resource, invocation.version), object,
                                                      std::move(mutation.value));
    if (!next) return next.error();
    is_changed = is_changed || *next != object;
    object = std::move(*next);
  }
  return OkStatus();
}

std::optional<ApiError> MutationDispatch::Perform(const AdmissionRequest& request,
                                                  const Invocation& invocation, Json& object,
                                                  const Accept& accept) const {
  const ResourceInfo& resource = *request.context->resource;
  auto versioned =
      converter_.ConvertOne(resource, object, ApiVersion(resource.id.group, invocation.version));
  if (!versioned) return versioned.error();
  bool is_changed = false;
  if (const Status done = PerformIn(request, invocation, *versioned, is_changed); !done) {
    if (invocation.ignores_failures) return std::nullopt;
    return Denied(request, invocation.policy, invocation.binding, done.error().message);
  }
  if (!is_changed) return std::nullopt;
  auto back = converter_.ConvertOne(resource, std::move(*versioned), resource.api_version());
  if (!back) return back.error();
  object = std::move(*back);
  return accept(object);
}

ApiResult<std::vector<MutationDispatch::Invocation>> MutationDispatch::Mutate(
    const AdmissionRequest& request, Json& object, const Accept& accept) const {
  auto invocations = Find(request, object);
  if (!invocations) return invocations.error();
  for (Invocation& invocation : *invocations) {
    if (auto error = Perform(request, invocation, object, accept)) return *error;
    if (invocation.may_repeat) invocation.seen = object;
  }
  std::erase_if(*invocations, [](const Invocation& one) { return !one.may_repeat; });
  return invocations;
}

std::optional<ApiError> MutationDispatch::Repeat(const AdmissionRequest& request,
                                                 const std::vector<Invocation>& invocations,
                                                 Json& object, const Accept& accept) const {
  for (const Invocation& invocation : invocations) {
    if (invocation.seen == object) continue;
    if (auto error = Perform(request, invocation, object, accept)) return error;
  }
  return std::nullopt;
}

}  // namespace berth::local
