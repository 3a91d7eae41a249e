// Goal: access of users, and the modes of files on disk.
#include <fstream>

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "base/system_clock.h"
#include "local/apiserver/auth/credentials.h"
#include "net/certificates.h"
#include "tests/local/apiserver/server/server_fixture.h"

namespace berth::local {
namespace {

using ::testing::HasSubstr;

class AuthTest : public ServerTest {
 protected:
  // A client with a certificate of the cluster's authority.
  std::unique_ptr<net::HttpClient> ClientOf(const std::string& user, const std::string& group) {
    auto credentials = LoadOrMakeCredentials(folder_.path() + "/pki", SystemClock().Now());
    EXPECT_TRUE(credentials);
    net::CertificateRequest request;
    request.common_name = user;
    request.organizations = {group};
    request.for_client = true;
    request.not_before = SystemClock().Now() - std::chrono::hours(1);
    request.not_after = SystemClock().Now() + std::chrono::hours(1);
    auto identity = net::IssueCertificate(credentials->authority, request);
    EXPECT_TRUE(identity) << identity.error().message;
    net::ClientOptions options;
    options.base_url = server_->url();
    options.ca_pem = server_->ca_pem();
    options.certificate = std::make_shared<const net::TlsIdentity>(*identity);
    auto client = net::HttpClient::Create(*io_, std::move(options));
    EXPECT_TRUE(client);
    return *std::move(client);
  }

