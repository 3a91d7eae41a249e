// Goal: the browser is sent to the provider's own endpoint with every parameter of the code flow; a
// code is exchanged once, with the verifier and the secret as the provider takes it; a provider
// that is away, or answers nonsense, is named and asked again soon.
//
// Method: a provider that the test plays over TLS; virtual time for what is kept.
#include "readapi/controller/open_id_provider.h"

#include <future>

#include <gmock/gmock.h>

#include "scenarios/world/sim_executor.h"
#include "tests/readapi/controller/played_provider.h"

namespace berth::readapi {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Json = nlohmann::json;

constexpr char kDiscovery[] = "GET /.well-known/openid-configuration";

class OpenIdProviderTest : public ::testing::Test {
 protected:
  void TearDown() override { provider_.reset(); }
  OpenIdProvider& Provider() {
    if (provider_ == nullptr) {
      auto made = OpenIdProvider::Create(pool_, clock_, options_);
      EXPECT_TRUE(made) << made.error().message;
      provider_ = *made;
    }
    return *provider_;
  }
  Result<std::string> Address() {
    return Wait([&](auto done) { Provider().AddressOf(flow_, std::move(done)); });
  }
  Result<std::string> Redeem() {
    return Wait([&](auto done) { Provider().Redeem(flow_, "the code", std::move(done)); });
  }

  FakeClock clock_;
  net::IoPool pool_{1};
  PlayedProvider played_;
  OpenIdOptions options_ = played_.Options();
  OpenIdFlow flow_{
      "the state", "the nonce", "the verifier", "https://page.example.com/sign-in", {}};
  std::shared_ptr<OpenIdProvider> provider_;

