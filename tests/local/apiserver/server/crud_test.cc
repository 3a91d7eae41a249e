// Goal: create, read, update, delete of built-in kinds, with the errors of the contract.
#include <gmock/gmock.h>

#include "tests/local/apiserver/server/server_fixture.h"

namespace berth::local {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class CrudTest : public ServerTest {};

TEST_F(CrudTest, CreateFillsMetadataAndAnswers201) {
  const Answer created = Post(kMaps, ConfigMapJson("a", {{"k", "v"}}));
  EXPECT_EQ(created.status, 201) << created.text;
  EXPECT_EQ(created.json["metadata"]["namespace"], "default");
  EXPECT_EQ(created.json["metadata"]["uid"].get<std::string>().size(), 36U);
  EXPECT_EQ(Get(std::string(kMaps) + "/a").json, created.json);
  EXPECT_FALSE(created.headers.Find("Audit-Id").empty());
  EXPECT_EQ(created.headers.Find("Cache-Control"), "no-cache, private");
}

TEST_F(CrudTest, ErrorsHaveTheirCodesReasonsAndMessages) {
  const std::string a = std::string(kMaps) + "/a";
  const Answer missing = Get(a);
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(missing.message(), "configmaps \"a\" not found");
  EXPECT_EQ(missing.json["details"], (Json{{"name", "a"}, {"kind", "configmaps"}}));
  EXPECT_EQ(Get(std::string(kJobs) + "/a").message(), "jobs.batch \"a\" not found");
  Post(kMaps, ConfigMapJson("a"));
  const Answer again = Post(kMaps, ConfigMapJson("a"));
  EXPECT_EQ(again.status, 409);
  EXPECT_EQ(again.reason(), "AlreadyExists");
  EXPECT_EQ(again.message(), "configmaps \"a\" already exists");
  Json stale = ConfigMapJson("a", {{"x", "y"}});
  stale["metadata"]["resourceVersion"] = "1";
  const Answer conflict = Put(a, stale);
  EXPECT_EQ(conflict.status, 409);
  EXPECT_EQ(conflict.message(),
            "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; "
            "please apply your changes to the latest version and try again");
  const Answer nowhere = Post("/api/v1/namespaces/none/configmaps", ConfigMapJson("a"));
  EXPECT_EQ(nowhere.status, 404);
  EXPECT_EQ(nowhere.message(), "namespaces \"none\" not found");
  EXPECT_EQ(Post(kMaps, ConfigMapJson("")).message(),
            "ConfigMap \"\" is invalid: metadata.name: Required value: name or generateName is "
            "required");
  EXPECT_EQ(Put(std::string(kMaps) + "/b", ConfigMapJson("a")).status, 400);
  EXPECT_EQ(Send("POST", kMaps, "{").status, 400);
  EXPECT_EQ(Send("POST", kMaps, "x", {{"Content-Type", "text/csv"}}).status, 415);
  EXPECT_EQ(Get(a, {{"Accept", "image/png"}}).status, 406);
  EXPECT_EQ(Get("/apis/nope/v1/things").text, "404 page not found\n");
  EXPECT_EQ(Get("/api/v1/nopes").reason(), "NotFound");
  EXPECT_EQ(Send("DELETE", "/api/v1/namespaces").status, 405);
}

TEST_F(CrudTest, UpdateChecksIdentityAndSkipsWhatChangesNothing) {
  const Json created = Post(kMaps, ConfigMapJson("a", {{"k", "v"}})).json;
  const std::string a = std::string(kMaps) + "/a";
  EXPECT_EQ(Put(a, created).json["metadata"]["resourceVersion"],
            created["metadata"]["resourceVersion"]);
  Json other = created;
  other["metadata"]["uid"] = "00000000-0000-4000-8000-000000000000";
  EXPECT_EQ(Put(a, other).status, 409);
  const Answer changed =
      Put(a, ConfigMapJson("a", {{"k", "w"}}));  // no resourceVersion: overwrites
  EXPECT_EQ(changed.status, 200);
  EXPECT_NE(changed.json["metadata"]["resourceVersion"], created["metadata"]["resourceVersion"]);
  EXPECT_EQ(changed.json["metadata"]["uid"], created["metadata"]["uid"]);
  EXPECT_EQ(Put(std::string(kMaps) + "/new", ConfigMapJson("new")).status, 404);
}

TEST_F(CrudTest, GeneratedNamesHaveARandomSuffix) {
  Json object = ConfigMapJson("");
  object["metadata"] = {{"generateName", "run-"}};
  const std::string name = Post(kMaps, object).json["metadata"]["name"];
  EXPECT_THAT(name, StartsWith("run-"));
  EXPECT_EQ(name.size(), 9U);
}

TEST_F(CrudTest, FieldValidationIgnoresWarnsOrRefuses) {
  Json job = JobJson("j");
  job["spec"]["paralelism"] = 2;
  const Answer strict = Post(std::string(kJobs) + "?fieldValidation=Strict", job);
  EXPECT_EQ(strict.status, 400);
  EXPECT_EQ(
      strict.message(),
      "Job in version \"v1\" cannot be handled as a Job: strict decoding error: unknown field "
      "\"spec.paralelism\"");
  const Answer warn = Post(kJobs, job);
  EXPECT_EQ(warn.status, 201);
  EXPECT_THAT(warn.Warnings(), ElementsAre("299 - \"unknown field \\\"spec.paralelism\\\"\""));
  job["metadata"]["name"] = "k";
  EXPECT_TRUE(Post(std::string(kJobs) + "?fieldValidation=Ignore", job).Warnings().empty());
}

TEST_F(CrudTest, DryRunStoresNothing) {
  EXPECT_EQ(Post(std::string(kMaps) + "?dryRun=All", ConfigMapJson("a")).status, 201);
  EXPECT_EQ(Get(std::string(kMaps) + "/a").status, 404);
  Post(kMaps, ConfigMapJson("a"));
  EXPECT_EQ(Send("DELETE", std::string(kMaps) + "/a?dryRun=All").status, 200);
  EXPECT_EQ(Get(std::string(kMaps) + "/a").status, 200);
}

TEST_F(CrudTest, YamlBodiesAreRead) {
  const Answer created =
      Send("POST", kMaps, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: y1}\ndata: {a: b}\n",
           {{"Content-Type", "application/yaml"}});
  EXPECT_EQ(created.status, 201) << created.text;
  EXPECT_EQ(created.json["data"]["a"], "b");
}