  Answer GetWith(const std::string& token, const std::string& target) {
    net::ClientOptions options;
    options.base_url = server_->url();
    options.ca_pem = server_->ca_pem();
    options.bearer_token = token;
    auto client = net::HttpClient::Create(*io_, std::move(options));
    EXPECT_TRUE(client);
    net::Request request;
    request.method = "GET";
    request.target = target;
    auto response = (*client)->SendAndWait(std::move(request), std::chrono::seconds(10));
    EXPECT_TRUE(response);
    Answer answer;
    answer.status = response ? response->status : 0;
    answer.text = response ? response->body : "";
    return answer;
  }
};

TEST_F(AuthTest, WithoutATokenOnlyVersionAndHealthAreOpen) {
  for (const char* open : {"/version", "/healthz", "/livez", "/readyz", "/readyz/ping"}) {
    EXPECT_EQ(GetWith("", open).status, 200) << open;
  }
  for (const char* closed : {"/", "/api", "/apis", "/api/v1/pods", "/openapi/v3", "/nothing"}) {
    const Answer refused = GetWith("", closed);
    EXPECT_EQ(refused.status, 403) << closed;
    EXPECT_THAT(refused.text, HasSubstr("system:anonymous")) << closed;
  }
  EXPECT_EQ(GetWith("wrong", "/version").status, 401);
  EXPECT_EQ(GetWith("wrong", "/api").status, 401);
  EXPECT_EQ(GetWith(server_->token(), "/api").status, 200);
}

TEST_F(AuthTest, ClientCertificatesNameTheirUser) {
  const auto client = ClientOf("jane", "team-a");
  const auto send = [&](const char* method, const char* target, net::Headers headers) {
    net::Request request;
    request.method = method;
    request.target = target;
    if (request.method == "POST") request.body = "{}";
    request.headers = std::move(headers);
    auto answer = client->SendAndWait(std::move(request), std::chrono::seconds(10));
    EXPECT_TRUE(answer) << answer.error().message;
    return answer ? *answer : net::Response();
  };
  const char* who = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
  const Json user = Json::parse(send("POST", who, {}).body)["status"]["userInfo"];
  EXPECT_EQ(user["username"], "jane");
  EXPECT_EQ(user["groups"], Json::array({"team-a", "system:authenticated"}));
  EXPECT_EQ(send("GET", kPods, {}).status, 403) << "a certificate alone gives no rights";
  for (const char* header :
       {"Impersonate-User", "impersonate-group", "Impersonate-Extra-x", "Impersonate-Uid"}) {
    net::Headers headers{{"Impersonate-User", "jane"}};
    headers.Set(header, "jane");
    const net::Response refused = send("GET", "/version", std::move(headers));
    EXPECT_EQ(refused.status, 403) << header;
    EXPECT_THAT(refused.body, HasSubstr("cannot impersonate resource")) << header;
  }
}

TEST_F(AuthTest, SelfReviewsReportTheUser) {
  const Answer me =
      Post("/apis/authentication.k8s.io/v1/selfsubjectreviews",
           {{"apiVersion", "authentication.k8s.io/v1"}, {"kind", "SelfSubjectReview"}});
  EXPECT_EQ(me.status, 201) << me.text;
  EXPECT_EQ(me.json["status"]["userInfo"]["username"], "kubernetes-admin");
  const Answer may = Post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                          {{"apiVersion", "authorization.k8s.io/v1"},
                           {"kind", "SelfSubjectAccessReview"},
                           {"spec", {{"resourceAttributes", {{"verb", "create"}}}}}});
  EXPECT_EQ(may.json["status"]["allowed"], true);
  EXPECT_EQ(Get("/apis/authentication.k8s.io/v1/tokenreviews").status, 405) << "nothing is stored";
}

constexpr const char* kTokenReviews = "/apis/authentication.k8s.io/v1/tokenreviews";
constexpr const char* kAccessReviews = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
constexpr const char* kOwnAccessReviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

TEST_F(AuthTest, TokenReviewsReportTheUserOfAToken) {
  const auto status = [&](const Json& spec) {
    const Answer answer = Post(kTokenReviews, {{"spec", spec}});
    EXPECT_EQ(answer.status, 201) << answer.text;
    return answer.json["status"];
  };
  const Json known = status({{"token", server_->token()}});
  EXPECT_EQ(known["authenticated"], true);
  EXPECT_EQ(known["user"]["username"], "kubernetes-admin");
  EXPECT_EQ(known["user"]["groups"], Json::array({"system:masters", "system:authenticated"}));
  const Json audience = known["audiences"];
  EXPECT_EQ(status({{"token", server_->token()}, {"audiences", audience}}), known);
  for (const Json& wrong :
       {Json{{"token", "wrong"}}, Json{{"token", server_->token() + "x"}},
        Json{{"token", server_->token()}, {"audiences", Json::array({"https://elsewhere"})}}}) {
    const Json unknown = status(wrong);
    EXPECT_EQ(unknown["authenticated"], false) << wrong;
    EXPECT_EQ(unknown["user"], Json::object()) << wrong;
    EXPECT_NE(unknown["error"], "") << wrong;
  }
  EXPECT_EQ(Post(kTokenReviews, {{"spec", {{"token", ""}}}}).status, 400);
  EXPECT_EQ(Post(kTokenReviews, Json::object()).status, 400);
}

// A review's answer equals the server's behaviour.
TEST_F(AuthTest, AccessReviewsAgreeWithTheServer) {
  struct Row {
    Json spec;
    bool allowed;
  };
  const Json pods = {{"verb", "list"}, {"resource", "pods"}};
  const Json metrics = {{"verb", "get"}, {"path", "/metrics"}};
  const Json health = {{"verb", "get"}, {"path", "/readyz/ping"}};
  const Json impersonate = {{"verb", "impersonate"}, {"resource", "users"}};
  const Json discovery = {{"verb", "get"}, {"path", "/apis/batch"}};
  const Json masters = Json::array({"system:masters"});
  const Json everybody = Json::array({"system:authenticated"});
  const Json strangers = Json::array({"system:unauthenticated"});
  const Row rows[] = {
      {{{"user", "jane"}, {"groups", everybody}, {"resourceAttributes", pods}}, false},
      {{{"user", "jane"}, {"groups", masters}, {"resourceAttributes", pods}}, true},
      {{{"user", "jane"}, {"groups", masters}, {"nonResourceAttributes", metrics}}, true},
      {{{"user", "jane"}, {"groups", everybody}, {"nonResourceAttributes", metrics}}, false},
      {{{"user", "jane"}, {"groups", everybody}, {"nonResourceAttributes", discovery}}, true},
      {{{"user", "jane"}, {"groups", everybody}, {"resourceAttributes", impersonate}}, false},
      {{{"user", "jane"}, {"resourceAttributes", pods}}, false},
      {{{"user", "system:anonymous"}, {"groups", strangers}, {"resourceAttributes", pods}}, false},
      {{{"user", "system:anonymous"}, {"groups", strangers}, {"nonResourceAttributes", metrics}},
       false},
      {{{"user", "system:anonymous"}, {"groups", strangers}, {"nonResourceAttributes", health}},
       true},
  };
  for (const Row& row : rows) {
    const Answer answer = Post(kAccessReviews, {{"spec", row.spec}});
    EXPECT_EQ(answer.status, 201) << answer.text;
    EXPECT_EQ(answer.json["status"]["allowed"], row.allowed) << row.spec;
    EXPECT_EQ(answer.json["status"].value("reason", "") != "", row.allowed) << row.spec;
  }
  EXPECT_EQ(
      Post(kOwnAccessReviews, {{"spec", {{"resourceAttributes", pods}}}}).json["status"]["allowed"],
      true);
  EXPECT_EQ(Post(kOwnAccessReviews, {{"spec", {{"resourceAttributes", impersonate}}}})
                .json["status"]["allowed"],
            true);
}

TEST_F(AuthTest, IncompleteAccessReviewsAreRefused) {
  const Json pods = {{"verb", "list"}, {"resource", "pods"}};
  const Json path = {{"verb", "get"}, {"path", "/metrics"}};
  for (const Json& spec :
       {Json{{"user", "jane"}}, Json{{"resourceAttributes", pods}},
        Json{{"user", "jane"}, {"resourceAttributes", pods}, {"nonResourceAttributes", path}}}) {
    const Answer answer = Post(kAccessReviews, {{"spec", spec}});
    EXPECT_EQ(answer.status, 422) << spec;
    EXPECT_THAT(answer.message(), HasSubstr("must be specified")) << spec;
  }
  EXPECT_EQ(Post(kOwnAccessReviews, {{"spec", Json::object()}}).status, 422);
}

TEST_F(AuthTest, KubeconfigAndKeysAreReadableByTheirOwnerAlone) {
  const std::string path = folder_.File("kubeconfig");
  ASSERT_TRUE(WriteKubeconfig(path, server_->kubeconfig()));
  ASSERT_TRUE(WriteKubeconfig(path, server_->kubeconfig()));  // our own may be replaced
  for (const std::string& file : {path, folder_.File("pki/token"), folder_.File("pki/ca.key")}) {
    struct stat info {};
    ASSERT_EQ(::stat(file.c_str(), &info), 0) << file;
    EXPECT_EQ(info.st_mode & 0777U, 0600U) << file;
  }
}

TEST_F(AuthTest, KubeconfigOfAnotherProgramIsNotReplaced) {
  const std::string path = folder_.File("theirs");
  std::ofstream(path) << "apiVersion: v1\nkind: Config\n";
  const auto written = WriteKubeconfig(path, server_->kubeconfig());
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kAlreadyExists);
  EXPECT_THAT(written.error().message, HasSubstr("choose another file with --kubeconfig"));
}

TEST_F(AuthTest, ASecondServerOnTheSameDirectoryIsRefused) {
  ApiServerOptions options;
  options.data_directory = folder_.path();
  auto second = ApiServer::Start(options);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("works with this data directory"));
}

TEST_F(AuthTest, PortInUseIsReported) {
  const TempFolder other;
  ApiServerOptions options;
  options.data_directory = other.path();
  options.port = server_->port();
  auto second = ApiServer::Start(options);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(second.error().message, HasSubstr(std::to_string(server_->port())));
}

}  // namespace
}  // namespace berth::local