 private:
  template <typename Ask>
  Result<std::string> Wait(Ask ask) {
    auto promise = std::make_shared<std::promise<Result<std::string>>>();
    auto future = promise->get_future();
    ask([promise](Result<std::string> result) { promise->set_value(std::move(result)); });
    return future.get();
  }
};

TEST_F(OpenIdProviderTest, AddressHasEveryParameterOfTheCodeFlow) {
  const Result<std::string> address = Address();
  ASSERT_TRUE(address) << address.error().message;
  EXPECT_THAT(*address, StartsWith(played_.issuer() + "/authorize?tenant=1&response_type=code"));
  EXPECT_THAT(*address, HasSubstr("&client_id=berth&"));
  EXPECT_THAT(*address,
              HasSubstr("&redirect_uri=https%3A%2F%2Fpage.example.com%2Fsign-in&scope=openid&"));
  EXPECT_THAT(*address, HasSubstr("&state=the%20state&nonce=the%20nonce&"));
  EXPECT_THAT(*address, HasSubstr("&code_challenge=" + ChallengeOf("the verifier") +
                                  "&code_challenge_method=S256"));
  EXPECT_THAT(*address, Not(HasSubstr("verifier=")));
}

TEST_F(OpenIdProviderTest, CodeIsExchangedForTheIdToken) {
  const std::string token = played_.TokenWith("the nonce");
  played_.AnswerCodesWith({.status = 200, .body = Json{{"id_token", token}}.dump()});
  const Result<std::string> redeemed = Redeem();
  ASSERT_TRUE(redeemed) << redeemed.error().message;
  EXPECT_EQ(*redeemed, token);
  EXPECT_EQ(played_.Field("grant_type"), "authorization_code");
  EXPECT_EQ(played_.Field("code"), "the code");
  EXPECT_EQ(played_.Field("code_verifier"), "the verifier");
  EXPECT_EQ(played_.Field("redirect_uri"), "https://page.example.com/sign-in");
  EXPECT_EQ(played_.Field("client_id"), "berth");
  EXPECT_FALSE(played_.LastRequest().headers.Has("Authorization"));
}

TEST_F(OpenIdProviderTest, SecretIsSentAsTheProviderTakesIt) {
  options_.client_secret = "s:1";
  EXPECT_FALSE(Redeem());  // the answer has no token
  EXPECT_EQ(played_.LastRequest().headers.Find("Authorization"),
            "Basic " + Base64Encode("berth:s%3A1"));
  EXPECT_EQ(played_.Field("client_secret"), "");

  provider_.reset();
  played_.Tell("token_endpoint_auth_methods_supported", Json::array({"client_secret_post"}));
  EXPECT_FALSE(Redeem());
  EXPECT_FALSE(played_.LastRequest().headers.Has("Authorization"));
  EXPECT_EQ(played_.Field("client_secret"), "s:1");
}

TEST_F(OpenIdProviderTest, TokenEndpointMayHaveAnotherOrigin) {
  PlayedProvider other;
  played_.Tell("token_endpoint", other.issuer() + "/token");
  const std::string token = played_.TokenWith("the nonce");
  other.AnswerCodesWith({.status = 200, .body = Json{{"id_token", token}}.dump()});
  const Result<std::string> redeemed = Redeem();
  ASSERT_TRUE(redeemed) << redeemed.error().message;
  EXPECT_EQ(*redeemed, token);
  EXPECT_EQ(other.CountOf("POST /token"), 1);
  EXPECT_EQ(played_.CountOf("POST /token"), 0);
}

TEST_F(OpenIdProviderTest, DiscoveryIsKeptForAnHourAndAFailureForSeconds) {
  played_.AnswerDiscoveryWith(500);
  EXPECT_THAT(Address().error().message, HasSubstr("answers 500"));
  EXPECT_FALSE(Address());
  EXPECT_EQ(played_.CountOf(kDiscovery), 1);
  played_.AnswerDiscoveryWith(200);
  clock_.Advance(std::chrono::seconds(6));
  EXPECT_TRUE(Address());
  clock_.Advance(std::chrono::minutes(59));
  EXPECT_TRUE(Address());
  EXPECT_EQ(played_.CountOf(kDiscovery), 2);
  clock_.Advance(std::chrono::minutes(2));
  EXPECT_TRUE(Address());
  EXPECT_EQ(played_.CountOf(kDiscovery), 3);
  clock_.Advance(std::chrono::hours(2));
  played_.AnswerDiscoveryWith(500);
  EXPECT_TRUE(Address());  // the endpoints that worked stay
  EXPECT_EQ(played_.CountOf(kDiscovery), 4);
}

TEST_F(OpenIdProviderTest, NonsenseOfTheProviderIsNamed) {
  struct Row {
    const char* field;
    Json value;
    const char* problem;
  };
  for (const Row& row : {Row{"issuer", "https://evil.example.com", "calls itself"},
                         Row{"issuer", nullptr, "calls itself"},
                         Row{"token_endpoint", "http://localhost/token", "no https endpoints"},
                         Row{"authorization_endpoint", "javascript:x", "no https endpoints"}}) {
    PlayedProvider played;
    played.Tell(row.field, row.value);
    options_ = played.Options();
    provider_.reset();
    const Result<std::string> address = Address();
    ASSERT_FALSE(address) << row.field;
    EXPECT_THAT(address.error().message, HasSubstr(row.problem));
  }
}

TEST_F(OpenIdProviderTest, RefusedCodesAndWrongTokensAreRefused) {
  struct Row {
    net::Response answer;
    ErrorCode code;
    const char* problem;
  };
  const std::string token = Json{{"id_token", played_.TokenWith("another")}}.dump();
  for (const Row& row :
       {Row{{.status = 400, .body = R"({"error":"invalid_grant"})"},
            ErrorCode::kInvalid,
            "does not know the code, or not any more: sign in again"},
        Row{{.status = 401, .body = R"({"error":"invalid_client"})"},
            ErrorCode::kUnavailable,
            "answers 401: invalid_client"},
        Row{{.status = 429, .body = R"({"error":"<b>"})"},
            ErrorCode::kUnavailable,
            "answers 429 to"},
        Row{{.status = 200, .body = Json{{"id_token", std::string(17'000, 'x')}}.dump()},
            ErrorCode::kUnavailable,
            "above 16 KiB"},
        Row{{.status = 503, .body = ""}, ErrorCode::kUnavailable, "answers 503"},
        Row{{.status = 200, .body = "[]"}, ErrorCode::kUnavailable, "sends no ID token"},
        Row{{.status = 200, .body = token}, ErrorCode::kInvalid, "belongs to another sign-in"}}) {
    played_.AnswerCodesWith(row.answer);
    const Result<std::string> redeemed = Redeem();
    ASSERT_FALSE(redeemed) << row.problem;
    EXPECT_EQ(redeemed.error().code, row.code);
    EXPECT_THAT(redeemed.error().message, HasSubstr(row.problem));
  }
}

TEST_F(OpenIdProviderTest, ProviderThatIsAwayIsUnavailable) {
  Provider();
  played_.Stop();
  const Result<std::string> address = Address();
  ASSERT_FALSE(address);
  EXPECT_EQ(address.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(address.error().message, HasSubstr("the OpenID provider does not answer"));
}

TEST_F(OpenIdProviderTest, IssuerMustBeAnHttpsAddressWithAClient) {
  for (const char* issuer :
       {"http://id.example.com", "https://", "id.example.com", "https://a#b"}) {
    options_.issuer = issuer;
    EXPECT_FALSE(OpenIdProvider::Create(pool_, clock_, options_)) << issuer;
  }
  options_ = played_.Options();
  options_.client_id = "";
  EXPECT_FALSE(OpenIdProvider::Create(pool_, clock_, options_));
}

}  // namespace
}  // namespace berth::readapi
