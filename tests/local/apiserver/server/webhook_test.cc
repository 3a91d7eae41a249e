// Goal: admission and conversion webhooks are called for matching requests, and their answers and
// failures have Kubernetes' effects.
#include <chrono>
#include <thread>

#include <gmock/gmock.h>

#include "tests/local/apiserver/server/no_streams.h"
#include "tests/local/apiserver/server/webhook_fixture.h"

namespace berth::local {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

TEST_F(WebhookTest, AMutatingWebhookPatchesTheObject) {
  Serve([](const Json& review) {
    const Json patch =
        Json::array({{{"op", "add"}, {"path", "/data"}, {"value", {{"by", "hook"}}}}});
    return Answered(review, {{"allowed", true},
                             {"patchType", "JSONPatch"},
                             {"patch", Base64Encode(patch.dump())},
                             {"warnings", {"take care"}}});
  });
  Register(kMutating, Hook("configmaps"));
  const Answer created = Post(kMaps, ConfigMapJson("a"));
  ASSERT_EQ(created.status, 201) << created.text;
  EXPECT_EQ(created.json["data"]["by"], "hook");
  EXPECT_THAT(created.Warnings(), Contains("299 - \"take care\""));
  const Json& request = last_["request"];
  EXPECT_EQ(request["operation"], "CREATE");
  EXPECT_EQ(request["namespace"], "default");
  EXPECT_EQ(request["name"], "a");
  EXPECT_EQ(request["userInfo"]["username"], "kubernetes-admin");
  EXPECT_EQ(request["object"]["kind"], "ConfigMap");
  EXPECT_TRUE(request["oldObject"].is_null());
  EXPECT_EQ(request["resource"],
            (Json{{"group", ""}, {"version", "v1"}, {"resource", "configmaps"}}));
  Post("/api/v1/namespaces/default/secrets", {{"metadata", {{"name", "s"}}}});
  EXPECT_EQ(calls_, 1);  // no rule for secrets
  Send("POST", kMaps, ConfigMapJson("b").dump(),
       {{"Impersonate-User", "jane"},
        {"Impersonate-Group", "system:masters"},
        {"Impersonate-Extra-project", "x"}});
  EXPECT_EQ(last_["request"]["userInfo"],
            Json({{"username", "jane"},
                  {"groups", {"system:masters", "system:authenticated"}},
                  {"extra", {{"project", {"x"}}}}}));
}

TEST_F(WebhookTest, ExecAndAttachAreReviewed) {
  server_->SetPodStreams(std::make_shared<NoStreams>());
  ASSERT_EQ(Post("/api/v1/namespaces/default/pods",
                 {{"metadata", {{"name", "p"}}},
                  {"spec", {{"containers", Json::array({{{"name", "c"}, {"image", "i"}}})}}}})
                .status,
            201);
  Serve([](const Json& review) {
    return Answered(review, {{"allowed", false}, {"status", {{"message", "no attaching here"}}}});
  });
  Json hook = Hook("pods/attach");
  hook["rules"][0]["operations"] = {"CONNECT"};
  Register(kValidating, hook);
  const std::string pod = "/api/v1/namespaces/default/pods/p";
  const Answer attached = Get(pod + "/attach?container=c&stdout=true");
  EXPECT_EQ(attached.status, 400);
  EXPECT_THAT(attached.message(), HasSubstr("denied the request: no attaching here"));
  const Json& request = last_["request"];
  EXPECT_EQ(request["operation"], "CONNECT");
  EXPECT_EQ(request["kind"],
            Json({{"group", ""}, {"version", "v1"}, {"kind", "PodAttachOptions"}}));
  EXPECT_EQ(request["subResource"], "attach");
  EXPECT_EQ(request["name"], "p");
  EXPECT_EQ(request["object"], Json({{"apiVersion", "v1"},
                                     {"kind", "PodAttachOptions"},
                                     {"stdout", true},
                                     {"container", "c"}}));
  EXPECT_THAT(Get(pod + "/exec?command=ls&stdout=true").message(),
              HasSubstr("Upgrade request required"));
  EXPECT_EQ(calls_, 1);
}

// The time of the request is over when the first webhook has answered.
TEST_F(WebhookTest, WriteIsAbandonedAfterItsTimeout) {
  constexpr auto kPatience = std::chrono::milliseconds(50);
  Serve([kPatience](const Json& review) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (std::chrono::steady_clock::now() <= end) std::this_thread::yield();
    return Answered(review, {{"allowed", true}});
  });
  const Json first = Hook("configmaps");
  Json second = first;
  second["name"] = "second.example.com";
  const Json hooks = {{"metadata", {{"name", "hooks"}}}, {"webhooks", {first, second}}};
  ASSERT_EQ(Post(kMutating, hooks).status, 201);
  const Answer late = Post(std::string(kMaps) + "?timeout=50ms", ConfigMapJson("late"));
  EXPECT_EQ(late.status, 504) << late.text;
  EXPECT_EQ(late.reason(), "Timeout");
  EXPECT_LE(calls_, 1) << "the second webhook is not asked";
  EXPECT_EQ(Get(std::string(kMaps) + "/late").status, 404);
  EXPECT_EQ(Post(kMaps, ConfigMapJson("patient")).status, 201);
}

