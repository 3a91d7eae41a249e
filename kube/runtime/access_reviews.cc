#include "kube/runtime/access_reviews.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

namespace berth::kube {
namespace {

constexpr api::ResourceKind kTokenReview{"authentication.k8s.io", "v1", "TokenReview",
                                         "tokenreviews", false};
constexpr api::ResourceKind kAccessReview{"authorization.k8s.io", "v1", "SubjectAccessReview",
                                          "subjectaccessreviews", false};

// A member of the review's status; null if absent.
Json StatusMember(const JsonPtr& review, const char* name) {
  if (review == nullptr || !review->is_object()) return {};
  const auto status = review->find("status");
  if (status == review->end() || !status->is_object()) return {};
  return status->value(name, Json());
}

std::string TextOf(const Json& object, const char* name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// The user of a TokenReview as the subject of a SubjectAccessReview.
Json SubjectOf(const Json& user) {
  Json spec = {{"user", TextOf(user, "username")}};
  for (const char* name : {"uid", "groups", "extra"}) {
    if (const auto found = user.find(name); found != user.end()) spec[name] = *found;
  }
  return spec;
}

Json UserJson(const AccessUser& user) {
  Json subject = {{"username", user.name}, {"groups", user.groups}, {"extra", user.extra}};
  if (!user.uid.empty()) subject["uid"] = user.uid;
  return subject;
}

Json AttributesOf(const AccessResource& resource, const std::string& verb) {
  Json attributes = {{"group", resource.group},       {"version", resource.version},
                     {"resource", resource.resource}, {"subresource", resource.subresource},
                     {"name", resource.name},         {"verb", verb}};
  if (!resource.namespace_name.empty()) attributes["namespace"] = resource.namespace_name;
  return attributes;
}

}  // namespace

AccessReviews::AccessReviews(ApiClient& client, const Clock& clock, Options options)
    : client_(client),
      clock_(clock),
      options_(options),
      self_(std::make_shared<AccessReviews*>(this)) {}

void AccessReviews::Ask(AccessQuestion question, Done done) {
  if (const auto kept = kept_.find(question); kept != kept_.end()) {
    if (clock_.SteadyNow() < kept->second.until) return done(kept->second.answer);
    kept_.erase(kept);
  }
  const auto same = under_way_.find(question);
  if (same != under_way_.end()) return same->second.push_back(std::move(done));
  if (under_way_.size() >= options_.max_under_way) {
    return done({.outcome = AccessAnswer::Outcome::kOverloaded});
  }
  under_way_[question].push_back(std::move(done));
  if (question.user) return ReviewAccess(question, UserJson(*question.user));
  ReviewToken(question);
}

void AccessReviews::ReviewToken(const AccessQuestion& question) {
  Json review = {{"apiVersion", kTokenReview.api_version()},
                 {"kind", kTokenReview.kind},
                 {"spec", {{"token", question.token}}}};
  client_.Create(
      kTokenReview, "", std::move(review), {},
      [weak = std::weak_ptr(self_), question](const Result<JsonPtr>& answer) {
        const auto self = weak.lock();
        if (self == nullptr) return;
        if (!answer) {
          return (*self)->Finish(question, {.outcome = AccessAnswer::Outcome::kFailed,
                                            .error = "TokenReview: " + answer.error().message});
        }
        Json user = StatusMember(*answer, "user");
        if (StatusMember(*answer, "authenticated") != true || TextOf(user, "username").empty()) {
          return (*self)->Finish(question, {.outcome = AccessAnswer::Outcome::kNoUser});
        }
        (*self)->ReviewAccess(question, std::move(user));
      });
}

void AccessReviews::ReviewAccess(const AccessQuestion& question, Json user) {
  Json spec = SubjectOf(user);
  if (question.resource) {
    spec["resourceAttributes"] = AttributesOf(*question.resource, question.verb);
  } else {
    spec["nonResourceAttributes"] = {{"path", question.path}, {"verb", question.verb}};
  }
  Json review = {{"apiVersion", kAccessReview.api_version()},
                 {"kind", kAccessReview.kind},
                 {"spec", std::move(spec)}};
  client_.Create(kAccessReview, "", std::move(review), {},
                 [weak = std::weak_ptr(self_), question,
                  name = TextOf(user, "username")](const Result<JsonPtr>& answer) {
                   const auto self = weak.lock();
                   if (self == nullptr) return;
                   if (!answer) {
                     return (*self)->Finish(
                         question, {.outcome = AccessAnswer::Outcome::kFailed,
                                    .user = name,
                                    .error = "SubjectAccessReview: " + answer.error().message});
                   }
                   const bool allowed = StatusMember(*answer, "allowed") == true;
                   (*self)->Finish(question, {.outcome = allowed ? AccessAnswer::Outcome::kAllowed
                                                                 : AccessAnswer::Outcome::kDenied,
                                              .user = name});
                 });
}

void AccessReviews::Finish(const AccessQuestion& question, AccessAnswer answer) {
  const bool known = answer.outcome != AccessAnswer::Outcome::kFailed;
  const bool allowed = answer.outcome == AccessAnswer::Outcome::kAllowed;
  if (known) {
    MakeRoom();
    const Duration keep = allowed ? options_.keep_allowed : options_.keep_refused;
    kept_[question] = {answer, clock_.SteadyNow() + keep};
  }
  auto waiting = under_way_.extract(question);
  if (waiting.empty()) return;
  for (const Done& done : waiting.mapped()) done(answer);
}

void AccessReviews::MakeRoom() {
  const SteadyTime now = clock_.SteadyNow();
  std::erase_if(kept_, [now](const auto& entry) { return entry.second.until <= now; });
  if (kept_.size() < options_.max_kept) return;
  // Refusals are evicted first, so that a client that tries tokens evicts no allowed answer.
  kept_.erase(std::min_element(kept_.begin(), kept_.end(), [](const auto& a, const auto& b) {
    return a.second.until < b.second.until;
  }));
}

}  // namespace berth::kube
