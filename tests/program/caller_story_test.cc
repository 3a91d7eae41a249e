// Goal: the story of one Workload for a caller of the read API has what `berth why` has: levers of
// pools and flavors, who stands before, for whom it was preempted, and its pods; a caller with
// rights in one namespace gets no name of another, and is told what is not seen.
//
// Method: objects of a mirror, and an API that gives or refuses lists by path.
#include "program/caller_story.h"

#include <map>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "api/codec/codec.h"
#include "api/labels.h"
#include "api/reasons.h"
#include "tests/view/view_builder.h"

namespace berth::program {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Json = nlohmann::json;

// Lists by the part of their path before "?"; others are refused.
class ApiOfLists : public view::Session {
 public:
  std::map<std::string, Json> lists;

  const std::string& default_namespace() const override { return name_; }
  const std::string& server_url() const override { return name_; }
  const std::string& cluster_name() const override { return name_; }
  std::vector<Result<Json>> GetAll(const std::vector<std::string>& paths) override {
    std::vector<Result<Json>> answers;
    for (const std::string& path : paths) {
      const auto found = lists.find(path.substr(0, path.find('?')));
      if (found != lists.end()) {
        answers.emplace_back(Json{{"items", found->second}});
      } else {
        answers.emplace_back(Error{ErrorCode::kForbidden, "not you"});
      }
    }
    return answers;
  }
  Result<Json> GetTable(const std::string&) override { return Json(); }
  Result<std::string> GetText(const std::string&) override { return std::string(); }
  Result<Json> Write(const std::string&, const std::string&, const std::string&,
                     const Json&) override {
    return Json();
  }
  Result<Json> Post(const std::string&) override { return Json(); }

 private:
  std::string name_ = "of-the-test";
};

template <typename T>
void Put(T object, std::vector<std::shared_ptr<const T>>& objects) {
  objects.push_back(std::make_shared<const T>(std::move(object)));
}

class CallerStoryTest : public ::testing::Test {
 protected:
  CallerStoryTest() {
    for (const char* space : {"team-a", "team-b"}) {
      Put(view::MakeLocalQueue(space, "q", "cq"), objects_.local_queues);
    }
    Put(view::MakeQueue("cq", "", {{"cpu", 1000}}, {}), objects_.cluster_queues);
    api_.lists["/apis/kueue.x-k8s.io/v1beta2/resourceflavors"] = Json::array(
        {{{"apiVersion", "kueue.x-k8s.io/v1beta2"},
          {"kind", "ResourceFlavor"},
          {"metadata", {{"name", "t4"}}},
          {"spec",
           {{"nodeTaints", {{{"key", "gpu"}, {"value", "t4"}, {"effect", "NoSchedule"}}}}}}}});
    for (const char* list :
         {"/apis/kueue.x-k8s.io/v1beta2/admissionchecks",
          "/apis/cloud.berth.dev/v1alpha1/nodepools", "/api/v1/namespaces/team-a/pods"}) {
      api_.lists[list] = Json::array();
    }
  }

  api::Workload Waiting(const std::string& space, const std::string& name, std::int64_t age) {
    api::Workload workload = view::MakeWorkload(space, name, "q", age);
    workload.status.conditions.push_back(view::FalseCondition(
        api::kQuotaReserved, api::kWaitingForQuota, "no flavor", view::SecondsAgo(age)));
    workload.meta.annotations[api::kExplanationAnnotation] =
        R"({"tried":[{"podSet":"main","flavor":"t4",)"
        R"("message":"untolerated taint {gpu t4 NoSchedule} in flavor t4"}]})";
    return workload;
  }

  Json StoryOf(const api::Workload& workload, std::vector<std::string> namespaces = {}) {
    const readapi::CallerRequest request{.kind = readapi::CallerRequest::Kind::kStory,
                                         .namespaces = std::move(namespaces),
                                         .namespace_name = workload.meta.namespace_name,
                                         .name = workload.meta.name,
                                         .before = 2};
    const Result<Json> story = CallerStory(api_, request, objects_, view::ViewTime());
    EXPECT_TRUE(story) << (story ? "" : story.error().message);
    return story ? *story : Json();
  }