TEST_F(WebhookTest, RefusalOfAWebhookIsReturned) {
  Serve([](const Json& review) {
    return Answered(
        review,
        {{"allowed", false},
         {"status", {{"code", 403}, {"reason", "Forbidden"}, {"message", "no such thing"}}}});
  });
  Register(kValidating, Hook("configmaps"));
  const Answer refused = Post(kMaps, ConfigMapJson("a"));
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.message(),
            "admission webhook \"hook.example.com\" denied the request: no such thing");
  EXPECT_EQ(Get(std::string(kMaps) + "/a").status, 404);
}

TEST_F(WebhookTest, RefusalWithoutAMessageIs400) {
  Serve([](const Json& review) { return Answered(review, {{"allowed", false}}); });
  Register(kValidating, Hook("configmaps"));
  const Answer refused = Post(kMaps, ConfigMapJson("a"));
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(refused.message(),
            "admission webhook \"hook.example.com\" denied the request without explanation");
}

TEST_F(WebhookTest, FailuresFollowTheFailurePolicy) {
  Json hook = Hook("configmaps");  // not served
  Register(kValidating, hook);
  const Answer failed = Post(kMaps, ConfigMapJson("a"));
  EXPECT_EQ(failed.status, 500);
  EXPECT_EQ(failed.reason(), "InternalError");
  EXPECT_EQ(failed.message(),
            "Internal error occurred: failed calling webhook \"hook.example.com\": failed to call "
            "webhook: Post \"https://hook.default.svc:443/x?timeout=10s\": service \"hook\" not "
            "found");
  Patch(std::string(kValidating) + "/hooks", "json",
        Json::array(
            {{{"op", "replace"}, {"path", "/webhooks/0/failurePolicy"}, {"value", "Ignore"}}}));
  EXPECT_EQ(Post(kMaps, ConfigMapJson("a")).status, 201);
}

constexpr const char* kServices = "/api/v1/namespaces/default/services";

Json ServiceJson(const Json& spec) { return {{"metadata", {{"name", "hook"}}}, {"spec", spec}}; }

TEST_F(WebhookTest, WebhookIsReachedByTheAddressOfItsService) {
  Json service = Post(kServices, ServiceJson({{"ports", {{{"port", 443}}}}})).json;
  const std::string address = service["spec"]["clusterIP"];
  ServeAt(address, [](const Json& review) { return Answered(review, {{"allowed", true}}); });
  service["spec"]["ports"][0]["port"] = hook_->port();
  ASSERT_EQ(Put(std::string(kServices) + "/hook", service).status, 200);
  Json hook = Hook("configmaps");
  hook["clientConfig"] = PortConfig();
  Register(kValidating, hook);
  EXPECT_EQ(Post(kMaps, ConfigMapJson("a")).status, 201);
  EXPECT_EQ(calls_, 1);
  // The next request follows the Service.
  ASSERT_EQ(Delete(std::string(kServices) + "/hook").status, 200);
  const Answer failed = Post(kMaps, ConfigMapJson("b"));
  EXPECT_THAT(failed.message(), HasSubstr("service \"hook\" not found"));
}

TEST_F(WebhookTest, WebhookIsReachedByTheNameOfItsService) {
  ServeAt("127.0.0.1", [](const Json& review) { return Answered(review, {{"allowed", true}}); });
  const Answer service =
      Post(kServices, ServiceJson({{"type", "ExternalName"}, {"externalName", "localhost"}}));
  ASSERT_EQ(service.status, 201) << service.text;
  Json hook = Hook("configmaps");
  hook["clientConfig"] = PortConfig();
  Register(kValidating, hook);
  const Answer created = Post(kMaps, ConfigMapJson("a"));
  EXPECT_EQ(created.status, 201) << created.text;
  EXPECT_EQ(calls_, 1);
}

