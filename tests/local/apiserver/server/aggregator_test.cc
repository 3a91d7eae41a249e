// Goal: requests of an APIService that names a Service are answered by its server, which learns the
// user and takes this server alone for the front proxy; discovery and the condition Available tell
// whether it answers; hostile paths and headers do not pass. Method: a server over HTTPS that
// answers with what it has got, at the address of a stored Service.
#include <gmock/gmock.h>

#include "base/strings.h"
#include "net/server.h"
#include "tests/local/apiserver/server/server_fixture.h"

namespace berth::local {
namespace {

using testing::HasSubstr;

constexpr const char* kExtServices = "/api/v1/namespaces/default/services";
constexpr const char* kExtApiServices = "/apis/apiregistration.k8s.io/v1/apiservices";
constexpr const char* kExtName = "v1.ext.test";
constexpr const char* kExtRoot = "/apis/ext.test/v1";

class AggregatorTest : public ServerTest {
 protected:
  void TearDown() override {
    if (extension_ != nullptr) extension_->Stop();
    held_.clear();
    extension_.reset();
    ServerTest::TearDown();
  }

  void ServeExtension() {
    const auto identity = server_->IssueServerCertificate("ext", {"ext.default.svc"});
    ASSERT_TRUE(identity);
    net::ServerOptions options;
    options.tls = std::make_shared<const net::TlsIdentity>(
        net::TlsIdentity{identity->certificate_chain_pem, identity->private_key_pem});
    options.client_ca_pem =
        Get("/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication")
            .json["data"]["requestheader-client-ca-file"];
    auto started = net::HttpServer::Start(
        *io_, std::move(options),
        [this](const net::Request& request, const std::shared_ptr<net::Responder>& responder) {
          AnswerExtension(request, *responder);
        });
    ASSERT_TRUE(started) << started.error().message;
    extension_ = *std::move(started);
  }

  void AnswerExtension(const net::Request& request, net::Responder& responder) {
    if (request.target == std::string(kExtRoot) + "/things?watch=1") {
      auto stream = responder.StartStream(200, {{"Content-Type", "application/json"}});
      stream->Write("{\"type\":\"ADDED\"}\n");
      held_.push_back(std::move(stream));
      return;
    }
    Json answer{{"certificate", request.client_certificate_common_name},
                {"method", request.method},
                {"target", request.target},
                {"body", request.body},
                {"headers", Json::array()}};
    for (const net::Header& header : request.headers) {
      answer["headers"].push_back(header.name + ": " + header.value);
    }
    if (request.target == kExtRoot) {
      answer = {{"kind", "APIResourceList"},
                {"groupVersion", "ext.test/v1"},
                {"resources",
                 {{{"name", "things"},
                   {"singularName", "thing"},
                   {"namespaced", true},
                   {"kind", "Thing"},
                   {"verbs", {"get", "list"}}},
                  {{"name", "things/status"},
                   {"singularName", ""},
                   {"namespaced", true},
                   {"kind", "Thing"},
                   {"verbs", {"get"}}}}}};
    } else if (request.target == "/openapi/v3") {
      answer = {{"paths", {{"apis/ext.test/v1", {{"serverRelativeURL", "/openapi/v3/x?hash=1"}}}}}};
    }
    responder.Send({200, {{"Content-Type", "application/json"}}, answer.dump()});
  }

  // Makes the Service, by its name on this machine, and the APIService.
  void Register(const Json& spec) {
    ASSERT_EQ(
        Post(kExtServices, {{"metadata", {{"name", "ext"}}},
                            {"spec", {{"type", "ExternalName"}, {"externalName", "localhost"}}}})
            .status,
        201);
    Json object{
        {"metadata", {{"name", kExtName}}},
        {"spec",
         {{"group", "ext.test"},
          {"version", "v1"},
          {"groupPriorityMinimum", 100},
          {"versionPriority", 10},
          {"service", {{"namespace", "default"}, {"name", "ext"}, {"port", extension_->port()}}}}}};
    object["spec"].update(spec);
    const Answer made = Post(kExtApiServices, object);
    ASSERT_EQ(made.status, 201) << made.text;
  }
  Json Trusting() { return {{"caBundle", Base64Encode(server_->ca_pem())}}; }

  // "REASON: MESSAGE" of the condition Available once it has the status.
  std::string WaitForAvailable(const std::string& status) {
    const auto watch =
        Watch(std::string(kExtApiServices) + "?watch=1&fieldSelector=metadata.name%3D" + kExtName);
    while (true) {
      const Json event = watch->Next();
      if (event.is_null()) return "(no event)";
      for (const Json& condition : event["object"]["status"].value("conditions", Json::array())) {
        if (condition["status"] != status) continue;
        return condition["reason"].get<std::string>() + ": " +
               condition["message"].get<std::string>();
      }
    }
  }

