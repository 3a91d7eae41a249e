// Goal: every invalid request gets a client error, and the server keeps running.
#include <gmock/gmock.h>

#include "tests/local/apiserver/server/server_fixture.h"

namespace berth::local {
namespace {

class BadInputTest : public ServerTest {};

TEST_F(BadInputTest, RequestIsRefusedAfterItsTimeout) {
  const Answer late = Get("/api/v1/nodes?timeout=1us");
  EXPECT_EQ(late.status, 504) << late.text;
  EXPECT_EQ(late.json["reason"], "Timeout");
  EXPECT_EQ(Get("/api/v1/nodes?timeout=0s").status, 200) << "no time of its own";
  EXPECT_EQ(Get("/api/v1/nodes?timeout=20s").status, 200);
  EXPECT_EQ(Get("/api/v1/nodes?timeout=soon").status, 400);
}

TEST_F(BadInputTest, BodiesOfEveryWrongShapeAreRefused) {
  ASSERT_EQ(Post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", WidgetCrd()).status,
            201);
  const char* bodies[] = {
      "null",
      "[]",
      "1",
      "\"x\"",
      "{",
      "{}",
      "{\"metadata\":1}",
      "{\"metadata\":[]}",
      "{\"metadata\":{\"name\":1}}",
      "{\"metadata\":{\"name\":\"x\",\"labels\":1}}",
      "{\"metadata\":{\"name\":\"x\",\"labels\":{\"a\":1}}}",
      "{\"metadata\":{\"name\":\"x\",\"finalizers\":{}}}",
      "{\"metadata\":{\"name\":\"x\",\"finalizers\":[1]}}",
      "{\"metadata\":{\"name\":\"x\",\"ownerReferences\":[1]}}",
      "{\"metadata\":{\"name\":\"x\",\"managedFields\":1}}",
      "{\"metadata\":{\"name\":\"x\"},\"spec\":1}",
      "{\"metadata\":{\"name\":\"x\"},\"spec\":[]}",
      "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"template\":1}}",
      "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"template\":{\"spec\":{\"containers\":1}}}}",
      "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"containers\":[1]}}",
      "{\"metadata\":{\"name\":\"x\"},\"status\":7}",
      "{\"apiVersion\":7,\"kind\":{},\"metadata\":{\"name\":\"x\"}}",
      "{\"apiVersion\":\"v9\",\"kind\":\"Nothing\",\"metadata\":{\"name\":\"x\"}}",
      "{\"metadata\":{\"name\":\"x\"},\"webhooks\":7}",
      "{\"metadata\":{\"name\":\"x\"},\"data\":[]}",
      "\xff\xfe",
      "{\"metadata\":{\"name\":\"../x\"}}",
      "{\"metadata\":{\"name\":\"\xc3\x28\"}}",
  };
  const char* paths[] = {"/api/v1/namespaces/default/configmaps",
                         "/api/v1/namespaces/default/pods",
                         "/apis/batch/v1/namespaces/default/jobs",
                         "/api/v1/namespaces",
                         "/api/v1/nodes",
                         "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                         "/apis/example.com/v1/namespaces/default/widgets",
                         "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
                         "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                         "/apis/scheduling.k8s.io/v1/priorityclasses"};
  for (const char* path : paths) {
    for (const char* body : bodies) {
      const Answer answer = Send("POST", path, body);
      EXPECT_TRUE(answer.status < 500) << path << " " << body << ": " << answer.text;
    }
  }
  EXPECT_EQ(Get("/readyz").status, 200);
}

// Each write is small; together they would make an object that no client could write back.
TEST_F(BadInputTest, PatchesCannotGrowAnObjectAboveTheBodyLimit) {
  ASSERT_EQ(Post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", WidgetCrd()).status,
            201);
  const std::string path = "/apis/example.com/v1/namespaces/default/widgets";
  Json widget = WidgetJson("grows", 1);
  widget["spec"]["color"] = std::string(2'000'000, 'x');
  ASSERT_EQ(Post(path, widget).status, 201);
  const std::string text(1'000'000, 'x');
  net::Headers merge;
  merge.Add("Content-Type", "application/merge-patch+json");
  const std::string patch = R"({"metadata":{"finalizers":["a.b/c"]},"spec":{"size":2}})";
  EXPECT_EQ(Send("PATCH", path + "/grows", patch, merge).status, 200);
  const std::string status = R"({"status":{"phase":")" + text + "\"}}";
  EXPECT_EQ(Send("PATCH", path + "/grows/status", status, merge).status, 200);
  const std::string more = R"({"status":{"phase":")" + text + text + "\"}}";
  const Answer refused = Send("PATCH", path + "/grows/status", more, merge);
  EXPECT_EQ(refused.status, 413) << refused.text.substr(0, 300);
  EXPECT_EQ(Get(path + "/grows").json["status"]["phase"], text);
}

TEST_F(BadInputTest, PatchesOfEveryWrongShapeAreRefused) {
  ASSERT_EQ(Post("/apis/batch/v1/namespaces/default/jobs", JobJson("j")).status, 201);
  const char* patches[] = {
      "null",
      "[]",
      "{}",
      "1",
      "[1]",
      "[{\"op\":\"fly\"}]",
      "{\"metadata\":null}",
      "{\"metadata\":1}",
      "{\"spec\":null}",
      "{\"spec\":{\"template\":null}}",
      "{\"kind\":1}",
      "{\"metadata\":{\"name\":\"other\"}}",
      "{\"metadata\":{\"resourceVersion\":\"1\"}}",
      "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":1}",
      "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"managedFields\":[]}}",
      "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"spec\":{\"template\":[]}}",
      "[{\"op\":\"remove\",\"path\":\"/metadata\"}]",
      "[{\"op\":\"test\",\"path\":\"/x\",\"value\":1}]",
      "[{\"op\":\"replace\",\"path\":\"\",\"value\":1}]"};
  for (const char* type : {"json", "merge", "strategic", "apply"}) {
    for (const char* patch : patches) {
      const std::string content = std::string(type) == "apply" ? "application/apply-patch+yaml"
                                  : std::string(type) == "strategic"
                                      ? "application/strategic-merge-patch+json"
                                      : "application/" + std::string(type) + "-patch+json";
      const Answer answer = Send("PATCH", "/apis/batch/v1/namespaces/default/jobs/j?fieldManager=m",
                                 patch, {{"Content-Type", content}});
      // Apply answers 500 for values of a wrong type, as Kubernetes does.
      EXPECT_TRUE(answer.status < 500 || std::string(type) == "apply")
          << type << " " << patch << ": " << answer.text;
    }
  }
  EXPECT_EQ(Get("/apis/batch/v1/namespaces/default/jobs/j").status, 200);
}

