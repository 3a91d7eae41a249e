// Goal: the manifests, events and logs that a caller of the read API gets are those that the API
// server gives to the caller, bounded, and what is refused is named.
//
// Method: an API that gives or refuses answers by path.
#include "program/caller_objects.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/program/api_of_answers.h"
#include "tests/view/view_builder.h"

namespace berth::program {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

Json EventAt(const std::string& time, const std::string& reason) {
  return {{"lastTimestamp", time},
          {"type", "Normal"},
          {"reason", reason},
          {"message", "m"},
          {"involvedObject", {{"kind", "Job"}, {"name", "train"}}}};
}

class CallerObjectsTest : public ::testing::Test {
 protected:
  CallerObjectsTest() {
    own_ = view::MakeWorkload("team-a", "train", "q", 60);
    objects_.workloads.push_back(std::make_shared<const api::Workload>(own_));
    request_.namespace_name = "team-a";
    request_.name = own_.meta.name;
    api_.answers[kSpace + "/pods?labelSelector=batch.kubernetes.io%2Fjob-name%3Dtrain&limit=8"] =
        Json{{"items", Json::array()}};
    PutEvents(own_.meta.name, Json::array());
    PutEvents("train", Json::array());
  }

  void PutEvents(const std::string& name, Json events) {
    api_.answers[kSpace + "/events?fieldSelector=involvedObject.name%3D" + name] =
        Json{{"items", std::move(events)}};
  }

  Json Objects() {
    const auto told = CallerWorkloadObjects(api_, request_, objects_);
    EXPECT_TRUE(told) << (told ? "" : told.error().message);
    return told ? *told : Json();
  }

  Result<Json> Log(const std::string& container = "") {
    readapi::CallerRequest request = request_;
    request.pod = "train-x";
    request.container = container;
    return CallerLog(api_, request);
  }

  const std::string kSpace = "/api/v1/namespaces/team-a";
  const std::string kLog = kSpace + "/pods/train-x/log?container=";
  const std::string kBounds = "&tailLines=500&limitBytes=4194304";
  ApiOfAnswers api_;
  api::Workload own_;
  MirrorObjects objects_;
  readapi::CallerRequest request_;
};

TEST_F(CallerObjectsTest, ManifestsAreYamlWithoutManagedFields) {
  api_.answers["/apis/batch/v1/namespaces/team-a/jobs/train"] = {
      {"kind", "Job"},
      {"metadata", {{"name", "train"}, {"managedFields", Json::array({"secret"})}}}};
  const Json told = Objects();
  ASSERT_EQ(told["objects"].size(), 1U);
  EXPECT_EQ(told["objects"][0]["yaml"], "kind: Job\nmetadata:\n  name: train\n");
  EXPECT_EQ(told["hidden"], Json::array({"manifests"})) << "the Workload is refused";
}

TEST_F(CallerObjectsTest, EventsAreNewestFirstAndBounded) {
  Json many = Json::array();
  for (int i = 0; i < 100; ++i) many.push_back(EventAt("2026-01-01T00:00:00Z", "Old"));
  PutEvents("train", many);
  Json created = EventAt("2026-01-02T00:00:00Z", "New");
  created["involvedObject"] = {{"kind", "Workload"}, {"name", own_.meta.name}};
  Json of_a_service = EventAt("2026-01-03T00:00:00Z", "OfAService");
  of_a_service["involvedObject"]["kind"] = "Service";
  Json of_an_earlier_job = EventAt("2026-01-03T00:00:00Z", "Earlier");
  of_an_earlier_job["involvedObject"]["uid"] = "gone";
  many.push_back(of_a_service);
  many.push_back(of_an_earlier_job);
  PutEvents("train", many);
  PutEvents(own_.meta.name, Json::array({created}));
  const Json told = Objects();
  EXPECT_EQ(told["events"].size(), kMostToldEvents);
  EXPECT_EQ(told["events"][0]["reason"], "New");
  EXPECT_EQ(told["events"][0]["count"], 1);
  EXPECT_EQ(told["eventsLeftOut"], 1);
}

TEST_F(CallerObjectsTest, EventsWithoutARightAreNamedAsHiddenOnce) {
  std::erase_if(api_.answers,
                [](const auto& each) { return each.first.find("/events") != std::string::npos; });
  EXPECT_THAT(Objects()["hidden"], ElementsAre("manifests", "events"));
}

TEST_F(CallerObjectsTest, PodsWithoutARightAreNamedAsHidden) {
  std::erase_if(api_.answers,
                [](const auto& each) { return each.first.find("/pods") != std::string::npos; });
  EXPECT_THAT(Objects()["hidden"], ElementsAre("manifests", "pods"));
}

TEST_F(CallerObjectsTest, LogOfLongLinesIsReadFromItsEnd) {
  api_.answers[kSpace + "/pods/train-x"] = {{"spec", {{"containers", {{{"name", "main"}}}}}}};
  api_.texts[kLog + "main" + kBounds] = std::string(4UL * 1024 * 1024, 'x');
  api_.texts[kLog + "main&tailLines=20&limitBytes=4194304"] = "the end\n";
  EXPECT_EQ((*Log())["text"], "the end\n");
  EXPECT_EQ((*Log())["cut"], true);
}

TEST_F(CallerObjectsTest, MissingWorkloadIsNotFound) {
  request_.name = "other";
  EXPECT_EQ(CallerWorkloadObjects(api_, request_, objects_).error().code, ErrorCode::kNotFound);
}

TEST_F(CallerObjectsTest, LogIsThatOfTheDefaultContainer) {
  Json pod = {{"metadata", {{"name", "train-x"}}},
              {"spec",
               {{"containers", {{{"name", "side"}}, {{"name", "main"}}}},
                {"initContainers", {{{"name", "setup"}}}}}}};
  api_.answers[kSpace + "/pods/train-x"] = pod;
  api_.texts[kLog + "side" + kBounds] = "of side\n";
  EXPECT_EQ((*Log())["text"], "of side\n");
  EXPECT_EQ((*Log())["containers"], Json::array({"side", "main", "setup"}));
  pod["metadata"]["annotations"] = {{"kubectl.kubernetes.io/default-container", "main"}};
  api_.answers[kSpace + "/pods/train-x"] = pod;
  api_.texts[kLog + "main" + kBounds] = "of main\n";
  EXPECT_EQ((*Log())["text"], "of main\n");
  EXPECT_EQ(Log("setup").error().code, ErrorCode::kForbidden);
  EXPECT_THAT(Log("none").error().message, HasSubstr("it has side, main, setup"));
}

TEST_F(CallerObjectsTest, ALongLogIsCutAtALine) {
  api_.answers[kSpace + "/pods/train-x"] = {{"spec", {{"containers", {{{"name", "main"}}}}}}};
  std::string text = "first\n";
  while (text.size() <= kMostLogBytes) text += std::string(1000, 'x') + "\n";
  api_.texts[kLog + "main" + kBounds] = text + "last\xff\n";
  const Json log = *Log();
  const std::string shown = log["text"];
  EXPECT_LE(shown.size(), kMostLogBytes + 2) << "a byte that is not UTF-8 is three bytes";
  EXPECT_TRUE(shown.ends_with("last\xef\xbf\xbd\n"));
  EXPECT_THAT(shown, Not(HasSubstr("first")));
  EXPECT_EQ(shown.substr(0, 1001), std::string(1000, 'x') + "\n");
  EXPECT_EQ(log["cut"], true);
}

}  // namespace
}  // namespace berth::program
