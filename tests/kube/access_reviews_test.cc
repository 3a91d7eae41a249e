// Goal: the API server decides which users may read a path, and is asked seldom; cached answers and
// running reviews are bounded. Method: a transport that plays the API server.
#include "kube/runtime/access_reviews.h"

#include <map>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "scenarios/world/sim_executor.h"

namespace berth::kube {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using Outcome = AccessAnswer::Outcome;

// Knows users by their token; the user `mays` may read.
class Reviewer final : public Transport {
 public:
  explicit Reviewer(SimExecutor& executor) : executor_(executor) {}

  void Send(ApiRequest request, Duration /*timeout*/,
            std::function<void(Result<ApiResponse>)> done) override {
    EXPECT_EQ(request.method, "POST");
    const bool token = request.path.find("/tokenreviews") != std::string::npos;
    ++(token ? token_reviews : access_reviews);
    ApiResponse response;
    response.status = token ? token_status : access_status;
    response.body =
        std::make_shared<const Json>(token ? TokenAnswer(*request.body) : Access(*request.body));
    executor_.PostAfter(1ms, [response, done = std::move(done)] { done(response); });
  }
  std::unique_ptr<WatchHandle> Watch(ApiRequest, Duration, WatchCallbacks) override {
    return nullptr;
  }

  std::map<std::string, Json> users;  // by token
  std::string mays;                   // the name of the user that may read
  int token_status = 201;
  int access_status = 201;
  int token_reviews = 0;
  int access_reviews = 0;
  Json asked;  // the spec of the last SubjectAccessReview

 private:
  Json TokenAnswer(const Json& review) const {
    const auto user = users.find(review["spec"]["token"].get<std::string>());
    if (user == users.end()) {
      return {{"status", {{"authenticated", false}, {"error", "invalid bearer token"}}}};
    }
    return {{"status", {{"authenticated", true}, {"user", user->second}}}};
  }
  Json Access(const Json& review) {
    asked = review["spec"];
    return {{"status", {{"allowed", asked["user"] == mays}}}};
  }

  SimExecutor& executor_;
};

class AccessReviewsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    api_.users = {{"t-prom",
                   {{"username", "prometheus"},
                    {"uid", "u-1"},
                    {"groups", {"system:authenticated", "monitoring"}},
                    {"extra", {{"pod", {"prom-0"}}}}}},
                  {"t-jane", {{"username", "jane"}}},
                  {"t-none", Json::object()}};
    api_.mays = "prometheus";
  }

  AccessAnswer Ask(const std::string& token) {
    std::optional<AccessAnswer> got;
    reviews_.Ask({token, "get", "/metrics"}, [&](const AccessAnswer& answer) { got = answer; });
    executor_.RunUntil([&] { return got.has_value(); });
    EXPECT_TRUE(got.has_value());
    return got.value_or(AccessAnswer{});
  }

  FakeClock clock_;
  SimExecutor executor_{clock_};
  Reviewer api_{executor_};
  ApiClient client_{api_, executor_};
  AccessReviews reviews_{client_, clock_, {.max_kept = 4, .max_under_way = 2}};
};

TEST_F(AccessReviewsTest, ApiServerDecidesEachAccess) {
  const AccessAnswer allowed = Ask("t-prom");
  EXPECT_EQ(allowed.outcome, Outcome::kAllowed);
  EXPECT_EQ(allowed.user, "prometheus");
  EXPECT_EQ(api_.asked, (Json{{"user", "prometheus"},
                              {"uid", "u-1"},
                              {"groups", {"system:authenticated", "monitoring"}},
                              {"extra", {{"pod", {"prom-0"}}}},
                              {"nonResourceAttributes", {{"path", "/metrics"}, {"verb", "get"}}}}));
  const AccessAnswer denied = Ask("t-jane");
  EXPECT_EQ(denied.outcome, Outcome::kDenied);
  EXPECT_EQ(denied.user, "jane");
  const int asked = api_.access_reviews;
  EXPECT_EQ(Ask("wrong").outcome, Outcome::kNoUser);
  EXPECT_EQ(Ask("t-none").outcome, Outcome::kNoUser) << "a user without a name is none";
  EXPECT_EQ(api_.access_reviews, asked);
}