// A name with such a byte would break every list that holds it.
TEST_F(BadInputTest, TargetsThatAreNotUtf8AreRefused) {
  const std::string roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles";
  const std::string role =
      R"({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "rules": []})";
  const net::Headers apply{{"Content-Type", "application/apply-patch+yaml"}};
  const Answer answers[] = {
      Send("PATCH", roles + "/%ff?fieldManager=m", role, apply),
      Send("PUT", roles + "/%ff", role),
      Send("POST", roles + "?fieldManager=%ff", role),
      Get("/api/v1/namespaces/default/pods/p/exec?command=%ff"),
      Get("/api/v1/namespaces/default/pods?%c3%28=x"),
      Get("/readyz/%ff"),
  };
  for (const Answer& answer : answers) {
    EXPECT_EQ(answer.status, 400) << answer.text;
    EXPECT_EQ(answer.reason(), "BadRequest");
    EXPECT_THAT(answer.message(), ::testing::HasSubstr("UTF-8"));
  }
  EXPECT_EQ(Get(roles).status, 200);
}

TEST_F(BadInputTest, TargetsOfEveryWrongShapeAreRefused) {
  for (const char* target :
       {"/%zz", "/api/v1/namespaces/default/pods?limit=x", "/api/v1/pods?watch=1&resourceVersion=x",
        "/api/v1/pods?labelSelector=%28", "/api/v1/pods?fieldSelector=x", "/api/v1/a/b/c/d/e/f/g",
        "/apis/batch/v1/jobs/x", "/api/v1/namespaces/default/pods/x/nothing", "/apis//v1/x",
        "/openapi/v3/apis/none", "/api/v1/nodes/x/status/y"}) {
    const Answer answer = Get(target);
    EXPECT_GE(answer.status, 400) << target;
    EXPECT_LT(answer.status, 500) << target;
  }
  EXPECT_EQ(Send("BREW", "/api/v1/nodes").status, 405);
}

}  // namespace
}  // namespace berth::local
