// Goal: headers name a reader only where a proxy with the configured certificate sends them, for
// this site, and never a user or a group of Kubernetes; a token comes first.
//
// Method: requests as net::HttpServer makes them, with the common name of a verified certificate.
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "readapi/controller/sign_in.h"
#include "scenarios/world/sim_executor.h"
#include "tests/readapi/controller/sign_in_answer.h"

namespace berth::readapi {
namespace {

using ::testing::ElementsAre;

kube::FrontProxyTrust Trust() {
  return {.client_ca_pem = "authority",
          .allowed_names = {"front"},
          .username_headers = {"X-Forwarded-User"},
          .group_headers = {"X-Forwarded-Groups"}};
}

net::Request Proxied(const std::string& user, const std::string& name = "front") {
  net::Request request{.method = "GET", .target = kSessionPath};
  request.client_certificate_common_name = name;
  request.headers.Add("Host", "berth.example");
  if (!user.empty()) request.headers.Add("X-Forwarded-User", user);
  return request;
}

class ProxyUserTest : public ::testing::Test {
 protected:
  std::shared_ptr<SignIn> Make(kube::FrontProxyTrust trust) {
    return std::make_shared<SignIn>(
        clock_, [](std::size_t count) { return std::string(count, 'r'); },
        [](const kube::AccessQuestion& question, const kube::AccessReviews::Done& done) {
          done({.outcome = kube::AccessAnswer::Outcome::kDenied,
                .user = question.user ? question.user->name : question.token});
        },
        SignIn::Options{.proxy = std::move(trust)});
  }

  FakeClock clock_;
  std::shared_ptr<SignIn> sign_in_ = Make(Trust());
};

TEST_F(ProxyUserTest, TrustedProxyNamesTheUserAndItsGroups) {
  net::Request request = Proxied("jane@example.com");
  request.headers.Add("X-Forwarded-Groups", "dev, ops,,system:masters");
  request.headers.Add("X-Forwarded-Groups", "night");
  const Caller caller = sign_in_->CallerOf(request);
  ASSERT_TRUE(caller.user);
  EXPECT_TRUE(caller.token.empty());
  EXPECT_EQ(caller.user->name, "jane@example.com");
  EXPECT_THAT(caller.user->groups, ElementsAre("dev", "ops", "night", "system:authenticated"));
  const net::Response answer = AnswerOf(*sign_in_, request);
  EXPECT_EQ(
      nlohmann::json::parse(answer.body),
      nlohmann::json(
          {{"signedIn", true}, {"user", "jane@example.com"}, {"csrf", ""}, {"actions", false}}));
  EXPECT_FALSE(answer.headers.Has("Set-Cookie"));
}

TEST_F(ProxyUserTest, UntrustedOrForeignRequestsNameNoUser) {
  EXPECT_FALSE(sign_in_->CallerOf(Proxied("jane", "")).is_known()) << "no certificate";
  EXPECT_FALSE(sign_in_->CallerOf(Proxied("jane", "other")).is_known()) << "another certificate";
  EXPECT_FALSE(sign_in_->CallerOf(Proxied("")).is_known()) << "no header";
  EXPECT_FALSE(Make({})->CallerOf(Proxied("jane")).is_known()) << "not configured";
  for (const char* user : {"system:admin", "system:serviceaccount:kube-system:default"}) {
    EXPECT_FALSE(sign_in_->CallerOf(Proxied(user)).is_known()) << user;
  }
  for (const auto& [name, value] : {std::pair("Sec-Fetch-Site", "cross-site"),
                                    {"Sec-Fetch-Site", "same-site"},
                                    {"Origin", "https://evil.example"}}) {
    net::Request foreign = Proxied("jane");
    foreign.headers.Add(name, value);
    EXPECT_FALSE(sign_in_->CallerOf(foreign).is_known()) << name;
  }
}

TEST_F(ProxyUserTest, TokenOutranksTheUserOfTheProxy) {
  net::Request request = Proxied("jane");
  request.headers.Add("Authorization", "Bearer own");
  const Caller caller = sign_in_->CallerOf(request);
  EXPECT_EQ(caller.token, "own");
  EXPECT_FALSE(caller.user);
}

}  // namespace
}  // namespace berth::readapi
