#include "local/apiserver/http/reviews.h"

#include <algorithm>
#include <optional>

#include "local/apiserver/auth/authorizer.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/schema/field_error.h"

namespace berth::local {
namespace {

Json UserJson(const UserInfo& user) {
  Json json{{"username", user.name}, {"groups", user.groups}};
  if (!user.uid.empty()) json["uid"] = user.uid;
  if (!user.extra.empty()) json["extra"] = user.extra;
  return json;
}

ApiError InvalidReview(const RequestContext& context, const Cause& cause) {
  return InvalidStatus(context.resource->id.group, context.resource->kind, "", {cause});
}

ApiResult<Json> TokenStatus(const Authenticator& authenticator, const Json& spec) {
  const std::string token = TextAt(spec, {"token"});
  if (token.empty()) return BadRequest("token is required for TokenReview in authentication");
  std::vector<std::string> audiences;
  for (const Json& audience : ArrayAt(spec, {"audiences"})) {
    if (audience.is_string()) audiences.push_back(audience.get<std::string>());
  }
  const Authenticator::TokenAnswer answer = authenticator.Review(token, audiences);
  if (!answer.user) {
    return Json{{"authenticated", false}, {"user", Json::object()}, {"error", answer.error}};
  }
  return Json{
      {"authenticated", true}, {"user", UserJson(*answer.user)}, {"audiences", answer.audiences}};
}

// Reads exactly one of the two attributes of a SubjectAccessReview or SelfSubjectAccessReview.
ApiResult<AccessAttributes> AttributesOf(const RequestContext& context, const Json& spec) {
  const Json* resource = Member(spec, "resourceAttributes");
  const Json* path = Member(spec, "nonResourceAttributes");
  const bool has_resource = resource != nullptr && resource->is_object();
  const bool has_path = path != nullptr && path->is_object();
  if (has_resource == has_path) {
    return InvalidReview(
        context, InvalidError("spec.resourceAttributes", resource == nullptr ? Json() : *resource,
                              "exactly one of nonResourceAttributes or resourceAttributes must be "
                              "specified"));
  }
  if (has_path) {
    AccessAttributes attributes;
    attributes.verb = TextAt(*path, {"verb"});
    attributes.path = TextAt(*path, {"path"});
    return attributes;
  }
  AccessAttributes attributes;
  attributes.verb = TextAt(*resource, {"verb"});
  attributes.group = TextAt(*resource, {"group"});
  attributes.version = TextAt(*resource, {"version"});
  attributes.resource = TextAt(*resource, {"resource"});
  attributes.subresource = TextAt(*resource, {"subresource"});
  attributes.namespace_name = TextAt(*resource, {"namespace"});
  attributes.name = TextAt(*resource, {"name"});
  // An empty resource is one that no role names; an empty one here would be a question about a
  // path.
  if (attributes.resource.empty()) attributes.resource = " ";
  return attributes;
}

ApiResult<UserInfo> SubjectOf(const RequestContext& context, const Json& spec) {
  UserInfo user;
  user.name = TextAt(spec, {"user"});
  user.uid = TextAt(spec, {"uid"});
  user.groups.clear();
  for (const Json& group : ArrayAt(spec, {"groups"})) {
    if (group.is_string()) user.groups.push_back(group.get<std::string>());
  }
  const Json* extra = Member(spec, "extra");
  if (extra != nullptr && extra->is_object()) {
    for (const auto& [key, values] : extra->items()) {
      for (const Json& value : values) {
        if (value.is_string()) user.extra[key].push_back(value.get<std::string>());
      }
    }
  }
  if (user.name.empty() && user.groups.empty()) {
    return InvalidReview(
        context, InvalidError("spec.user", "", "at least one of user or group must be specified"));
  }
  return user;
}

Json AccessStatus(const Access& access) {
  Json status{{"allowed", access.allowed}};
  if (!access.reason.empty()) status["reason"] = access.reason;
  return status;
}

// LocalSubjectAccessReview: the namespace of the question is that of the review.
std::optional<ApiError> CheckLocal(const RequestContext& context, const Json& spec) {
  if (Member(spec, "nonResourceAttributes") != nullptr) {
    return InvalidReview(context,
                         InvalidError("spec.nonResourceAttributes", spec["nonResourceAttributes"],
                                      "disallowed on this kind of request"));
  }
  const std::string asked = TextAt(spec, {"resourceAttributes", "namespace"});
  if (asked == context.namespace_name) return std::nullopt;
  return BadRequest("spec.resourceAttributes.namespace must match namespace: " +
                    context.namespace_name);
}

std::vector<PolicyRule> RulesOfUser(RoleIndex& roles, const UserInfo& user,
                                    const std::string& namespace_name) {
  std::vector<PolicyRule> rules = roles.RulesFor(user, namespace_name);
  if (!IsMaster(user)) return rules;
  const PolicyRule everything{
      .verbs = {"*"}, .groups = {"*"}, .resources = {"*"}, .names = {}, .paths = {}};
  if (std::find(rules.begin(), rules.end(), everything) == rules.end()) {
    rules.push_back(everything);
    rules.push_back({.verbs = {"*"}, .groups = {}, .resources = {}, .names = {}, .paths = {"*"}});
  }
  return rules;
}

ApiResult<Json> RulesStatus(const RequestContext& context, RoleIndex& roles, const Json& spec) {
  const std::string namespace_name = TextAt(spec, {"namespace"});
  if (namespace_name.empty()) return BadRequest("no namespace on request");
  Json resources = Json::array();
  Json paths = Json::array();
  for (const PolicyRule& rule : RulesOfUser(roles, context.user, namespace_name)) {
    if (!rule.paths.empty()) {
      paths.push_back(Json{{"verbs", rule.verbs}, {"nonResourceURLs", rule.paths}});
      continue;
    }
    Json one{{"verbs", rule.verbs}, {"apiGroups", rule.groups}, {"resources", rule.resources}};
    if (!rule.names.empty()) one["resourceNames"] = rule.names;
    resources.push_back(std::move(one));
  }
  return Json{{"resourceRules", std::move(resources)},
              {"nonResourceRules", std::move(paths)},
              {"incomplete", false}};
}

ApiResult<Json> StatusOfReview(const RequestContext& context, const Authenticator& authenticator,
                               RoleIndex& roles, const Json& spec) {
  const std::string& kind = context.resource->kind;
  if (kind == "SelfSubjectReview") return Json{{"userInfo", UserJson(context.user)}};
  if (kind == "SelfSubjectRulesReview") return RulesStatus(context, roles, spec);
  if (kind == "TokenReview") return TokenStatus(authenticator, spec);
  if (kind == "LocalSubjectAccessReview") {
    if (auto error = CheckLocal(context, spec)) return *error;
  }
  const auto attributes = AttributesOf(context, spec);
  if (!attributes) return attributes.error();
  if (kind == "SelfSubjectAccessReview") {
    return AccessStatus(Authorize(roles, context.user, *attributes));
  }
  const auto subject = SubjectOf(context, spec);
  if (!subject) return subject.error();
  return AccessStatus(Authorize(roles, *subject, *attributes));
}

}  // namespace

bool IsReview(const ResourceInfo& resource) {
  return resource.id.group == "authorization.k8s.io" ||
         resource.id.group == "authentication.k8s.io";
}

ApiResult<Json> AnswerReview(const RequestContext& context, const Authenticator& authenticator,
                             RoleIndex& roles, Json review) {
  if (!review.is_object()) return BadRequest("the review is no object");
  review["apiVersion"] = context.resource->api_version();
  review["kind"] = context.resource->kind;
  if (!review["metadata"].is_object()) review["metadata"] = Json::object();
  const Json* spec = Member(review, "spec");
  auto status = StatusOfReview(context, authenticator, roles, spec == nullptr ? Json() : *spec);
  if (!status) return status.error();
  review["status"] = *std::move(status);
  return review;
}

}  // namespace berth::local
