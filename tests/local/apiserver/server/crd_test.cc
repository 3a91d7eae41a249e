// Goal: custom kinds: served at once, pruned, defaulted, validated; status, versions, deletion.
#include <gmock/gmock.h>

#include "tests/local/apiserver/server/server_fixture.h"

namespace berth::local {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr const char* kWidgets = "/apis/example.com/v1/namespaces/default/widgets";
const std::string kOne = std::string(kWidgets) + "/w";

class CrdTest : public ServerTest {
 protected:
  void Install(const Json& crd = WidgetCrd()) {
    const Answer created = Post(kCrds, crd);
    ASSERT_EQ(created.status, 201) << created.text;
  }
};

TEST_F(CrdTest, CustomKindIsEstablishedAndServedAtOnce) {
  Install();
  const Json crd = Get(std::string(kCrds) + "/widgets.example.com").json;
  EXPECT_EQ(crd["status"]["conditions"][0]["type"], "NamesAccepted");
  EXPECT_EQ(crd["status"]["conditions"][1]["type"], "Established");
  EXPECT_EQ(crd["status"]["conditions"][1]["status"], "True");
  EXPECT_EQ(crd["status"]["storedVersions"], Json::array({"v1"}));
  EXPECT_EQ(crd["spec"]["names"]["listKind"], "WidgetList");
  EXPECT_EQ(crd["spec"]["names"]["singular"], "widget");
  const Answer list = Get(kWidgets);
  EXPECT_EQ(list.status, 200);
  EXPECT_EQ(list.json["kind"], "WidgetList");
}

TEST_F(CrdTest, ObjectsArePrunedDefaultedAndValidated) {
  Install();
  Json widget = WidgetJson("w", 3);
  widget["spec"]["shape"] = "round";
  widget["status"] = {{"phase", "Invented"}};
  const Answer created = Post(kWidgets, widget);
  ASSERT_EQ(created.status, 201) << created.text;
  EXPECT_EQ(created.json["spec"], (Json{{"size", 3}, {"color", "red"}}));
  EXPECT_FALSE(created.json.contains("status"));
  EXPECT_EQ(created.json["metadata"]["generation"], 1);
  EXPECT_THAT(created.Warnings(), Contains("299 - \"unknown field \\\"spec.shape\\\"\""));
  const Answer large = Post(kWidgets, WidgetJson("x", 11));
  EXPECT_EQ(large.status, 422);
  EXPECT_THAT(large.message(), HasSubstr("spec.size in body should be less than or equal to 10"));
  EXPECT_THAT(large.message(), HasSubstr("Widget.example.com \"x\" is invalid"));
  EXPECT_EQ(Get(kWidgets).json["items"][0]["kind"], "Widget");
}

// Some kinds have makers that call every object ready until somebody says otherwise.
TEST_F(CrdTest, UnwrittenStatusHasItsDefault) {
  Json crd = WidgetCrd();
  crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]["default"] = {
      {"phase", "New"}};
  Install(crd);
  Json widget = WidgetJson("w", 3);
  widget["status"] = {{"phase", "Invented"}};
  EXPECT_EQ(Post(kWidgets, widget).json["status"], (Json{{"phase", "New"}}));
  EXPECT_EQ(Get(kOne).json["status"], (Json{{"phase", "New"}}));
  Json written = Get(kOne).json;
  written["status"]["phase"] = "Done";
  ASSERT_EQ(Put(kOne + "/status", written).status, 200);
  written["spec"]["size"] = 4;
  written.erase("status");
  written["metadata"]["resourceVersion"] = Get(kOne).json["metadata"]["resourceVersion"];
  EXPECT_EQ(Put(kOne, written).json["status"], (Json{{"phase", "Done"}}));
}

TEST_F(CrdTest, BodiesNeedTheirKindAndUpdatesTheirRevision) {
  Install();
  Json nameless = WidgetJson("w", 1);
  nameless.erase("kind");
  const Answer refused = Post(kWidgets, nameless);
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.message(), HasSubstr("Object 'Kind' is missing"));
  Post(kWidgets, WidgetJson("w", 1));
  const Answer blind = Put(kOne, WidgetJson("w", 2));
  EXPECT_EQ(blind.status, 422);
  EXPECT_EQ(
      blind.message(),
      "widgets.example.com \"w\" is invalid: metadata.resourceVersion: Invalid value: 0: must "
      "be specified for an update");
}

