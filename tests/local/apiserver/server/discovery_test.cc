// Goal: discovery in both forms, OpenAPI, version, health.
#include "local/apiserver/http/discovery.h"

#include <gmock/gmock.h>

#include "tests/local/apiserver/server/server_fixture.h"

namespace berth::local {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

class DiscoveryTest : public ServerTest {};

const Json* Named(const Json& list, const char* field, const std::string& name) {
  for (const Json& item : list) {
    if (item.value(field, "") == name) return &item;
  }
  return nullptr;
}

TEST_F(DiscoveryTest, PlainDiscoveryListsGroupsAndTheirResources) {
  EXPECT_EQ(Get("/api").json["versions"], Json::array({"v1"}));
  const Json groups = Get("/apis").json["groups"];
  ASSERT_NE(Named(groups, "name", "batch"), nullptr);
  const Json resources = Get("/apis/batch/v1").json["resources"];
  const Json* jobs = Named(resources, "name", "jobs");
  ASSERT_NE(jobs, nullptr);
  EXPECT_EQ((*jobs)["kind"], "Job");
  EXPECT_EQ((*jobs)["singularName"], "job");
  EXPECT_EQ((*jobs)["verbs"], Json::array({"create", "delete", "deletecollection", "get", "list",
                                           "patch", "update", "watch"}));
  EXPECT_EQ((*jobs)["storageVersionHash"], "mudhfqk/qZY=");  // kube-apiserver's hash
  EXPECT_NE(Named(resources, "name", "jobs/status"), nullptr);
  EXPECT_EQ((*Named(Get("/api/v1").json["resources"], "name", "pods"))["shortNames"],
            Json::array({"po"}));
  EXPECT_EQ(Get("/apis/none").text, "404 page not found\n");
}

TEST_F(DiscoveryTest, AggregatedDiscoveryHasAnETag) {
  const std::string type = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
  const net::Headers accept{{"Accept", type + ";profile=nopeer,application/json"}};
  const Answer all = Get("/apis", accept);
  EXPECT_EQ(all.headers.Find("Content-Type"), type);
  EXPECT_EQ(all.json["kind"], "APIGroupDiscoveryList");
  const Json* batch = nullptr;
  for (const Json& item : all.json["items"]) {
    if (item["metadata"]["name"] == "batch") batch = &item;
  }
  ASSERT_NE(batch, nullptr);
  const Json& jobs = (*batch)["versions"][0]["resources"][1];  // after CronJobs
  EXPECT_EQ(jobs["responseKind"], (Json{{"group", "batch"}, {"version", "v1"}, {"kind", "Job"}}));
  EXPECT_EQ(jobs["subresources"][0]["subresource"], "status");
  net::Headers again = accept;
  again.Add("If-None-Match", std::string(all.headers.Find("ETag")));
  EXPECT_EQ(Get("/apis", again).status, 304);
  Post(kCrds, WidgetCrd());
  EXPECT_EQ(Get("/apis", again).status, 200);
}

TEST_F(DiscoveryTest, OpenApiHasTheFieldValidationParameter) {
  const Json index = Get("/openapi/v3").json["paths"];
  const std::string url = index["apis/batch/v1"]["serverRelativeURL"];
  EXPECT_THAT(url, StartsWith("/openapi/v3/apis/batch/v1?hash="));
  const Json batch = Get(url).json;
  const Json& patch = batch["paths"]["/apis/batch/v1/namespaces/{namespace}/jobs/{name}"]["patch"];
  EXPECT_EQ(patch["x-kubernetes-group-version-kind"]["kind"], "Job");
  EXPECT_NE(Named(patch["parameters"], "name", "fieldValidation"), nullptr);
  EXPECT_TRUE(batch["components"]["schemas"].contains("io.k8s.api.batch.v1.Job"));
  Post(kCrds, WidgetCrd());
  const Json custom = Get("/openapi/v3/apis/example.com/v1").json;
  const Json& schema = custom["components"]["schemas"]["com.example.v1.Widget"];
  EXPECT_EQ(schema["properties"]["spec"]["properties"]["color"]["default"], "red");
  const std::string metadata = schema["properties"]["metadata"]["allOf"][0]["$ref"];
  const std::string meta_name = metadata.substr(metadata.rfind('/') + 1);
  EXPECT_TRUE(custom["components"]["schemas"][meta_name]["properties"].contains("labels"));
  EXPECT_EQ(Get("/openapi/v3/apis/none/v1").status, 404);
}

TEST_F(DiscoveryTest, VersionAndHealthAreServed) {
  EXPECT_THAT(Get("/version").json["gitVersion"].get<std::string>(), StartsWith("v1.36."));
  EXPECT_EQ(Get("/readyz").text, "ok");
  EXPECT_THAT(Get("/livez?verbose").text, StartsWith("[+]"));
}

TEST_F(DiscoveryTest, CurlAndPrettyRequestsReceiveIndentedJson) {
  EXPECT_THAT(Get("/version", {{"User-Agent", "curl/8.5"}}).text, StartsWith("{\n  \"buildDate\""));
  EXPECT_THAT(Get("/api/v1/namespaces/default?pretty=true").text, StartsWith("{\n  \"kind\""));
}

TEST(VersionOrderTest, StableVersionsPrecedeBetaAndAlphaVersions) {
  std::vector<std::string> versions = {"v1alpha1", "v1beta2", "v2", "v10", "foo", "v1", "v1beta10"};
  std::sort(versions.begin(), versions.end(), VersionBefore);
  EXPECT_THAT(versions, ElementsAre("v10", "v2", "v1", "v1beta10", "v1beta2", "v1alpha1", "foo"));
}

TEST_F(DiscoveryTest, TrailingSlashChangesNothing) {
  for (const char* path :
       {"/version", "/api", "/apis", "/api/v1", "/apis/batch", "/apis/batch/v1", "/openapi/v3",
        "/openapi/v2", "/readyz", "/livez", "/healthz", "/api/v1/namespaces/default/configmaps",
        "/api/v1/namespaces/default/configmaps/kube-root-ca.crt"}) {
    const Answer without = Get(path);
    const Answer with = Get(std::string(path) + "/");
    EXPECT_EQ(without.status, 200) << path;
    EXPECT_EQ(with.status, 200) << path;
    EXPECT_EQ(with.text, without.text) << path;
  }
}

}  // namespace
}  // namespace berth::local
