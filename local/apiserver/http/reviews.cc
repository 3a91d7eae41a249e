#include "local/apiserver/http/reviews.h"

#include <algorithm>

#include "local/apiserver/auth/authorizer.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/schema/field_error.h"

namespace berth::local {
namespace {

Json UserJson(const UserInfo& user) {
  Json json{{"username", user.name}, {"groups", user.groups}};
  if (!user.uid.empty()) json["uid"] = user.uid;
  return json;
}

ApiError InvalidReview(const RequestContext& context, const Cause& cause) {
  return InvalidStatus(context.resource->id.group, context.resource->kind, "", {cause});
}

ApiResult<Json> TokenStatus(const Authenticator& authenticator, const Json& spec) {
  const std::string token = TextAt(spec, {"token"});
  if (token.empty()) return BadRequest("token is required for TokenReview in authentication");
  const auto refused = [](std::string why) {
    return Json{{"authenticated", false}, {"user", Json::object()}, {"error", std::move(why)}};
  };
  const auto user = authenticator.UserOf(token);
  if (!user) return refused("invalid bearer token");
  const Json& audiences = ArrayAt(spec, {"audiences"});
  if (!audiences.empty() &&
      std::find(audiences.begin(), audiences.end(), kAudience) == audiences.end()) {
    return refused(std::string("the token is for the audience \"") + kAudience + "\" alone");
  }
  return Json{
      {"authenticated", true}, {"user", UserJson(*user)}, {"audiences", Json::array({kAudience})}};
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
    return AccessAttributes{.verb = TextAt(*path, {"verb"}), .path = TextAt(*path, {"path"})};
  }
  AccessAttributes attributes{.verb = TextAt(*resource, {"verb"}),
                              .group = TextAt(*resource, {"group"}),
                              .resource = TextAt(*resource, {"resource"})};
  if (attributes.resource.empty()) attributes.resource = "*";
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
  if (user.name.empty() && user.groups.empty()) {
    return InvalidReview(
        context, InvalidError("spec.user", "", "at least one of user or group must be specified"));
  }
  return user;
}

Json AccessStatus(const Access& access) {
  return {{"allowed", access.allowed}, {"reason", access.reason}};
}

ApiResult<Json> StatusOfReview(const RequestContext& context, const Authenticator& authenticator,
                               const Json& spec) {
  const std::string& kind = context.resource->kind;
  if (kind == "SelfSubjectReview") return Json{{"userInfo", UserJson(context.user)}};
  if (kind == "SelfSubjectRulesReview") {
    const Json all = Json::array({"*"});
    const Json verbs = Json::array(
        {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"});
    return Json{{"resourceRules",
                 Json::array({{{"verbs", verbs}, {"apiGroups", all}, {"resources", all}}})},
                {"nonResourceRules", Json::array({{{"verbs", all}, {"nonResourceURLs", all}}})},
                {"incomplete", false}};
  }
  if (kind == "TokenReview") return TokenStatus(authenticator, spec);
  const auto attributes = AttributesOf(context, spec);
  if (!attributes) return attributes.error();
  if (kind == "SelfSubjectAccessReview") return AccessStatus(Authorize(context.user, *attributes));
  const auto subject = SubjectOf(context, spec);
  if (!subject) return subject.error();
  return AccessStatus(Authorize(*subject, *attributes));
}

}  // namespace

bool IsReview(const ResourceInfo& resource) {
  return resource.id.group == "authorization.k8s.io" ||
         resource.id.group == "authentication.k8s.io";
}

ApiResult<Json> AnswerReview(const RequestContext& context, const Authenticator& authenticator,
                             Json review) {
  if (!review.is_object()) return BadRequest("the review is no object");
  review["apiVersion"] = context.resource->api_version();
  review["kind"] = context.resource->kind;
  if (!review["metadata"].is_object()) review["metadata"] = Json::object();
  const Json* spec = Member(review, "spec");
  auto status = StatusOfReview(context, authenticator, spec == nullptr ? Json() : *spec);
  if (!status) return status.error();
  review["status"] = *std::move(status);
  return review;
}

}  // namespace berth::local
