// Goal: an API group behind the aggregation layer shows its documents to everybody and its data to
// users with the right only: users whom a trusted proxy names, or whose token is known.
// Method: real HTTPS with certificates of the test; a gate that answers by the user.
#include "kube/runtime/extension_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "net/certificates.h"
#include "net/client.h"
#include "net/io_pool.h"

namespace berth::kube {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using Json = nlohmann::json;
using Outcome = AccessAnswer::Outcome;

constexpr char kItems[] = "/apis/things.example/v2/boxes/b%20c/items";

ExtensionGroup Things() {
  return {.name = "things.example",
          .versions = {"v2", "v1"},
          .resources = {{"boxes", "box", "Box", false, "items", "ItemList"},
                        {"bags", "bag", "Bag", true, "items", "ItemList"}}};
}

ExtensionApi Echo() {
  return {Things(),
          [](const ExtensionRequest& request, std::function<void(ExtensionApi::Answer)> done) {
            done([request] {
              Json body = {{"version", request.version},   {"namespace", request.namespace_name},
                           {"resource", request.resource}, {"name", request.name},
                           {"sub", request.subresource},   {"query", request.query}};
              return net::Response{.body = body.dump()};
            });
          }};
}

net::Request Get(const std::string& target, net::Headers headers = {}) {
  return {.method = "GET", .target = target, .headers = std::move(headers)};
}

TEST(ExtensionApi, RoutesRequestsOfItsSubresources) {
  const ExtensionApi api = Echo();
  const auto route =
      api.RouteOf(Get("/apis/things.example/v1/namespaces/a/bags/b/items?x=1%202&y"));
  ASSERT_TRUE(route.request);
  EXPECT_EQ(route.request->version, "v1");
  EXPECT_EQ(route.request->namespace_name, "a");
  EXPECT_EQ(route.request->resource, "bags");
  EXPECT_EQ(route.request->name, "b");
  EXPECT_EQ(route.request->query, (std::map<std::string, std::string>{{"x", "1 2"}, {"y", ""}}));
  struct Row {
    const char* target;
    int status;
  };
  const Row rows[] = {{"/apis/things.example/v3/boxes/b/items", 404},
                      {"/apis/things.example/v2/boxes/b", 404},
                      {"/apis/things.example/v2/boxes", 404},
                      {"/apis/things.example/v2/boxes//items", 404},
                      {"/apis/things.example/v2/bags/b/items", 404},
                      {"/apis/things.example/v2/namespaces/a/boxes/b/items", 404},
                      {"/apis/things.example/v2/namespaces//bags/b/items", 404},
                      {"/apis/things.example/v2/boxes/b/items/more", 404},
                      {"/apis/things.example/v2/boxes/%2/items", 400},
                      {"/apis/things.example/v2/boxes/%ff/items", 400},
                      {"/apis/things.example/v2/boxes/a%2Fb/items", 400},
                      {"/apis/things.example/v2/boxes/a%00/items", 400},
                      {"/apis/things.example/v2/boxes/b/items?x=%", 400},
                      {"/apis/other.example/v2/boxes/b/items", 404},
                      {"/", 404}};
  for (const Row& row : rows) {
    const auto refused = api.RouteOf(Get(row.target));
    ASSERT_TRUE(refused.answer) << row.target;
    EXPECT_EQ(refused.answer->status, row.status) << row.target;
    EXPECT_EQ(Json::parse(refused.answer->body)["kind"], "Status");
  }
  net::Request post = Get(kItems);
  post.method = "POST";
  EXPECT_EQ(api.RouteOf(post).answer->status, 405);
}

TEST(ExtensionApi, TextThatIsNotUtf8IsReplacedInTheAnswer) {
  const net::Response answer = StatusAnswer(403, "Forbidden", "User \"\xff\" cannot");
  EXPECT_EQ(Json::parse(answer.body)["message"], "User \"\uFFFD\" cannot");
}

TEST(ExtensionApi, ServesDiscoveryDocuments) {
  const ExtensionApi api = Echo();
  const auto document = [&api](const std::string& path, const std::string& accept = "") {
    const auto route = api.RouteOf(Get(path, {{"Accept", accept}}));
    EXPECT_EQ(route.answer->status, 200) << path;
    return Json::parse(route.answer->body);
  };
  EXPECT_EQ(document("/apis")["groups"][0]["name"], "things.example");
  EXPECT_EQ(document("/apis/things.example")["preferredVersion"]["version"], "v2");
  EXPECT_EQ(document("/apis/things.example/"), document("/apis/things.example"));
  EXPECT_EQ(document("/apis/things.example/v1/"), document("/apis/things.example/v1"));
  const Json list = document("/apis/things.example/v1");
  EXPECT_EQ(list["resources"][0]["verbs"], Json::array());
  EXPECT_EQ(list["resources"][3], (Json{{"name", "bags/items"},
                                        {"singularName", ""},
                                        {"namespaced", true},
                                        {"kind", "ItemList"},
                                        {"verbs", {"get"}}}));
  const std::string accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
  const Json aggregated = document("/apis", accept + ",application/json");
  EXPECT_EQ(aggregated["apiVersion"], "apidiscovery.k8s.io/v2");
  EXPECT_EQ(aggregated["items"][0]["versions"][1]["resources"][1]["subresources"][0]["verbs"],
            Json::array({"get"}));
  EXPECT_EQ(document("/apis", "application/json;g=apidiscovery.k8s.io;v=v2beta1")["apiVersion"],
            "apidiscovery.k8s.io/v2beta1");
  EXPECT_EQ(document("/openapi/v2")["swagger"], "2.0");
  const Json index = document("/openapi/v3");
  const std::string v3 = index["paths"]["apis/things.example/v2"]["serverRelativeURL"];
  EXPECT_TRUE(document(v3)["paths"].contains("/apis/things.example/v2/boxes/{name}/items"));
}

class ExtensionServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    net::CertificateRequest request;
    request.not_before = WallTime(1'700'000'000s);
    request.not_after = WallTime(4'000'000'000s);
    authority_ = *net::MakeCertificateAuthority("ca", request.not_before, request.not_after);
    other_authority_ =
        *net::MakeCertificateAuthority("proxies", request.not_before, request.not_after);
    request.common_name = "server";
    request.dns_names = {"localhost"};
    request.for_server = true;
    auto server = ExtensionServer::Start(
        pool_,
        {.tls =
             std::make_shared<const net::TlsIdentity>(*net::IssueCertificate(authority_, request)),
         .max_connections_per_peer = kMostConnections},
        Echo(), [this](const AccessQuestion& question, const AccessReviews::Done& done) {
          Decide(question, done);
        });
    ASSERT_TRUE(server) << server.error().message;
    server_ = *std::move(server);
  }
  void TearDown() override {
    server_->Stop();
    pool_.Stop();
  }

  void Decide(const AccessQuestion& question, const AccessReviews::Done& done) {
    asked_ = question;
    const std::string name = question.user ? question.user->name : question.token;
    if (name == "jane") return done({.outcome = Outcome::kAllowed, .user = "jane"});
    if (name == "joe") return done({.outcome = Outcome::kDenied, .user = "joe"});
    if (name == "busy") return done({.outcome = Outcome::kOverloaded});
    if (name == "lost") return done({.error = "no answer"});
    done({.outcome = Outcome::kNoUser});
  }

  net::TlsIdentity ClientOf(const net::TlsIdentity& authority, const std::string& name) {
    net::CertificateRequest request;
    request.common_name = name;
    request.not_before = WallTime(1'700'000'000s);
    request.not_after = WallTime(4'000'000'000s);
    return *net::IssueCertificate(authority, request);
  }

  // Status 0: no answer.
  net::Response Ask(net::Request request, const net::TlsIdentity* certificate = nullptr) {
    net::ClientOptions options;
    options.base_url = "https://localhost:" + std::to_string(server_->port());
    options.ca_pem = authority_.certificate_chain_pem;
    if (certificate != nullptr) {
      options.certificate = std::make_shared<const net::TlsIdentity>(*certificate);
    }
    auto client = net::HttpClient::Create(pool_, std::move(options));
    const auto answer = (*client)->SendAndWait(std::move(request), 10s);
    return answer ? *answer : net::Response{.status = 0};
  }

  void TrustProxy(const net::TlsIdentity& authority, std::vector<std::string> names) {
    ASSERT_TRUE(server_->UseFrontProxy({.client_ca_pem = authority.certificate_chain_pem,
                                        .allowed_names = std::move(names),
                                        .username_headers = {"X-Remote-User"},
                                        .uid_headers = {"X-Remote-Uid"},
                                        .group_headers = {"X-Remote-Group"},
                                        .extra_prefixes = {"X-Remote-Extra-"}}));
  }

  static constexpr std::size_t kMostConnections = 40;

  net::IoPool pool_{2};
  net::TlsIdentity authority_;
  net::TlsIdentity other_authority_;
  AccessQuestion asked_;
  std::unique_ptr<ExtensionServer> server_;
};

TEST_F(ExtensionServerTest, AccessReviewDecidesEachRequest) {
  struct Row {
    const char* authorization;
    int status;
    const char* body;
  };
  const Row rows[] = {
      {"Bearer jane", 200, "\"name\":\"b c\""},
      {"", 401, "Unauthorized"},
      {"Basic jane", 401, "Unauthorized"},
      {"Bearer nobody", 401, "Unauth"},
      {"Bearer joe", 403, "User \\\"joe\\\" cannot get resource \\\"boxes/items\\\""},
      {"Bearer busy", 503, "too many"},
      {"Bearer lost", 500, "reviewed"}};
  for (const Row& row : rows) {
    const net::Response answer = Ask(Get(kItems, {{"Authorization", row.authorization}}));
    EXPECT_EQ(answer.status, row.status) << row.authorization;
    EXPECT_THAT(answer.body, HasSubstr(row.body)) << row.authorization;
  }
  EXPECT_EQ(asked_.resource, (AccessResource{"things.example", "v2", "boxes", "items", "", "b c"}));
  EXPECT_EQ(asked_.verb, "get");
  EXPECT_EQ(Ask(Get("/apis/things.example")).status, 200) << "documents are for everybody";
}

TEST_F(ExtensionServerTest, TrustedProxyNamesTheUser) {
  const net::TlsIdentity proxy = ClientOf(other_authority_, "front-proxy");
  const net::Headers jane{{"X-Remote-User", "jane"},
                          {"X-Remote-Group", "team"},
                          {"X-Remote-Group", "system:authenticated"},
                          {"X-Remote-Uid", "u-1"},
                          {"X-Remote-Extra-Scope%2Fa", "x"}};
  EXPECT_EQ(Ask(Get(kItems, jane), &proxy).status, 401) << "no proxy is known yet";
  TrustProxy(other_authority_, {"front-proxy"});
  EXPECT_EQ(Ask(Get(kItems, jane), &proxy).status, 200);
  EXPECT_EQ(asked_.user,
            (AccessUser{"jane", "u-1", {"team", "system:authenticated"}, {{"scope/a", {"x"}}}}));
  EXPECT_EQ(asked_.token, "");
  EXPECT_EQ(Ask(Get(kItems, {{"X-Remote-User", "joe"}}), &proxy).status, 403);
  EXPECT_EQ(Ask(Get(kItems), &proxy).status, 401) << "no user";
}

TEST_F(ExtensionServerTest, UntrustedClientsNameNoUser) {
  TrustProxy(other_authority_, {"front-proxy"});
  const net::Headers jane{{"X-Remote-User", "jane"}};
  EXPECT_EQ(Ask(Get(kItems, jane)).status, 401) << "without a certificate";
  const net::TlsIdentity other = ClientOf(other_authority_, "somebody");
  EXPECT_EQ(Ask(Get(kItems, jane), &other).status, 401) << "another common name";
  const net::TlsIdentity forged = ClientOf(authority_, "front-proxy");
  EXPECT_EQ(Ask(Get(kItems, jane), &forged).status, 0) << "a certificate of another authority";
  // The authority rotates.
  TrustProxy(authority_, {});
  EXPECT_EQ(Ask(Get(kItems, jane), &forged).status, 200);
  const net::TlsIdentity old = ClientOf(other_authority_, "front-proxy");
  EXPECT_EQ(Ask(Get(kItems, jane), &old).status, 0);
}

TEST_F(ExtensionServerTest, ConnectionEndsWithItsClientAuthority) {
  TrustProxy(other_authority_, {"front-proxy"});
  net::ClientOptions options;
  options.base_url = "https://localhost:" + std::to_string(server_->port());
  options.ca_pem = authority_.certificate_chain_pem;
  options.certificate =
      std::make_shared<const net::TlsIdentity>(ClientOf(other_authority_, "front-proxy"));
  const auto client = net::HttpClient::Create(pool_, std::move(options));
  const auto status = [&client] {
    const auto answer = (*client)->SendAndWait(Get(kItems, {{"X-Remote-User", "jane"}}), 10s);
    return answer ? answer->status : 0;
  };
  EXPECT_EQ(status(), 200);
  TrustProxy(authority_, {"front-proxy"});
  EXPECT_EQ(status(), 0);
}

// Each client of a peer holds its connection open.
TEST_F(ExtensionServerTest, ConnectionsOfOnePeerAreBounded) {
  std::vector<std::unique_ptr<net::HttpClient>> clients;
  const auto status = [&] {
    net::ClientOptions options;
    options.base_url = "https://localhost:" + std::to_string(server_->port());
    options.ca_pem = authority_.certificate_chain_pem;
    auto client = net::HttpClient::Create(pool_, std::move(options));
    const auto answer = (*client)->SendAndWait(Get("/apis/things.example"), 10s);
    clients.push_back(*std::move(client));
    return answer ? answer->status : 0;
  };
  for (std::size_t i = 0; i < kMostConnections; ++i) ASSERT_EQ(status(), 200) << i;
  EXPECT_EQ(status(), 0);
}

TEST(FrontProxyTrust, IsReadFromTheConfigMap) {
  const Json map = {{"data",
                     {{"requestheader-client-ca-file", "PEM"},
                      {"requestheader-allowed-names", "[\"proxy\"]"},
                      {"requestheader-username-headers", "[\"X-User\"]"},
                      {"requestheader-group-headers", "[\"X-Group\",\"X-Team\"]"},
                      {"requestheader-extra-headers-prefix", "[\"X-Extra-\"]"}}}};
  const auto trust = ParseFrontProxyTrust(map);
  ASSERT_TRUE(trust);
  EXPECT_EQ(*trust, (FrontProxyTrust{.client_ca_pem = "PEM",
                                     .allowed_names = {"proxy"},
                                     .username_headers = {"X-User"},
                                     .group_headers = {"X-Group", "X-Team"},
                                     .extra_prefixes = {"X-Extra-"}}));
  EXPECT_EQ(*ParseFrontProxyTrust(Json::object()), FrontProxyTrust{});
  Json bad = map;
  bad["data"]["requestheader-allowed-names"] = "proxy";
  EXPECT_THAT(ParseFrontProxyTrust(bad).error().message,
              HasSubstr("data.requestheader-allowed-names must be a JSON list of strings"));
}

}  // namespace
}  // namespace berth::kube
