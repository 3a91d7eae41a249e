// Goal: a browser that comes back from the OpenID provider gets a session with the provider's
// token, and only the browser that began; without a provider, and with tokens that the API server
// does not take, the answer says what to do.
//
// Method: a provider that the test plays over TLS; a gate that answers by the token.
#include <algorithm>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "readapi/controller/sign_in.h"
#include "scenarios/world/sim_executor.h"
#include "tests/readapi/controller/played_provider.h"
#include "tests/readapi/controller/sign_in_answer.h"

namespace berth::readapi {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

class OpenIdSignInTest : public ::testing::Test {
 protected:
  void SetUp() override { Begin(played_.Options()); }
  void TearDown() override { sign_in_.reset(); }

  void Begin(const std::optional<OpenIdOptions>& provider) {
    SignIn::Options options{.cluster_name = "east"};
    if (provider) options.open_id = *OpenIdProvider::Create(pool_, clock_, *provider);
    sign_in_ = std::make_shared<SignIn>(
        clock_, Counter(),
        [this](const kube::AccessQuestion& question, const kube::AccessReviews::Done& done) {
          using Outcome = kube::AccessAnswer::Outcome;
          const bool is_known = question.token == known_token_;
          done({.outcome = is_known ? Outcome::kDenied : Outcome::kNoUser, .user = "ada"});
        },
        std::move(options));
  }
  net::Response Send(const std::string& target, const Json& body, const std::string& cookie = "",
                     const std::string& host = "localhost:8090") {
    net::Request request{.method = "POST", .target = target, .body = body.dump()};
    request.headers.Add("Host", host);
    request.headers.Add("Content-Type", "application/json");
    if (!cookie.empty()) request.headers.Add("Cookie", cookie);
    return Send(request);
  }
  net::Response Send(const net::Request& request) { return AnswerOf(*sign_in_, request); }
  // What the browser has when it leaves for the provider.
  struct Left {
    std::string cookie;  // "NAME=VALUE"
    std::string address;
    std::string At(const std::string& parameter) const {
      const std::size_t at = address.find("&" + parameter + "=") + parameter.size() + 2;
      return address.substr(at, address.find('&', at) - at);
    }
  };
  Left Leave() {
    const net::Response answer = Send(kOpenIdPath, Json::object());
    EXPECT_EQ(answer.status, 200) << answer.body;
    const std::string cookie(answer.headers.Find("Set-Cookie"));
    return {cookie.substr(0, cookie.find(';')), Json::parse(answer.body).value("address", "")};
  }
  net::Response Return(const std::string& cookie, const std::string& state) {
    return Send(kSessionPath, {{"openId", {{"code", "c"}, {"state", state}}}}, cookie);
  }
  // The provider gives the token of this sign-in for its code.
  void Accept(const Left& left, bool api_server_knows = true) {
    const std::string token = played_.TokenWith(left.At("nonce"));
    played_.AnswerCodesWith({.status = 200, .body = Json{{"id_token", token}}.dump()});
    if (api_server_knows) known_token_ = token;
  }

  FakeClock clock_;
  net::IoPool pool_{1};
  PlayedProvider played_;
  std::string known_token_;
  std::shared_ptr<SignIn> sign_in_;
};

TEST_F(OpenIdSignInTest, BrowserThatComesBackIsSignedIn) {
  const Left left = Leave();
  EXPECT_THAT(left.cookie, testing::StartsWith("__Host-berth-8090-openid="));
  EXPECT_EQ(left.At("redirect_uri"), "https%3A%2F%2Flocalhost%3A8090%2Fsign-in");
  Accept(left);
  const net::Response answer = Return(left.cookie, left.At("state"));
  ASSERT_EQ(answer.status, 200) << answer.body;
  const Json session = Json::parse(answer.body);
  EXPECT_EQ(session["user"], "ada");
  EXPECT_EQ(session["cluster"], "east");
  EXPECT_EQ(session["openId"], played_.issuer().substr(8));
  const std::string cookie(answer.headers.Find("Set-Cookie"));
  EXPECT_THAT(cookie, HasSubstr("; HttpOnly; SameSite=Strict;"));
  const auto ended = std::find_if(
      answer.headers.begin(), answer.headers.end(),
      [](const auto& each) { return each.value.starts_with("__Host-berth-8090-openid=;"); });
  ASSERT_NE(ended, answer.headers.end());
  EXPECT_THAT(ended->value, HasSubstr("Max-Age=0"));
  net::Request request{.method = "GET", .target = kSessionPath};
  request.headers.Add("Host", "localhost:8090");
  request.headers.Add("Cookie", cookie.substr(0, cookie.find(';')));
  const std::optional<PageSession> found = sign_in_->SessionOf(request);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->token, known_token_);
}