TEST_F(WebhookTest, MissingServiceOrPortIsAFailure) {
  Register(kValidating, Hook("configmaps"));
  const auto why = [this] {
    const std::string message = Post(kMaps, ConfigMapJson("a")).message();
    const std::string url = "Post \"https://hook.default.svc:443/x?timeout=10s\": ";
    const std::size_t at = message.find(url);
    return at == std::string::npos ? message : message.substr(at + url.size());
  };
  EXPECT_EQ(why(), "service \"hook\" not found");
  Post(kServices, ServiceJson({{"ports", {{{"port", 80}}}}}));
  EXPECT_EQ(why(), "no service port 443 found for service \"hook\"");
  Delete(std::string(kServices) + "/hook");
  Post(kServices, ServiceJson({{"clusterIP", "None"}, {"ports", {{{"port", 443}}}}}));
  EXPECT_EQ(why(), "cannot route to service with ClusterIP \"None\"");
}

TEST_F(WebhookTest, MatchConditionMayCheckRights) {
  Serve([](const Json& review) { return Answered(review, {{"allowed", true}}); });
  Json hook = Hook("configmaps");
  hook["matchConditions"] =
      Json::array({{{"name", "c"},
                    {"expression",
                     "!authorizer.group('').resource('secrets').check('delete').allowed() && "
                     "!authorizer.requestResource.check('break-glass').allowed()"}}});
  Register(kValidating, hook);
  EXPECT_EQ(Post(kMaps, ConfigMapJson("a")).status, 201);  // the administrator may everything
  EXPECT_EQ(calls_, 0);
  Post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
       {{"metadata", {{"name", "jane"}}},
        {"roleRef",
         {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "ClusterRole"}, {"name", "edit"}}},
        {"subjects",
         Json::array(
             {{{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "User"}, {"name", "jane"}}})}});
  const Answer hers =
      Send("POST", kMaps, ConfigMapJson("b").dump(), {{"Impersonate-User", "jane"}});
  EXPECT_EQ(hers.status, 201) << hers.text;
  EXPECT_EQ(calls_, 0);  // edit gives the right to delete secrets
  Delete("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/jane");
  Post("/apis/rbac.authorization.k8s.io/v1/clusterroles",
       {{"metadata", {{"name", "maps"}}},
        {"rules",
         Json::array(
             {{{"apiGroups", {""}}, {"resources", {"configmaps"}}, {"verbs", {"create"}}}})}});
  Post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
       {{"metadata", {{"name", "jane"}}},
        {"roleRef",
         {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "ClusterRole"}, {"name", "maps"}}},
        {"subjects",
         Json::array(
             {{{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "User"}, {"name", "jane"}}})}});
  EXPECT_EQ(Send("POST", kMaps, ConfigMapJson("c").dump(), {{"Impersonate-User", "jane"}}).status,
            201);
  EXPECT_EQ(calls_, 1);
}

TEST_F(WebhookTest, AnswerWithAnotherUidIsAFailure) {
  Serve([](const Json&) {
    return Json{{"apiVersion", "admission.k8s.io/v1"},
                {"kind", "AdmissionReview"},
                {"response", {{"uid", "other"}, {"allowed", true}}}};
  });
  Register(kValidating, Hook("configmaps"));
  const Answer failed = Post(kMaps, ConfigMapJson("a"));
  EXPECT_EQ(failed.status, 500);
  EXPECT_THAT(failed.message(),
              HasSubstr("received invalid webhook response: expected response.uid="));
}

TEST_F(WebhookTest, SelectorsLimitTheReviewedObjects) {
  Serve([](const Json& review) { return Answered(review, {{"allowed", false}}); });
  Json hook = Hook("configmaps");
  hook["objectSelector"] = {{"matchLabels", {{"guarded", "yes"}}}};
  hook["namespaceSelector"] = {
      {"matchExpressions", Json::array({{{"key", "kubernetes.io/metadata.name"},
                                         {"operator", "NotIn"},
                                         {"values", {"kube-system"}}}})}};
  Register(kValidating, hook);
  EXPECT_EQ(Post(kMaps, ConfigMapJson("a")).status, 201);
  Json guarded = ConfigMapJson("b");
  guarded["metadata"]["labels"] = {{"guarded", "yes"}};
  EXPECT_EQ(Post(kMaps, guarded).status, 400);
  EXPECT_EQ(Post("/api/v1/namespaces/kube-system/configmaps", guarded).status, 201);
}

