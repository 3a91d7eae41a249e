#include "local/apiserver/http/reviews.h"

#include "local/apiserver/registry/errors.h"
#include "local/apiserver/registry/json_access.h"

namespace berth::local {
namespace {

Json UserJson(const UserInfo& user) {
  Json json{{"username", user.name}, {"groups", user.groups}};
  if (!user.uid.empty()) json["uid"] = user.uid;
  return json;
}

}  // namespace

bool IsReview(const ResourceInfo& resource) {
  return resource.id.group == "authorization.k8s.io" ||
         resource.id.group == "authentication.k8s.io";
}

ApiResult<Json> AnswerReview(const ResourceInfo& resource, const UserInfo& user, Json review) {
  if (!review.is_object()) return ApiError{400, "BadRequest", "the review is no object", Json()};
  review["apiVersion"] = resource.api_version();
  review["kind"] = resource.kind;
  if (!review["metadata"].is_object()) review["metadata"] = Json::object();
  if (resource.kind == "SelfSubjectReview") {
    review["status"] = {{"userInfo", UserJson(user)}};
    return review;
  }
  if (resource.kind == "SelfSubjectRulesReview") {
    const Json all = Json::array({"*"});
    review["status"] = {
        {"resourceRules", Json::array({{{"verbs", all}, {"apiGroups", all}, {"resources", all}}})},
        {"nonResourceRules", Json::array({{{"verbs", all}, {"nonResourceURLs", all}}})},
        {"incomplete", false}};
    return review;
  }
  if (resource.kind == "TokenReview") {
    review["status"] = {{"user", Json::object()},
                        {"error", "this server issues no tokens for others to review"}};
    return review;
  }
  review["status"] = {{"allowed", true}, {"reason", "this server has no roles"}};
  return review;
}

}  // namespace berth::local