TEST_F(OpenIdSignInTest, FlowCountsOnce) {
  const Left left = Leave();
  EXPECT_EQ(Return(left.cookie, left.At("state")).status, 503);  // the provider sends no token
  Accept(left);
  const net::Response again = Return(left.cookie, left.At("state"));
  EXPECT_EQ(again.status, 401);
  EXPECT_THAT(again.body, HasSubstr("has been used already"));
  EXPECT_EQ(played_.CountOf("POST /token"), 1);
}

TEST_F(OpenIdSignInTest, OtherSitesAndFormsBeginNothing) {
  net::Request request{.method = "POST", .target = kOpenIdPath, .body = "{}"};
  request.headers.Add("Host", "localhost:8090");
  EXPECT_EQ(Send(request).status, 415);
  request.headers.Add("Content-Type", "application/json");
  request.headers.Add("Sec-Fetch-Site", "cross-site");
  EXPECT_EQ(Send(request).status, 403);
  request.headers.Set("Sec-Fetch-Site", "same-origin");
  request.headers.Add("Origin", "https://evil.example.com");
  EXPECT_EQ(Send(request).status, 403);
  request.headers.Set("Origin", "https://localhost:8090");
  const net::Response answer = Send(request);
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(std::string(answer.headers.Find("Set-Cookie")),
              HasSubstr("; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=600"));
  request.method = "GET";
  EXPECT_EQ(Send(request).status, 405);
}

TEST_F(OpenIdSignInTest, OtherBrowsersAndLateOnesAreRefused) {
  const Left mine = Leave();
  const Left other = Leave();
  Accept(mine);
  EXPECT_EQ(Return("", mine.At("state")).status, 401);
  EXPECT_EQ(Return(other.cookie, mine.At("state")).status, 401);
  EXPECT_EQ(Return(mine.cookie, other.At("state")).status, 401);
  EXPECT_EQ(played_.CountOf("POST /token"), 0);
  clock_.Advance(kOpenIdFlowLife);
  const net::Response late = Return(mine.cookie, mine.At("state"));
  EXPECT_EQ(late.status, 401);
  EXPECT_THAT(late.body, HasSubstr("too long ago: sign in again"));
  EXPECT_EQ(played_.CountOf("POST /token"), 0);
}

TEST_F(OpenIdSignInTest, TokenOfAnotherSignInIsRefused) {
  const Left mine = Leave();
  const Left other = Leave();
  Accept(other);  // a code of another sign-in was slipped in
  const net::Response answer = Return(mine.cookie, mine.At("state"));
  EXPECT_EQ(answer.status, 401);
  EXPECT_THAT(answer.body, HasSubstr("belongs to another sign-in"));
  EXPECT_FALSE(answer.headers.Has("Set-Cookie"));
}

TEST_F(OpenIdSignInTest, ApiServerThatDoesNotTrustTheProviderIsNamed) {
  const Left left = Leave();
  Accept(left, false);
  const net::Response answer = Return(left.cookie, left.At("state"));
  EXPECT_EQ(answer.status, 401);
  EXPECT_THAT(answer.body, HasSubstr("--oidc-issuer-url"));
}

TEST_F(OpenIdSignInTest, ProviderThatIsAwayIsNoFaultOfTheReader) {
  played_.Stop();
  const net::Response answer = Send(kOpenIdPath, Json::object());
  EXPECT_EQ(answer.status, 503);
  EXPECT_THAT(answer.body, HasSubstr("the OpenID provider does not answer"));
}

TEST_F(OpenIdSignInTest, WithoutAProviderTheAnswerNamesTheFlag) {
  Begin(std::nullopt);
  EXPECT_EQ(Send(kOpenIdPath, Json::object()).status, 404);
  const net::Response answer = Return("", "state");
  EXPECT_EQ(answer.status, 404);
  EXPECT_THAT(answer.body, HasSubstr("--read-api-openid-issuer"));
}

TEST_F(OpenIdSignInTest, HostsAndBodiesThatAreNoneAreRefused) {
  EXPECT_EQ(Send(kOpenIdPath, Json::object(), "", "a b").status, 400);
  EXPECT_EQ(Send(kOpenIdPath, Json::object(), "", "a/b").status, 400);
  EXPECT_EQ(Send(kOpenIdPath, Json::object(), "", std::string(300, 'a')).status, 400);
  for (const char* body :
       {R"({"openId": {"code": "c"}})", R"({"openId": {"state": "s"}})", R"({"openId": "c"})",
        R"({"openId": {"code": "c", "state": "s"}, "x": 1})"}) {
    EXPECT_EQ(Send(kSessionPath, Json::parse(body)).status, 400) << body;
  }
}

}  // namespace
}  // namespace berth::readapi