TEST_F(CrdTest, StatusAndSpecAreWrittenApart) {
  Install();
  Json widget = Post(kWidgets, WidgetJson("w", 1)).json;
  widget["status"] = {{"phase", "Ready"}};
  widget["spec"]["size"] = 2;
  const Json after_status = Put(kOne + "/status", widget).json;
  EXPECT_EQ(after_status["spec"]["size"], 1);
  EXPECT_EQ(after_status["status"]["phase"], "Ready");
  EXPECT_EQ(after_status["metadata"]["generation"], 1);
  const Json after_spec =
      Patch(kOne, "merge", {{"spec", {{"size", 5}}}, {"status", {{"phase", "Broken"}}}}).json;
  EXPECT_EQ(after_spec["spec"]["size"], 5);
  EXPECT_EQ(after_spec["status"]["phase"], "Ready");
  EXPECT_EQ(after_spec["metadata"]["generation"], 2);
  EXPECT_EQ(Patch(kOne, "strategic", {{"spec", {{"size", 6}}}}).status, 415);
}

TEST_F(CrdTest, EachVersionServesTheSameObject) {
  Json crd = WidgetCrd();
  Json older = crd["spec"]["versions"][0];
  older["name"] = "v1beta1";
  older["storage"] = false;
  older["deprecated"] = true;
  older["deprecationWarning"] = "use v1";
  crd["spec"]["versions"].push_back(older);
  Install(crd);
  Json widget = WidgetJson("w", 4);
  widget["apiVersion"] = "example.com/v1beta1";
  const Answer created = Post("/apis/example.com/v1beta1/namespaces/default/widgets", widget);
  ASSERT_EQ(created.status, 201) << created.text;
  EXPECT_EQ(created.json["apiVersion"], "example.com/v1beta1");
  EXPECT_THAT(created.Warnings(), Contains("299 - \"use v1\""));
  EXPECT_EQ(Get(kOne).json["apiVersion"], "example.com/v1");
  EXPECT_EQ(
      Get("/apis/example.com/v1beta1/namespaces/default/widgets").json["items"][0]["apiVersion"],
      "example.com/v1beta1");
  EXPECT_EQ(Get("/apis/example.com").json["preferredVersion"]["version"], "v1");
}

TEST_F(CrdTest, TablesHaveTheColumnsOfTheDefinition) {
  Install();
  Post(kWidgets, WidgetJson("w", 7));
  const Answer table = Get(kWidgets, {{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}});
  EXPECT_EQ(table.json["columnDefinitions"][1]["name"], "Size");
  EXPECT_EQ(table.json["rows"][0]["cells"], Json::array({"w", 7}));
}

TEST_F(CrdTest, BadDefinitionsAreRefused) {
  Json crd = WidgetCrd();
  crd["metadata"]["name"] = "gadgets.example.com";
  EXPECT_THAT(Post(kCrds, crd).message(), HasSubstr("must be spec.names.plural+\".\"+spec.group"));
  crd = WidgetCrd();
  crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"].erase("type");
  const Answer untyped = Post(kCrds, crd);
  EXPECT_EQ(untyped.status, 422);
  EXPECT_THAT(untyped.message(),
              HasSubstr("Required value: must not be empty for specified object"));
  crd = WidgetCrd();
  crd["spec"]["versions"][0]["storage"] = false;
  EXPECT_THAT(Post(kCrds, crd).message(),
              HasSubstr("exactly one version marked as storage version"));
}

TEST_F(CrdTest, ChangedSchemaAppliesToTheNextRequest) {
  Install();
  Json crd = Get(std::string(kCrds) + "/widgets.example.com").json;
  crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
     ["size"]["maximum"] = 2;
  ASSERT_EQ(Put(std::string(kCrds) + "/widgets.example.com", crd).status, 200);
  EXPECT_EQ(Post(kWidgets, WidgetJson("w", 3)).status, 422);
}