TEST_F(CrudTest, PagesShowOneRevision) {
  for (const char* name : {"m0", "m1", "m2", "m3"}) Post(kMaps, ConfigMapJson(name, {{"a", "1"}}));
  const std::string all = std::string(kMaps) + "?fieldSelector=metadata.name!%3Dkube-root-ca.crt";
  const Answer first = Get(all + "&limit=2");
  const std::string version = first.json["metadata"]["resourceVersion"];
  const std::string page =
      "&limit=2&continue=" + first.json["metadata"]["continue"].get<std::string>();
  Delete(std::string(kMaps) + "/m2");
  Patch(std::string(kMaps) + "/m3", "merge", {{"data", {{"a", "2"}}}});
  Post(kMaps, ConfigMapJson("m30"));
  const Answer second = Get(all + page);
  ASSERT_EQ(second.json["items"].size(), 2U) << second.text;
  EXPECT_EQ(second.json["items"][0]["metadata"]["name"], "m2");
  EXPECT_EQ(second.json["items"][1]["data"]["a"], "1");
  EXPECT_EQ(second.json["metadata"]["resourceVersion"], version);
  EXPECT_FALSE(second.json["metadata"].contains("continue"));
  const auto names = [&](const std::string& query) {
    std::string text;
    const Answer list = Get(all + query);
    for (const Json& item : list.json["items"]) {
      text += (text.empty() ? "" : " ") + item["metadata"]["name"].get<std::string>();
    }
    return text;
  };
  EXPECT_EQ(names("&resourceVersionMatch=Exact&resourceVersion=" + version), "m0 m1 m2 m3");
  EXPECT_EQ(names("&limit=9&resourceVersion=" + version), "m0 m1 m2 m3");
  EXPECT_EQ(names("&resourceVersion=" + version), "m0 m1 m3 m30");
  EXPECT_EQ(names("&resourceVersionMatch=NotOlderThan&resourceVersion=" + version), "m0 m1 m3 m30");
  const Answer old = Get(all + "&resourceVersionMatch=Exact&resourceVersion=1");
  EXPECT_EQ(old.status, 410) << old.text;
  EXPECT_EQ(old.reason(), "Expired");
}