TEST_F(WebhookTest, BadConfigurationsAreRefused) {
  Json hook = Hook("configmaps");
  hook["sideEffects"] = "Some";
  EXPECT_EQ(
      Post(kValidating, {{"metadata", {{"name", "h"}}}, {"webhooks", Json::array({hook})}}).status,
      422);
  hook = Hook("configmaps");
  hook["timeoutSeconds"] = 31;
  EXPECT_EQ(
      Post(kValidating, {{"metadata", {{"name", "h"}}}, {"webhooks", Json::array({hook})}}).status,
      422);
}

TEST_F(WebhookTest, MatchConditionsDecideWhichWebhooksAreCalled) {
  Serve([](const Json& review) { return Answered(review, {{"allowed", true}}); });
  struct Row {
    std::vector<std::string> expressions;
    const char* policy;
    int calls;
    int status;
  };
  const std::vector<Row> rows = {
      {{"true"}, "Fail", 1, 201},
      {{"true", "object.metadata.name.startsWith('row')"}, "Fail", 1, 201},
      {{"object.metadata.name == 'other'"}, "Fail", 0, 201},
      {{"request.operation == 'CREATE' && oldObject == null"}, "Fail", 1, 201},
      {{"request.userInfo.username == 'nobody'"}, "Fail", 0, 201},
      {{"object.data.missing == 'x'"}, "Fail", 0, 403},
      {{"object.data.missing == 'x'"}, "Ignore", 0, 201},
      {{"object.data.missing == 'x'", "false"}, "Fail", 0, 201},
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    SCOPED_TRACE(rows[i].expressions.front());
    Json hook = Hook("configmaps");
    hook["failurePolicy"] = rows[i].policy;
    for (const std::string& text : rows[i].expressions) {
      hook["matchConditions"].push_back(
          {{"name", "c" + std::to_string(hook["matchConditions"].size())}, {"expression", text}});
    }
    for (const char* kind : {kValidating, kMutating}) {
      Register(kind, hook);
      calls_ = 0;
      const std::string name = "row-" + std::to_string(i) + (kind == kMutating ? "m" : "v");
      EXPECT_EQ(Post(kMaps, ConfigMapJson(name)).status, rows[i].status);
      EXPECT_EQ(calls_, rows[i].calls);
      EXPECT_EQ(Delete(std::string(kind) + "/hooks").status, 200);
    }
  }
}

TEST_F(WebhookTest, FailedMatchConditionIsNamed) {
  Json hook = Hook("configmaps");
  hook["matchConditions"] =
      Json::array({{{"name", "c"}, {"expression", "object.data.missing == 'x'"}}});
  Register(kValidating, hook);
  EXPECT_EQ(Post(kMaps, ConfigMapJson("a")).message(),
            "configmaps \"a\" is forbidden: expression 'object.data.missing == 'x'' resulted in "
            "error: no such key: data");
}

TEST_F(WebhookTest, BadMatchConditionsAreRefused) {
  const auto refusal = [this](const Json& conditions) {
    Json hook = Hook("configmaps");
    hook["matchConditions"] = conditions;
    return Post(kValidating, {{"metadata", {{"name", "h"}}}, {"webhooks", Json::array({hook})}})
        .message();
  };
  const Json good = {{"name", "a"}, {"expression", "true"}};
  EXPECT_THAT(refusal(Json::array({{{"expression", "true"}}})),
              HasSubstr("webhooks[0].matchConditions[0].name: Required value"));
  EXPECT_THAT(refusal(Json::array({{{"name", "a"}}})),
              HasSubstr("webhooks[0].matchConditions[0].expression: Required value"));
  EXPECT_THAT(refusal(Json::array({{{"name", "a"}, {"expression", "object.a =="}}})),
              HasSubstr("webhooks[0].matchConditions[0].expression: Invalid value: \"object.a "
                        "==\": compilation failed: ERROR: <input>:1:12"));
  EXPECT_THAT(refusal(Json::array({{{"name", "a b"}, {"expression", "true"}}})),
              HasSubstr("webhooks[0].matchConditions[0].name: Invalid value: \"a b\""));
  EXPECT_THAT(refusal(Json::array({good, good})),
              HasSubstr("webhooks[0].matchConditions[1].name: Duplicate value: \"a\""));
  Json many = Json::array();
  for (int i = 0; i < 65; ++i) {
    many.push_back({{"name", "n" + std::to_string(i)}, {"expression", "true"}});
  }
  EXPECT_THAT(refusal(many), HasSubstr("webhooks[0].matchConditions: Too many: 65"));
}

