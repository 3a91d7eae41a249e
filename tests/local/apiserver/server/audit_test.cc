// Goal: the audit log tells who did what, and what became of it.
// Method: requests over HTTPS; the server's end writes the log, which the test reads.
#include <fstream>
#include <set>

#include <gmock/gmock.h>

#include "tests/local/apiserver/server/server_fixture.h"

namespace berth::local {
namespace {

class AuditTest : public ServerTest {
 protected:
  void SetUp() override {}

  void Begin(const std::string& policy = "") {
    ApiServerOptions options;
    options.audit_log = folder_.path() + "/audit.log";
    if (!policy.empty()) {
      options.audit_policy = folder_.path() + "/policy.yaml";
      std::ofstream(options.audit_policy) << "apiVersion: audit.k8s.io/v1\nkind: Policy\n" + policy;
    }
    StartServer(std::move(options));
  }

  // Ends the server.
  std::vector<Json> Events() {
    StopServer();
    std::vector<Json> events;
    std::ifstream file(folder_.path() + "/audit.log");
    for (std::string line; std::getline(file, line);) {
      events.push_back(Json::parse(line, nullptr, false));
      EXPECT_TRUE(events.back().is_object()) << line;
    }
    return events;
  }
};

TEST_F(AuditTest, EveryRequestIsAuditedWithItsMetadata) {
  Begin();
  Post(kMaps, ConfigMapJson("a", {{"secret", "word"}}));
  Get(std::string(kMaps) + "/none?x=y");
  Send("GET", kMaps, "", {{"Impersonate-User", "jane"}});
  Get("/version");
  const std::vector<Json> events = Events();
  ASSERT_EQ(events.size(), 4U);
  Json created = events[0];
  EXPECT_FALSE(created["auditID"].get<std::string>().empty());
  EXPECT_EQ(created["sourceIPs"], Json::array({"127.0.0.1"}));
  for (const char* time : {"requestReceivedTimestamp", "stageTimestamp"}) {
    EXPECT_EQ(created[time].get<std::string>().size(), 27U);
  }
  for (const char* varies : {"auditID", "requestReceivedTimestamp", "stageTimestamp"}) {
    created.erase(varies);
  }
  EXPECT_EQ(created,
            Json({{"kind", "Event"},
                  {"apiVersion", "audit.k8s.io/v1"},
                  {"level", "Metadata"},
                  {"stage", "ResponseComplete"},
                  {"requestURI", kMaps},
                  {"verb", "create"},
                  {"user",
                   {{"username", "kubernetes-admin"},
                    {"groups", {"system:masters", "system:authenticated"}}}},
                  {"sourceIPs", {"127.0.0.1"}},
                  {"userAgent", "tester/1.0"},
                  {"objectRef",
                   {{"resource", "configmaps"},
                    {"namespace", "default"},
                    {"name", "a"},
                    {"apiVersion", "v1"}}},
                  {"responseStatus", {{"metadata", Json::object()}, {"code", 201}}},
                  {"annotations",
                   {{"authorization.k8s.io/decision", "allow"},
                    {"authorization.k8s.io/reason", "the user is in the group system:masters"}}}}));
  EXPECT_EQ(events[1]["responseStatus"]["code"], 404);
  EXPECT_EQ(events[1]["responseStatus"]["reason"], "NotFound");
  EXPECT_EQ(events[1]["requestURI"], std::string(kMaps) + "/none?x=y");
  EXPECT_EQ(events[2]["impersonatedUser"]["username"], "jane");
  EXPECT_EQ(events[2]["verb"], "list");
  EXPECT_EQ(events[2]["annotations"]["authorization.k8s.io/decision"], "forbid");
  EXPECT_EQ(events[2]["responseStatus"]["reason"], "Forbidden");
  EXPECT_FALSE(events[3].contains("objectRef"));
}

TEST_F(AuditTest, AuditLevelsAddTheObjects) {
  Begin(
      "rules:\n"
      "- {level: None, nonResourceURLs: ['*']}\n"
      "- {level: RequestResponse, verbs: [create], resources: [{group: ''}]}\n"
      "- {level: Request, verbs: [patch], omitStages: [RequestReceived]}\n");
  Get("/version");
  Get(kMaps);
  Post(kMaps, ConfigMapJson("a", {{"k", "v"}}));
  Patch(std::string(kMaps) + "/a", "merge", {{"data", {{"k", "w"}}}});
  const std::vector<Json> events = Events();
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[0]["stage"], "RequestReceived");
  EXPECT_EQ(events[1]["stage"], "ResponseComplete");
  EXPECT_EQ(events[0]["auditID"], events[1]["auditID"]);
  EXPECT_EQ(events[1]["requestObject"]["data"]["k"], "v");
  EXPECT_TRUE(events[1]["responseObject"]["metadata"].contains("uid"));
  EXPECT_EQ(events[2]["requestObject"], Json({{"data", {{"k", "w"}}}}));
  EXPECT_FALSE(events[2].contains("responseObject"));
}

TEST_F(AuditTest, WatchIsAuditedAtItsBeginningAndItsEnd) {
  Begin();
  {
    const auto watch = Watch(std::string(kMaps) + "?watch=true&timeoutSeconds=1");
    EXPECT_TRUE(watch->WaitForEnd());
  }
  std::set<std::string> stages;
  for (const Json& event : Events()) {
    EXPECT_EQ(event["verb"], "watch");
    stages.insert(event["stage"].get<std::string>());
  }
  EXPECT_EQ(stages, (std::set<std::string>{"ResponseComplete", "ResponseStarted"}));
}

TEST_F(AuditTest, AdmissionPoliciesAnnotateAuditEvents) {
  Begin(
      "rules: [{level: Metadata, verbs: [create], resources: [{group: '', resources: "
      "[configmaps]}], omitStages: [RequestReceived]}]\n");
  const std::string path = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic";
  const Json rule{{"apiGroups", {""}},
                  {"apiVersions", {"v1"}},
                  {"operations", {"CREATE"}},
                  {"resources", {"configmaps"}}};
  ASSERT_EQ(
      Post(path + "ies",
           {{"metadata", {{"name", "p"}}},
            {"spec",
             {{"matchConstraints", {{"resourceRules", Json::array({rule})}}},
              {"validations", Json::array({{{"expression", "false"}}})},
              {"auditAnnotations",
               Json::array({{{"key", "size"}, {"valueExpression", "string(size(object.data))"}},
                            {{"key", "none"}, {"valueExpression", "null"}}})}}}})
          .status,
      201);
  ASSERT_EQ(
      Post(path + "ybindings", {{"metadata", {{"name", "b"}}},
                                {"spec", {{"policyName", "p"}, {"validationActions", {"Audit"}}}}})
          .status,
      201);
  EXPECT_EQ(Post(kMaps, ConfigMapJson("a", {{"k", "v"}})).status, 201);
  const std::vector<Json> events = Events();
  ASSERT_EQ(events.size(), 1U);
  const Json& notes = events[0]["annotations"];
  EXPECT_EQ(notes["p/size"], "1");
  EXPECT_FALSE(notes.contains("p/none"));
  const Json failures = Json::parse(
      notes["validation.policy.admission.k8s.io/validation_failure"].get<std::string>());
  EXPECT_EQ(failures, Json::array({{{"message", "failed expression: false"},
                                    {"policy", "p"},
                                    {"binding", "b"},
                                    {"expressionIndex", 0},
                                    {"validationActions", {"Audit"}}}}));
}

TEST_F(AuditTest, WrongOptionsAreRefused) {
  ApiServerOptions options;
  options.audit_log = folder_.path();
  EXPECT_FALSE(ApiServer::Start(options));
  options.audit_log = folder_.path() + "/audit.log";
  options.audit_policy = folder_.path() + "/none";
  const auto missing = ApiServer::Start(options);
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("--audit-policy"), std::string::npos);
}

}  // namespace
}  // namespace berth::local