TEST_F(CrudTest, ListsArePagedAndSelected) {
  for (int i = 0; i < 5; ++i) {
    Json object = ConfigMapJson("m" + std::to_string(i));
    object["metadata"]["labels"] = {{"odd", i % 2 == 1 ? "yes" : "no"}};
    Post(kMaps, object);
  }
  const Answer first = Get(std::string(kMaps) + "?limit=2");
  ASSERT_EQ(first.json["items"].size(), 2U);
  EXPECT_EQ(first.json["kind"], "ConfigMapList");
  EXPECT_FALSE(first.json["items"][0].contains("kind"));
  EXPECT_EQ(first.json["metadata"]["remainingItemCount"], 4);  // counts kube-root-ca.crt, too
  const std::string token = first.json["metadata"]["continue"];
  const Answer second = Get(std::string(kMaps) + "?limit=10&continue=" + token);
  EXPECT_EQ(second.json["items"].size(), 4U);
  EXPECT_EQ(second.json["metadata"]["resourceVersion"], first.json["metadata"]["resourceVersion"]);
  EXPECT_EQ(Get(std::string(kMaps) + "?continue=abc").status, 400);
  EXPECT_EQ(Get(std::string(kMaps) + "?labelSelector=odd%3Dyes").json["items"].size(), 2U);
  EXPECT_EQ(Get(std::string(kMaps) + "?fieldSelector=metadata.name%3Dm3").json["items"].size(), 1U);
  const Answer refused = Get(std::string(kJobs) + "?fieldSelector=spec.foo%3D1");
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(refused.message(), "field label \"spec.foo\" not supported for Job");
}

TEST_F(CrudTest, FutureRevisionIsRefusedAsATimeout) {
  const std::string revision = Get(kMaps).json["metadata"]["resourceVersion"];
  const std::string later = std::to_string(std::stoll(revision) + 999'999);
  const Answer future = Get(std::string(kMaps) + "?resourceVersion=" + later);
  EXPECT_EQ(future.status, 504);
  EXPECT_EQ(future.reason(), "Timeout");
  EXPECT_EQ(future.json["details"]["causes"][0]["reason"], "ResourceVersionTooLarge");
  EXPECT_EQ(future.headers.Find("Retry-After"), "1");
}

TEST_F(CrudTest, OversizedBodiesAreRefused) {
  const std::string huge(4 * 1024 * 1024, 'x');
  EXPECT_EQ(Send("POST", kMaps, huge).status, 413);
  Json big = ConfigMapJson("big", {{"k", std::string(1100 * 1024, 'x')}});
  const Answer refused = Post(kMaps, big);
  EXPECT_EQ(refused.status, 422);
  EXPECT_THAT(refused.message(), HasSubstr("Too long"));
}

TEST_F(CrudTest, RestartKeepsObjectsAndTheToken) {
  const Json created = Post(kMaps, ConfigMapJson("a", {{"k", "v"}})).json;
  const std::string token = server_->token();
  StartServer({});
  EXPECT_EQ(server_->token(), token);
  EXPECT_EQ(Get(std::string(kMaps) + "/a").json, created);
}

}  // namespace
}  // namespace berth::local