  std::unique_ptr<net::HttpServer> extension_;
  std::vector<std::shared_ptr<net::Stream>> held_;
};

TEST_F(AggregatorTest, ForwardsRequestsWithTheirUser) {
  ServeExtension();
  Register(Trusting());
  EXPECT_EQ(WaitForAvailable("True"), "Passed: all checks passed");
  const std::string target = std::string(kExtRoot) + "/namespaces/default/things?limit=5&x=a%20b";
  const Answer answer = Send("POST", target, "{\"a\":1}",
                             {{"X-Remote-User", "root"},
                              {"Impersonate-User", "jane"},
                              {"Impersonate-Group", "system:masters"},
                              {"Impersonate-Extra-a%2fb", "c"}});
  EXPECT_EQ(answer.json["certificate"], "front-proxy-client");
  EXPECT_EQ(answer.json["method"], "POST");
  EXPECT_EQ(answer.json["target"], target);
  EXPECT_EQ(answer.json["body"], "{\"a\":1}");
  const std::string headers = answer.json["headers"].dump();
  EXPECT_THAT(headers, HasSubstr("\"X-Remote-User: jane\""));
  EXPECT_THAT(headers, HasSubstr("\"X-Remote-Group: system:masters\""));
  EXPECT_THAT(headers, HasSubstr("\"X-Remote-Extra-a%2Fb: c\""));
  EXPECT_THAT(headers, testing::Not(HasSubstr("root"))) << "clients do not name themselves";
  EXPECT_THAT(headers, testing::Not(HasSubstr("Authorization")));
  EXPECT_THAT(headers, testing::Not(HasSubstr("Impersonate")));
}

TEST_F(AggregatorTest, ChecksRightsBeforeItForwards) {
  ServeExtension();
  Register(Trusting());
  WaitForAvailable("True");
  const Answer answer = Send("GET", std::string(kExtRoot) + "/namespaces/default/things", "",
                             {{"Impersonate-User", "jane"}});
  EXPECT_EQ(answer.status, 403);
  EXPECT_THAT(answer.message(), HasSubstr("cannot list resource \"things\" in API group"));
}

TEST_F(AggregatorTest, RefusesAmbiguousPaths) {
  ServeExtension();
  Register(Trusting());
  WaitForAvailable("True");
  for (const char* rest :
       {"/a/../things", "/./things", "//things", "/a%2Fthings", "/%2e%2e/x", "/watch/things",
        "/watch/namespaces/default/things", "/proxy/things", "/namespaces/default/things/a/b/c"}) {
    EXPECT_EQ(Get(std::string(kExtRoot) + rest).status, 400) << rest;
  }
  EXPECT_EQ(Send("GET", std::string(kExtRoot) + "/things", "",
                 {{"Connection", "Upgrade"}, {"Upgrade", "websocket"}})
                .status,
            400);
}

TEST_F(AggregatorTest, ForwardsWatchesPieceByPiece) {
  ServeExtension();
  Register(Trusting());
  WaitForAvailable("True");
  const auto watch = Watch(std::string(kExtRoot) + "/things?watch=1");
  EXPECT_EQ(watch->NextLine(), "{\"type\":\"ADDED\"}");
}

TEST_F(AggregatorTest, DiscoveryListsTheRegisteredGroup) {
  ServeExtension();
  Register(Trusting());
  WaitForAvailable("True");
  EXPECT_THAT(Get("/apis").text, HasSubstr("\"groupVersion\":\"ext.test/v1\""));
  EXPECT_EQ(Get("/apis/ext.test").json["preferredVersion"]["version"], "v1");
  EXPECT_EQ(Get(kExtRoot).json["resources"][0]["name"], "things");
  const Json aggregated =
      Get("/apis",
          {{"Accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}})
          .json;
  const Json& last = aggregated["items"].back();
  EXPECT_EQ(last["metadata"]["name"], "ext.test");
  const Json resource = last["versions"][0]["resources"][0];
  EXPECT_EQ(resource["resource"], "things");
  EXPECT_EQ(resource["scope"], "Namespaced");
  EXPECT_EQ(resource["responseKind"],
            (Json{{"group", "ext.test"}, {"version", "v1"}, {"kind", "Thing"}}));
  EXPECT_EQ(resource["subresources"][0]["subresource"], "status");
  EXPECT_EQ(Get("/openapi/v3").json["paths"]["apis/ext.test/v1"]["serverRelativeURL"],
            "/openapi/v3/x?hash=1");
  EXPECT_EQ(Get("/openapi/v3/apis/ext.test/v1").json["target"], "/openapi/v3/apis/ext.test/v1");
}

TEST_F(AggregatorTest, ReportsWhyAnExtensionIsNotAvailable) {
  ServeExtension();
  Register({{"caBundle", Base64Encode(extension_ == nullptr ? "" : server_->ca_pem())},
            {"service", {{"namespace", "default"}, {"name", "other"}, {"port", 443}}}});
  EXPECT_EQ(WaitForAvailable("False"),
            "ServiceNotFound: service/other in \"default\" is not present");
  const Answer answer = Get(std::string(kExtRoot) + "/things");
  EXPECT_EQ(answer.status, 503);
  EXPECT_THAT(answer.message(), HasSubstr("APIService v1.ext.test is not available"));
  EXPECT_THAT(Get("/apis").text, testing::Not(HasSubstr("ext.test")));
}

TEST_F(AggregatorTest, ChecksTheCertificateOfTheExtension) {
  ServeExtension();
  Register(Json::object());  // the system's roots do not know it
  EXPECT_THAT(WaitForAvailable("False"), HasSubstr("certificate verify failed"));
  ASSERT_EQ(Patch(std::string(kExtApiServices) + "/" + kExtName, "merge",
                  {{"spec", {{"insecureSkipTLSVerify", true}}}})
                .status,
            200);
  EXPECT_EQ(WaitForAvailable("True"), "Passed: all checks passed");
}

TEST_F(AggregatorTest, BuiltinGroupsAreNotForwarded) {
  ServeExtension();
  const std::string name = std::string(kExtApiServices) + "/v1.batch";
  ASSERT_EQ(Patch(name, "merge",
                  {{"spec",
                    {{"caBundle", Base64Encode(server_->ca_pem())},
                     {"service",
                      {{"namespace", "default"}, {"name", "ext"}, {"port", extension_->port()}}}}}})
                .status,
            200);
  EXPECT_EQ(Get("/apis/batch/v1/jobs").json["kind"], "JobList");
}

}  // namespace
}  // namespace berth::local
