// kube/runtime/access_reviews.h — asks the API server whether somebody may use a path or a resource
// of this process: a TokenReview gives the user of a token, a SubjectAccessReview the user's right.
//
// A bounded number of answers is cached for a short time. Requests with the same token for the same
// path share one pair of reviews; the number of running reviews is bounded too.
//
// Threads: one Executor, that of the client; destroy it there, or after that Executor has stopped.
// Source: controller-runtime, pkg/metrics/filters (WithAuthenticationAndAuthorization); Kubernetes,
// delegated authentication and authorization.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "kube/client/api_client.h"

namespace berth::kube {

struct AccessUser {
  std::string name;
  std::string uid;
  std::vector<std::string> groups;
  std::map<std::string, std::vector<std::string>> extra;
  friend auto operator<=>(const AccessUser&, const AccessUser&) = default;
};

struct AccessResource {
  std::string group;
  std::string version;
  std::string resource;
  std::string subresource;
  std::string namespace_name;  // empty: the right is for the cluster
  std::string name;
  friend auto operator<=>(const AccessResource&, const AccessResource&) = default;
};

struct AccessQuestion {
  std::string token;               // empty: `user` is set
  std::string verb;                // the method of the HTTP request, in lower case: "get"
  std::string path;                // "/metrics"; empty: `resource` is set
  std::optional<AccessUser> user;  // known without a token
  std::optional<AccessResource> resource;
  friend auto operator<=>(const AccessQuestion&, const AccessQuestion&) = default;
};

struct AccessAnswer {
  enum class Outcome : std::uint8_t {
    kAllowed,
    kDenied,      // `user` lacks the right
    kNoUser,      // the token belongs to no user
    kFailed,      // a review failed
    kOverloaded,  // too many reviews are running; none was started
  };
  Outcome outcome = Outcome::kFailed;
  std::string user;   // set with kAllowed, kDenied
  std::string error;  // kFailed: the review that failed, and why
};

class AccessReviews {
 public:
  struct Options {
    Duration keep_allowed = std::chrono::minutes(1);
    Duration keep_refused = std::chrono::seconds(10);  // kDenied, kNoUser; kFailed is not cached
    // The most cached answers, and the most questions with running reviews.
    std::size_t max_kept = 256;
    std::size_t max_under_way = 8;
  };
  using Done = std::function<void(const AccessAnswer&)>;

  AccessReviews(ApiClient& client, const Clock& clock, Options options);
  AccessReviews(ApiClient& client, const Clock& clock) : AccessReviews(client, clock, Options{}) {}
  AccessReviews(const AccessReviews&) = delete;
  AccessReviews& operator=(const AccessReviews&) = delete;

  // Calls `done` inside this call if the answer is cached, else when the reviews have ended.
  void Ask(AccessQuestion question, Done done);

 private:
  struct Kept {
    AccessAnswer answer;
    SteadyTime until;
  };

  void ReviewToken(const AccessQuestion& question);
  void ReviewAccess(const AccessQuestion& question, Json user);
  void Finish(const AccessQuestion& question, AccessAnswer answer);
  void MakeRoom();

  ApiClient& client_;
  const Clock& clock_;
  const Options options_;
  std::map<AccessQuestion, Kept> kept_;
  std::map<AccessQuestion, std::vector<Done>> under_way_;
  std::shared_ptr<AccessReviews*> self_;  // weak copies in callbacks: null after destruction
};

}  // namespace berth::kube
