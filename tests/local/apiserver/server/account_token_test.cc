// Goal: a token of a ServiceAccount acts as the account until its end, and as long as the account,
// the pod and the Secret that it names exist.
// Method: tokens asked for and shown over HTTPS; a clock that the test moves.
#include <gmock/gmock.h>

#include "base/rfc3339.h"
#include "base/strings.h"
#include "local/apiserver/auth/account_tokens.h"
#include "scenarios/world/sim_executor.h"
#include "tests/local/apiserver/server/server_fixture.h"

namespace berth::local {
namespace {

using ::testing::HasSubstr;

constexpr const char* kAccounts = "/api/v1/namespaces/default/serviceaccounts";
constexpr const char* kWhoAmI = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
constexpr const char* kReviewsOfTokens = "/apis/authentication.k8s.io/v1/tokenreviews";

class AccountTokenTest : public ServerTest {
 protected:
  void SetUp() override { Restart(); }
  void Restart() {
    ApiServerOptions options;
    options.clock = &clock_;
    StartServer(std::move(options));
  }
  Answer Ask(const Json& spec, const std::string& account = "default") {
    return Post(
        std::string(kAccounts) + "/" + account + "/token",
        {{"apiVersion", "authentication.k8s.io/v1"}, {"kind", "TokenRequest"}, {"spec", spec}});
  }
  std::string TokenFor(const Json& spec, const std::string& account = "default") {
    const Answer answer = Ask(spec, account);
    EXPECT_EQ(answer.status, 201) << answer.text;
    return answer.status == 201 ? answer.json["status"]["token"].get<std::string>() : "";
  }
  Answer With(const std::string& token, const std::string& method, const std::string& target) {
    net::ClientOptions options;
    options.base_url = server_->url();
    options.ca_pem = server_->ca_pem();
    options.bearer_token = token;
    auto client = net::HttpClient::Create(*io_, std::move(options));
    EXPECT_TRUE(client);
    net::Request request;
    request.method = method;
    request.target = target;
    if (method == "POST") request.body = "{}";
    auto response = (*client)->SendAndWait(std::move(request), std::chrono::seconds(10));
    EXPECT_TRUE(response);
    Answer answer;
    answer.status = response ? response->status : 0;
    answer.text = response ? response->body : "";
    answer.json = Json::parse(answer.text, nullptr, false);
    return answer;
  }
  int StatusWith(const std::string& token) { return With(token, "POST", kWhoAmI).status; }
  Json Review(const std::string& token, const Json& audiences = Json::array()) {
    return Post(kReviewsOfTokens, {{"spec", {{"token", token}, {"audiences", audiences}}}})
        .json["status"];
  }