// v1beta1 calls the size "length"; the webhook turns one into the other.
Json ConvertWidgets(const Json& review) {
  const Json& request = review["request"];
  Json converted = Json::array();
  for (Json object : request["objects"]) {
    const bool to_v1 = request["desiredAPIVersion"] == "example.com/v1";
    const char* from = to_v1 ? "length" : "size";
    const char* to = to_v1 ? "size" : "length";
    if (object["spec"].contains(from)) {
      object["spec"][to] = object["spec"][from];
      object["spec"].erase(from);
    }
    object["apiVersion"] = request["desiredAPIVersion"];
    converted.push_back(object);
  }
  return {{"apiVersion", "apiextensions.k8s.io/v1"},
          {"kind", "ConversionReview"},
          {"response",
           {{"uid", request["uid"]},
            {"result", {{"status", "Success"}}},
            {"convertedObjects", converted}}}};
}

// Widgets in v1 and v1beta1, which the webhook of `client_config` converts.
Json ConvertedCrd(const Json& client_config) {
  Json crd = WidgetCrd();
  Json older = crd["spec"]["versions"][0];
  older["name"] = "v1beta1";
  older["storage"] = false;
  Json& properties = older["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"];
  properties["length"] = {{"type", "integer"}};
  properties.erase("size");
  crd["spec"]["versions"].push_back(older);
  crd["spec"]["conversion"] = {
      {"strategy", "Webhook"},
      {"webhook", {{"conversionReviewVersions", {"v1"}}, {"clientConfig", client_config}}}};
  return crd;
}

TEST_F(WebhookTest, ConversionWebhookIsReachedByItsService) {
  Json service = Post(kServices, ServiceJson({{"ports", {{{"port", 443}}}}})).json;
  ServeAt(service["spec"]["clusterIP"], ConvertWidgets);
  service["spec"]["ports"][0]["port"] = hook_->port();
  ASSERT_EQ(Put(std::string(kServices) + "/hook", service).status, 200);
  ASSERT_EQ(Post(kCrds, ConvertedCrd(PortConfig())).status, 201);
  const std::string v1 = "/apis/example.com/v1/namespaces/default/widgets";
  const std::string v1beta1 = "/apis/example.com/v1beta1/namespaces/default/widgets";
  ASSERT_EQ(Post(v1, WidgetJson("w", 4)).status, 201);
  EXPECT_EQ(Get(v1beta1 + "/w").json["spec"]["length"], 4);
  ASSERT_EQ(Delete(std::string(kServices) + "/hook").status, 200);
  const Answer failed = Get(v1beta1 + "/w");
  EXPECT_EQ(failed.status, 500);
  EXPECT_THAT(failed.message(), HasSubstr("service \"hook\" not found"));
  EXPECT_EQ(Get(v1 + "/w").status, 200);
}

TEST_F(WebhookTest, VersionsAreConvertedByTheirWebhook) {
  Serve([](const Json& review) {
    if (review["kind"] == "ConversionReview") return ConvertWidgets(review);
    return Answered(review, {{"allowed", true}});
  });
  ASSERT_EQ(Post(kCrds, ConvertedCrd(ClientConfig())).status, 201);
  const std::string v1 = "/apis/example.com/v1/namespaces/default/widgets";
  const std::string v1beta1 = "/apis/example.com/v1beta1/namespaces/default/widgets";
  for (int i = 0; i < 3; ++i) Post(v1, WidgetJson("w" + std::to_string(i), i));
  calls_ = 0;
  const Answer list = Get(v1beta1);
  ASSERT_EQ(list.json["items"].size(), 3U) << list.text;
  EXPECT_EQ(list.json["items"][2]["spec"]["length"], 2);
  EXPECT_EQ(calls_, 1);  // one call for the whole list
  Json widget = Get(v1beta1 + "/w1").json;
  widget["spec"]["length"] = 9;
  EXPECT_EQ(Put(v1beta1 + "/w1", widget).status, 200);
  EXPECT_EQ(Get(v1 + "/w1").json["spec"]["size"], 9);
  // A rule for v1 matches a write in v1beta1, and gets it in v1.
  Register(kValidating, Hook("widgets"));
  widget = Get(v1beta1 + "/w2").json;
  widget["spec"]["length"] = 8;
  ASSERT_EQ(Put(v1beta1 + "/w2", widget).status, 200);
  EXPECT_EQ(last_["kind"], "ConversionReview");  // the result, for the store
  hook_->Stop();
  EXPECT_EQ(Get(v1beta1 + "/w1").status, 500);
  EXPECT_EQ(Get(v1 + "/w1").status, 200);
}

}  // namespace
}  // namespace berth::local
