// Goal: mutating webhooks are called in the order of their configurations, and again where they ask
// for it and a later one has changed the object.
#include <gmock/gmock.h>

#include "tests/local/apiserver/server/webhook_fixture.h"

namespace berth::local {
namespace {

using ::testing::ElementsAre;

class WebhookOrderTest : public WebhookTest {
 protected:
  // A webhook whose requests name it, in a configuration of its own.
  void RegisterAs(const std::string& configuration, const std::string& name, const char* again) {
    Json hook = Hook("configmaps");
    hook["name"] = name + ".example.com";
    hook["clientConfig"]["service"]["path"] = "/" + name;
    hook["reinvocationPolicy"] = again;
    const Answer created = Post(
        kMutating, {{"metadata", {{"name", configuration}}}, {"webhooks", Json::array({hook})}});
    ASSERT_EQ(created.status, 201) << created.text;
  }

  // Each webhook adds its name to a list in the object; "idle" changes nothing.
  void ServeList() {
    Serve([this](const Json& review) {
      const std::string name = path_.substr(1, path_.find('?') - 1);
      called_.push_back(name);
      if (name == "idle") return Answered(review, {{"allowed", true}});
      const Json data = review["request"]["object"].value("data", Json::object());
      const std::string list = data.value("list", "");
      const Json patch = Json::array(
          {{{"op", "add"}, {"path", "/data"}, {"value", {{"list", list + name + " "}}}}});
      return Answered(
          review,
          {{"allowed", true}, {"patchType", "JSONPatch"}, {"patch", Base64Encode(patch.dump())}});
    });
  }

  std::vector<std::string> called_;
};

TEST_F(WebhookOrderTest, WebhooksAreCalledInTheOrderOfTheirConfigurationNames) {
  ServeList();
  RegisterAs("z", "third", "Never");
  RegisterAs("a", "first", "Never");
  RegisterAs("m", "second", "Never");
  const Answer created = Post(kMaps, ConfigMapJson("a"));
  ASSERT_EQ(created.status, 201) << created.text;
  EXPECT_EQ(created.json["data"]["list"], "first second third ");
  EXPECT_THAT(called_, ElementsAre("first", "second", "third"));
}

TEST_F(WebhookOrderTest, LaterChangeReinvokesWebhooksWithIfNeeded) {
  ServeList();
  RegisterAs("a", "asks", "IfNeeded");
  RegisterAs("b", "once", "Never");
  const Answer created = Post(kMaps, ConfigMapJson("a"));
  ASSERT_EQ(created.status, 201) << created.text;
  EXPECT_EQ(created.json["data"]["list"], "asks once asks ");
  EXPECT_THAT(called_, ElementsAre("asks", "once", "asks"));
}

TEST_F(WebhookOrderTest, NoWebhookIsReinvokedWithoutALaterChange) {
  ServeList();
  RegisterAs("a", "asks", "IfNeeded");
  RegisterAs("b", "idle", "Never");
  EXPECT_EQ(Post(kMaps, ConfigMapJson("a")).status, 201);
  EXPECT_THAT(called_, ElementsAre("asks", "idle"));
}

}  // namespace
}  // namespace berth::local