  FakeClock clock_;
};

TEST_F(AccountTokenTest, TokenActsAsItsServiceAccount) {
  const Answer answer = Ask({{"expirationSeconds", 900}});
  ASSERT_EQ(answer.status, 201) << answer.text;
  EXPECT_EQ(answer.json["status"]["expirationTimestamp"],
            FormatTime(clock_.Now() + std::chrono::seconds(900)));
  EXPECT_EQ(answer.json["spec"]["audiences"], Json::array({kAudience}));
  const std::string token = answer.json["status"]["token"];
  const Json user = With(token, "POST", kWhoAmI).json["status"]["userInfo"];
  EXPECT_EQ(user["username"], "system:serviceaccount:default:default");
  EXPECT_EQ(user["uid"], Get(std::string(kAccounts) + "/default").json["metadata"]["uid"]);
  EXPECT_EQ(user["groups"], Json({"system:serviceaccounts", "system:serviceaccounts:default",
                                  "system:authenticated"}));
  EXPECT_THAT(user["extra"]["authentication.kubernetes.io/credential-id"][0],
              ::testing::StartsWith("JTI="));
  EXPECT_EQ(With(token, "GET", kPods).status, 403);
  const std::string rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings";
  const Json account{{"kind", "ServiceAccount"}, {"name", "default"}};
  EXPECT_EQ(Post(rbac, {{"metadata", {{"name", "b"}}},
                        {"roleRef", {{"kind", "ClusterRole"}, {"name", "view"}}},
                        {"subjects", Json::array({account})}})
                .status,
            201);
  EXPECT_EQ(With(token, "GET", kPods).status, 200);
  EXPECT_EQ(With(token, "GET", "/api/v1/pods").status, 403);
  Restart();
  EXPECT_EQ(With(token, "GET", kPods).status, 200) << "the key is kept";
}

TEST_F(AccountTokenTest, PublicKeyIsPublished) {
  const Answer configuration = Get("/.well-known/openid-configuration");
  EXPECT_EQ(configuration.json["issuer"], kAudience) << configuration.text;
  EXPECT_EQ(configuration.json["jwks_uri"], server_->url() + "/openid/v1/jwks");
  const Answer keys = Get("/openid/v1/jwks");
  EXPECT_EQ(keys.headers.Find("Content-Type"), "application/jwk-set+json");
  const Json key = keys.json["keys"][0];
  const std::string token = TokenFor(Json::object());
  const std::vector<std::string_view> parts = Split(token, '.');
  EXPECT_EQ(Json::parse(*Base64UrlDecode(parts[0]))["kid"], key["kid"]);
  EXPECT_EQ(key["alg"], "ES256");
  for (const char* half : {"x", "y"}) {
    EXPECT_EQ(Base64UrlDecode(key[half].get<std::string>())->size(), 32U) << half;
  }
  EXPECT_EQ(With(token, "GET", "/openid/v1/jwks").status, 200);
  EXPECT_FALSE(keys.text.find("PRIVATE") != std::string::npos || key.contains("d"));
}

TEST_F(AccountTokenTest, TokenSecretWithoutAnAccountIsRefused) {
  const Answer refused =
      Post("/api/v1/namespaces/default/secrets",
           {{"metadata", {{"name", "s"}}}, {"type", "kubernetes.io/service-account-token"}});
  EXPECT_EQ(refused.status, 422);
  EXPECT_THAT(
      refused.message(),
      HasSubstr("metadata.annotations[kubernetes.io/service-account.name]: Required value"));
}

TEST_F(AccountTokenTest, TokenExpires) {
  const std::string token = TokenFor({{"expirationSeconds", 600}});
  clock_.Advance(std::chrono::seconds(599));
  EXPECT_EQ(StatusWith(token), 201);
  clock_.Advance(std::chrono::seconds(1));
  EXPECT_EQ(StatusWith(token), 401);
  EXPECT_THAT(Review(token)["error"], HasSubstr("expired"));
  const std::string hour = TokenFor(Json::object());
  clock_.Advance(std::chrono::minutes(59));
  EXPECT_EQ(StatusWith(hour), 201);
  clock_.Advance(std::chrono::minutes(1));
  EXPECT_EQ(StatusWith(hour), 401);
}

TEST_F(AccountTokenTest, TokenEndsWithItsAccountItsPodAndItsSecret) {
  EXPECT_EQ(Post(kAccounts, {{"metadata", {{"name", "robot"}}}}).status, 201);
  Json pod = PodJson("p");
  pod["spec"]["serviceAccountName"] = "robot";
  EXPECT_EQ(Post(kPods, pod).status, 201);
  const std::string secrets = "/api/v1/namespaces/default/secrets";
  EXPECT_EQ(Post(secrets, {{"metadata", {{"name", "s"}}}}).status, 201);
  const auto bound = [](const char* kind, const char* name) {
    return Json{{"boundObjectRef", {{"apiVersion", "v1"}, {"kind", kind}, {"name", name}}}};
  };
  const std::string of_account = TokenFor(Json::object(), "robot");
  const std::string of_pod = TokenFor(bound("Pod", "p"), "robot");
  const std::string of_secret = TokenFor(bound("Secret", "s"), "robot");
  const Json extra = With(of_pod, "POST", kWhoAmI).json["status"]["userInfo"]["extra"];
  EXPECT_EQ(extra["authentication.kubernetes.io/pod-name"], Json::array({"p"}));
  EXPECT_EQ(Delete(std::string(kPods) + "/p?gracePeriodSeconds=0").status, 200);
  EXPECT_EQ(StatusWith(of_pod), 401);
  EXPECT_EQ(Post(kPods, pod).status, 201);
  EXPECT_EQ(StatusWith(of_pod), 401) << "another pod of the name";
  EXPECT_EQ(StatusWith(of_secret), 201);
  EXPECT_EQ(Delete(secrets + "/s").status, 200);
  EXPECT_EQ(StatusWith(of_secret), 401);
  EXPECT_EQ(StatusWith(of_account), 201);
  EXPECT_EQ(Delete(std::string(kAccounts) + "/robot").status, 200);
  EXPECT_EQ(StatusWith(of_account), 401);
  EXPECT_EQ(Post(kAccounts, {{"metadata", {{"name", "robot"}}}}).status, 201);
  EXPECT_EQ(StatusWith(of_account), 401) << "another account of the name";
  EXPECT_THAT(Review(of_account)["error"], HasSubstr("does not exist any more"));
}

TEST_F(AccountTokenTest, TokenIsValidForItsAudiencesAlone) {
  const std::string vault = TokenFor({{"audiences", {"vault", "other"}}});
  EXPECT_EQ(StatusWith(vault), 401);
  EXPECT_EQ(Review(vault)["authenticated"], false);
  EXPECT_EQ(Review(vault, {"nobody", "vault"})["audiences"], Json::array({"vault"}));
  EXPECT_EQ(Review(vault, {"nobody", "x"})["authenticated"], false);
  const Json both = Review(TokenFor({{"audiences", {"vault", kAudience}}}));
  EXPECT_EQ(both["authenticated"], true);
  EXPECT_EQ(both["audiences"], Json::array({kAudience}));
}

TEST_F(AccountTokenTest, ForeignAndChangedTokensAreRefused) {
  const std::string token = TokenFor(Json::object());
  const std::size_t first = token.find('.');
  const std::size_t last = token.rfind('.');
  Json claims = Json::parse(*Base64UrlDecode(token.substr(first + 1, last - first - 1)));
  claims["sub"] = "system:serviceaccount:kube-system:default";
  claims["kubernetes.io"]["namespace"] = "kube-system";
  const std::string body = "." + Base64UrlEncode(claims.dump()) + ".";
  const std::string signature = token.substr(last + 1);
  const std::string none = Base64UrlEncode(R"({"alg":"none"})");
  auto foreign_key = net::SigningKey::Make();
  ASSERT_TRUE(foreign_key);
  const std::string head = token.substr(0, first);
  const std::string foreign = head + body + Base64UrlEncode(*foreign_key->Sign(head + body));
  for (const std::string& wrong :
       {head + body + signature, none + body, none + body + signature, foreign,
        token.substr(0, last + 1), token + "x", "x" + token, token + ".", std::string("a.b.c"),
        std::string(".."), std::string(20000, '.'), token.substr(first + 1)}) {
    EXPECT_EQ(StatusWith(wrong), 401) << wrong.substr(0, 100);
  }
  EXPECT_EQ(StatusWith(token), 201);
}

TEST_F(AccountTokenTest, BadRequestsNameTheField) {
  struct Case {
    Json spec;
    int status;
    const char* message;
  };
  const auto bound = [](const char* kind, const char* name, const char* uid) {
    return Json{
        {"boundObjectRef", {{"apiVersion", "v1"}, {"kind", kind}, {"name", name}, {"uid", uid}}}};
  };
  Json pod = PodJson("p");
  pod["spec"]["serviceAccountName"] = "default";
  EXPECT_EQ(Post(kPods, pod).status, 201);
  EXPECT_EQ(Post(kAccounts, {{"metadata", {{"name", "robot"}}}}).status, 201);
  const Case cases[] = {
      {{{"expirationSeconds", 599}}, 422, "may not specify a duration less than 10 minutes"},
      {{{"expirationSeconds", 5'000'000'000}}, 422, "larger than 2^32 seconds"},
      {bound("Pod", "missing", ""), 404, "pods \"missing\" not found"},
      {bound("Pod", "p", "wrong"), 409, "does not match the UID in record"},
      {bound("Node", "n", ""), 400, "cannot bind token to object of type"},
      {{{"audiences", {std::string(5000, 'a')}}}, 422, "spec.audiences"},
  };
  for (const Case& one : cases) {
    const Answer answer = Ask(one.spec);
    EXPECT_EQ(answer.status, one.status) << answer.text;
    EXPECT_THAT(answer.message(), HasSubstr(one.message));
  }
  EXPECT_THAT(Ask(bound("Pod", "p", ""), "robot").message(),
              HasSubstr("different serviceaccount name"));
  EXPECT_EQ(Ask(Json::object(), "missing").status, 404);
  const Answer capped = Ask({{"expirationSeconds", 4'000'000'000}});
  EXPECT_EQ(capped.json["spec"]["expirationSeconds"], 365 * 24 * 3600);
  EXPECT_EQ(capped.Warnings().size(), 1U);
}

}  // namespace
}  // namespace berth::local