TEST_F(AccessReviewsTest, KnownUserNeedsNoTokenReview) {
  api_.mays = "jane";
  const AccessUser jane{"jane", "u-2", {"team"}, {{"scope", {"a"}}}};
  std::optional<AccessAnswer> got;
  reviews_.Ask({.verb = "get",
                .user = jane,
                .resource = AccessResource{"g", "v1", "queues", "pending", "ns", "q"}},
               [&](const AccessAnswer& answer) { got = answer; });
  executor_.RunUntil([&] { return got.has_value(); });
  ASSERT_TRUE(got);
  EXPECT_EQ(got->outcome, Outcome::kAllowed);
  EXPECT_EQ(api_.token_reviews, 0);
  EXPECT_EQ(api_.asked, (Json{{"user", "jane"},
                              {"uid", "u-2"},
                              {"groups", {"team"}},
                              {"extra", {{"scope", {"a"}}}},
                              {"resourceAttributes",
                               {{"group", "g"},
                                {"version", "v1"},
                                {"resource", "queues"},
                                {"subresource", "pending"},
                                {"namespace", "ns"},
                                {"name", "q"},
                                {"verb", "get"}}}}));
}

TEST_F(AccessReviewsTest, AnswersAreCachedForAShortTime) {
  Ask("t-prom");
  Ask("t-jane");
  const int asked = api_.token_reviews;
  EXPECT_EQ(Ask("t-prom").outcome, Outcome::kAllowed);
  EXPECT_EQ(Ask("t-jane").outcome, Outcome::kDenied);
  EXPECT_EQ(api_.token_reviews, asked);
  // A granted right counts soon, a revoked one within a minute.
  api_.mays = "jane";
  clock_.Advance(11s);
  EXPECT_EQ(Ask("t-jane").outcome, Outcome::kAllowed);
  EXPECT_EQ(Ask("t-prom").outcome, Outcome::kAllowed);
  clock_.Advance(50s);
  EXPECT_EQ(Ask("t-prom").outcome, Outcome::kDenied);
}

TEST_F(AccessReviewsTest, FailedReviewIsReportedAndNotCached) {
  api_.token_status = 403;
  AccessAnswer answer = Ask("t-prom");
  EXPECT_EQ(answer.outcome, Outcome::kFailed);
  EXPECT_EQ(answer.user, "");
  EXPECT_THAT(answer.error, HasSubstr("TokenReview"));
  api_.token_status = 201;
  api_.access_status = 500;
  answer = Ask("t-prom");
  EXPECT_EQ(answer.outcome, Outcome::kFailed);
  EXPECT_EQ(answer.user, "prometheus");
  EXPECT_THAT(answer.error, HasSubstr("SubjectAccessReview"));
  api_.access_status = 201;
  EXPECT_EQ(Ask("t-prom").outcome, Outcome::kAllowed);
}

TEST_F(AccessReviewsTest, WrongTokensEvictNoCachedAnswerOfAReader) {
  Ask("t-prom");
  for (int i = 0; i < 20; ++i) Ask("wrong-" + std::to_string(i));
  const int asked = api_.token_reviews;
  EXPECT_EQ(Ask("t-prom").outcome, Outcome::kAllowed);
  EXPECT_EQ(api_.token_reviews, asked);
  EXPECT_EQ(Ask("wrong-0").outcome, Outcome::kNoUser);
  EXPECT_EQ(api_.token_reviews, asked + 1) << "four answers are kept";
}

TEST_F(AccessReviewsTest, EqualReviewsAreJoinedAndOpenReviewsAreBounded) {
  std::map<Outcome, int> answers;
  const auto ask = [&](const std::string& token) {
    reviews_.Ask({token, "get", "/metrics"},
                 [&](const AccessAnswer& answer) { ++answers[answer.outcome]; });
  };
  for (int i = 0; i < 5; ++i) ask("t-prom");
  ask("t-jane");
  ask("wrong");
  EXPECT_EQ(answers, (std::map<Outcome, int>{{Outcome::kOverloaded, 1}}));
  executor_.RunFor(1s);
  EXPECT_EQ(answers,
            (std::map<Outcome, int>{
                {Outcome::kOverloaded, 1}, {Outcome::kAllowed, 5}, {Outcome::kDenied, 1}}));
  EXPECT_EQ(api_.token_reviews, 2);
}

TEST_F(AccessReviewsTest, AnswersAreDroppedAfterTheDestructor) {
  bool answered = false;
  auto reviews = std::make_unique<AccessReviews>(client_, clock_);
  reviews->Ask({"t-prom", "get", "/metrics"}, [&](const AccessAnswer&) { answered = true; });
  reviews.reset();
  executor_.RunFor(1s);
  EXPECT_FALSE(answered);
}

}  // namespace
}  // namespace berth::kube