TEST_F(CrdTest, NewDefaultsApplyToStoredObjects) {
  Install();
  Post(kWidgets, WidgetJson("w", 3));
  Json crd = Get(std::string(kCrds) + "/widgets.example.com").json;
  crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
     ["shape"] = {{"type", "string"}, {"default", "round"}};
  ASSERT_EQ(Put(std::string(kCrds) + "/widgets.example.com", crd).status, 200);
  EXPECT_EQ(Get(kOne).json["spec"]["shape"], "round");
  EXPECT_EQ(Get(kWidgets).json["items"][0]["spec"]["shape"], "round");
}

TEST_F(CrdTest, DeletedDefinitionDeletesItsObjects) {
  Install();
  Json kept = WidgetJson("kept", 1);
  kept["metadata"]["finalizers"] = {"example.com/hold"};
  Post(kWidgets, kept);
  Post(kWidgets, WidgetJson("w", 1));
  const std::string crd = std::string(kCrds) + "/widgets.example.com";
  EXPECT_EQ(Delete(crd).status, 200);
  EXPECT_EQ(Get(kOne).status, 404);
  EXPECT_EQ(Get(crd).status, 200);  // one object has a finalizer
  EXPECT_EQ(Post(kWidgets, WidgetJson("late", 1)).status, 405);
  Patch(std::string(kWidgets) + "/kept", "merge", {{"metadata", {{"finalizers", nullptr}}}});
  EXPECT_EQ(Get(crd).status, 404);
  EXPECT_EQ(Get(kWidgets).status, 404);
}

TEST_F(CrdTest, CustomKindsSurviveARestart) {
  Install();
  Post(kWidgets, WidgetJson("w", 1));
  StartServer({});
  EXPECT_EQ(Get(kOne).json["spec"]["size"], 1);
}

// A version that is not served does not exist for clients; its stored objects can be read in other
// versions.
TEST_F(CrdTest, VersionThatIsNotServedIsNotFound) {
  Json crd = WidgetCrd();
  Json next = crd["spec"]["versions"][0];
  next["name"] = "v2";
  next["storage"] = false;
  crd["spec"]["versions"].push_back(next);
  Install(crd);
  ASSERT_EQ(Post(kWidgets, WidgetJson("w", 1)).status, 201);
  const std::string path = std::string(kCrds) + "/widgets.example.com";
  crd = Get(path).json;
  crd["spec"]["versions"][0]["served"] = false;
  ASSERT_EQ(Put(path, crd).status, 200);
  EXPECT_EQ(Get(kWidgets).status, 404);
  EXPECT_EQ(Post(kWidgets, WidgetJson("x", 1)).status, 404);
  EXPECT_EQ(Get("/apis/example.com/v1").status, 404);
  const Answer group = Get("/apis/example.com");
  EXPECT_EQ(group.json["versions"].size(), 1U) << group.text;
  EXPECT_EQ(group.json["preferredVersion"]["version"], "v2");
  const Answer read = Get("/apis/example.com/v2/namespaces/default/widgets/w");
  EXPECT_EQ(read.status, 200) << read.text;
  EXPECT_EQ(read.json["apiVersion"], "example.com/v2");
  Json widget = WidgetJson("y", 2);
  widget["apiVersion"] = "example.com/v2";
  EXPECT_EQ(Post("/apis/example.com/v2/namespaces/default/widgets", widget).status, 201);
  // If no version is served, the kind disappears, and returns with its objects.
  crd = Get(path).json;
  crd["spec"]["versions"][1]["served"] = false;
  ASSERT_EQ(Put(path, crd).status, 200);
  EXPECT_EQ(Get("/apis/example.com").status, 404);
  crd = Get(path).json;
  crd["spec"]["versions"][0]["served"] = true;
  ASSERT_EQ(Put(path, crd).status, 200);
  EXPECT_EQ(Get(kWidgets).json["items"].size(), 2U);
  // The deletion of the CRD deletes them, served or not.
  crd = Get(path).json;
  crd["spec"]["versions"][0]["served"] = false;
  ASSERT_EQ(Put(path, crd).status, 200);
  EXPECT_EQ(Delete(path).status, 200);
  EXPECT_EQ(Get(path).status, 404);
}

}  // namespace
}  // namespace berth::local