  ApiOfLists api_;
  MirrorObjects objects_;
};

TEST_F(CallerStoryTest, StoryHasLeversOfFlavorsAndWorkloadsBefore) {
  Put(Waiting("team-b", "first", 900), objects_.workloads);
  Put(Waiting("team-a", "second", 600), objects_.workloads);
  const api::Workload own = Waiting("team-a", "third", 300);
  Put(own, objects_.workloads);
  Put(Waiting("team-b", "behind", 60), objects_.workloads);
  const Json told = StoryOf(own);
  EXPECT_THAT(told["story"]["wouldStartIf"],
              ElementsAre("it tolerated the taint gpu=t4:NoSchedule of flavor t4"));
  const Json& lines = told["story"]["steps"][1]["lines"];
  EXPECT_THAT(lines, Contains("stands before it: team-b/first"));
  EXPECT_THAT(lines, Contains("stands before it: team-a/second"));
  EXPECT_THAT(lines.dump(), Not(HasSubstr("behind")));
  EXPECT_THAT(told["story"]["notSeen"], IsEmpty());
  EXPECT_EQ(told["pods"], Json::array());
}

TEST_F(CallerStoryTest, ReaderOfOneNamespaceSeesOnlyNumbersOfOthers) {
  Put(Waiting("team-b", "secret", 900), objects_.workloads);
  api::Workload own = Waiting("team-a", "mine", 300);
  own.meta.annotations[api::kExplanationAnnotation] =
      R"({"victims":[{"workload":"team-b/secret","whyNot":"higher priority"}]})";
  Put(own, objects_.workloads);
  api_.lists.erase("/apis/kueue.x-k8s.io/v1beta2/resourceflavors");
  const Json told = StoryOf(own, {"team-a"});
  EXPECT_THAT(told.dump(), Not(HasSubstr("secret")));
  EXPECT_THAT(told["story"]["steps"][1]["lines"],
              Contains("workloads before it in ClusterQueue cq: 2"));
  EXPECT_THAT(told["story"]["notSeen"].dump(), HasSubstr("resourceflavors"));
  EXPECT_THAT(told["story"]["notSeen"].dump(), HasSubstr("only of namespace team-a"));
}

TEST_F(CallerStoryTest, NamesThePreemptorAndThePods) {
  api::Workload preemptor = view::MakeRunning("team-b", "winner", "cq", {{"cpu", 1000}});
  preemptor.meta.uid = "uid-of-winner";
  Put(preemptor, objects_.workloads);
  api::Workload own = Waiting("team-a", "loser", 300);
  own.status.conditions.push_back(view::TrueCondition(api::kEvicted, api::kPreempted,
                                                      "Preempted to accommodate a workload (UID: "
                                                      "uid-of-winner, JobUID: x)",
                                                      view::SecondsAgo(60)));
  Put(own, objects_.workloads);
  api_.lists["/api/v1/namespaces/team-a/pods"] =
      Json::array({{{"metadata", {{"name", "loser-0"}, {"namespace", "team-a"}}},
                    {"spec", {{"nodeName", "node-7"}}},
                    {"status", {{"phase", "Running"}}}},
                   {{"metadata", {{"name", "loser-1"}, {"namespace", "team-a"}}},
                    {"status", {{"phase", "Pending"}}}}});
  const Json told = StoryOf(own);
  EXPECT_THAT(told["story"]["steps"][1]["lines"].dump(), HasSubstr("made room for team-b/winner"));
  EXPECT_EQ(told["pods"], Json::parse(R"([{"name":"loser-0","node":"node-7","phase":"Running"},)"
                                      R"({"name":"loser-1","node":null,"phase":"Pending"}])"));
  EXPECT_THAT(StoryOf(own, {"team-a"}).dump(), Not(HasSubstr("winner (priority")));
}

// What it waited for is not read: a reader without the right to do so misses nothing.
TEST_F(CallerStoryTest, FinishedWorkloadReadsNoFlavorsOrNodePools) {
  api::Workload own = view::MakeRunning("team-a", "done", "cq", {{"cpu", 1000}});
  own.status.conditions.push_back(
      view::TrueCondition(api::kFinished, api::kSucceeded, "done", view::SecondsAgo(10)));
  Put(own, objects_.workloads);
  api_.lists.erase("/apis/kueue.x-k8s.io/v1beta2/resourceflavors");
  api_.lists.erase("/apis/cloud.berth.dev/v1alpha1/nodepools");
  const Json story = StoryOf(own, {"team-a"})["story"];
  EXPECT_THAT(story["notSeen"], IsEmpty());
  EXPECT_THAT(story["wouldStartIf"], IsEmpty());
}

TEST_F(CallerStoryTest, NamesFewOfManyWorkloadsBefore) {
  for (int i = 0; i < 100; ++i) {
    Put(Waiting("team-b", "w" + std::to_string(i), 1000 + i), objects_.workloads);
  }
  const api::Workload own = Waiting("team-a", "last", 10);
  Put(own, objects_.workloads);
  const Json lines = StoryOf(own)["story"]["steps"][1]["lines"];
  EXPECT_EQ(lines.back(), "… and more");
  EXPECT_THAT(lines, Contains("stands before it: team-b/w99"));
}

}  // namespace
}  // namespace berth::program
