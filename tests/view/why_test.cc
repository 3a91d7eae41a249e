// Goal: `berth why` goes from the Job to the missing object, names the change that would help, and
// suggests the right name for a wrong one.
#include "view/screens/why.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/labels.h"
#include "api/reasons.h"
#include "tests/view/view_builder.h"

namespace berth::view {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Why, ReportsTheStepsOfAJobThatWaitsForCapacity) {
  const ClusterView view = DwsView();
  const auto story = TellStory(view, "default", "job/h100-train", {});
  ASSERT_TRUE(story.has_value()) << story.error().message;
  EXPECT_EQ(story->headline, "has waited 3d2h: for capacity");
  std::vector<std::string> names;
  for (const Step& step : story->steps) names.push_back(step.name);
  EXPECT_THAT(names, ElementsAre("queued", "quota reserved", "capacity", "admitted", "running"));
  EXPECT_EQ(story->steps[2].state, StepState::kNow);
  EXPECT_THAT(story->steps[2].lines, testing::Contains(HasSubstr("none in stock")));
  EXPECT_THAT(story->would_start_if,
              ElementsAre("one a3-highgpu-8g came into stock for pool dws-h100-nodepool",
                          HasSubstr("dws-t4-nodepool, which has machines in stock")));
  EXPECT_THAT(story->gives_up, HasSubstr("never (set provreq.kueue.x-k8s.io/ValidUntilSeconds"));
}

TEST(Why, RendersTheSteps) {
  const ClusterView view = DwsView();
  const auto story = TellStory(view, "default", "h100-train", {});
  ASSERT_TRUE(story.has_value());
  const std::string text = RenderStory(view, *story, {});
  EXPECT_THAT(text, HasSubstr("default/h100-train has waited 3d2h: for capacity.\n"));
  EXPECT_THAT(text, HasSubstr("  ✓ queued          2026-11-17T06:12:00Z  LocalQueue "
                              "dws-local-queue → ClusterQueue dws-cluster-queue\n"));
  EXPECT_THAT(text, HasSubstr("  · running\n"));
}

TEST(Why, SuggestsTheNearestName) {
  const auto story = TellStory(DwsView(), "default", "job/h100-trian", {});
  ASSERT_FALSE(story.has_value());
  EXPECT_EQ(story.error(), (Error{ErrorCode::kNotFound,
                                  "no job \"h100-trian\" in namespace default; did you "
                                  "mean h100-train? (berth list)"}));
}

TEST(Why, FindsJobsOfOtherKindsByTheirWorkloads) {
  ClusterView view = DwsView();
  api::Workload& workload = view.workloads.front();
  workload.meta.owner_references = {{.api_version = "jobset.x-k8s.io/v1alpha2",
                                     .kind = "JobSet",
                                     .name = "set",
                                     .uid = "u9",
                                     .controller = true}};
  for (const char* word : {"jobset/set", "JobSets/set", "jobset.jobset.x-k8s.io/set"}) {
    const auto story = TellStory(view, workload.meta.namespace_name, word, {});
    ASSERT_TRUE(story.has_value()) << word << story.error().message;
    EXPECT_THAT(story->subject, HasSubstr("/set"));
  }
  EXPECT_THAT(TellStory(view, "default", "jobset/sat", {}).error().message,
              HasSubstr("did you mean set?"));
  EXPECT_FALSE(TellStory(view, "default", "jobset.example.com/set", {}).has_value());
  EXPECT_THAT(TellStory(view, "default", "rayjob/set", {}).error().message,
              HasSubstr("no Workload of a rayjob \"set\" in namespace default"));
}

// An elastic RayCluster that has grown: its running slice, the one that waits, and one that ended.
TEST(Why, ReportsTheWaitingSliceBeforeTheRunningSlice) {
  ClusterView view = DwsView();
  view.workloads.clear();
  view.jobs.clear();
  const auto add = [&view](api::Workload slice, const char* name) {
    slice.meta.name = name;
    slice.meta.owner_references = {{.api_version = "ray.io/v1",
                                    .kind = "RayCluster",
                                    .name = "ray",
                                    .uid = "u9",
                                    .controller = true}};
    view.workloads.push_back(std::move(slice));
  };
  api::Workload ended = MakeWorkload("default", "ended", "q", 900);
  ended.status.conditions = {
      TrueCondition(api::kFinished, api::kWorkloadSliceReplaced, "replaced", SecondsAgo(500))};
  add(MakeRunning("default", "running", "cq", {{"cpu", 1000}}), "running");
  view.workloads[0].meta.creation_timestamp = SecondsAgo(600);
  add(MakeWorkload("default", "next", "q", 60), "next");
  add(std::move(ended), "ended");
  const auto story = TellStory(view, "default", "raycluster/ray", {});
  ASSERT_TRUE(story.has_value()) << story.error().message;
  EXPECT_THAT(story->headline, HasSubstr("has waited 60s"));
  view.workloads.erase(view.workloads.begin() + 1);
  EXPECT_THAT(TellStory(view, "default", "raycluster/ray", {})->headline, HasSubstr("runs since"));
}

TEST(Why, NamesTheMissingLabelOfAJobThatIsNotQueued) {
  ClusterView view = DwsView();
  view.workloads.clear();
  view.jobs[0].meta.labels.clear();
  EXPECT_THAT(TellStory(view, "default", "job/h100-train", {}).error().message,
              HasSubstr("it has no label kueue.x-k8s.io/queue-name (queues here: "
                        "dws-local-queue)"));
}

TEST(Why, RefusesKindsThatAreNotQueued) {
  EXPECT_THAT(TellStory(DwsView(), "default", "node/n1", {}).error().message,
              HasSubstr("berth kinds shows the kinds that are queued"));
}

TEST(Why, JsonHasAmountsAsNumbers) {
  const auto story = TellStory(DwsView(), "default", "job/h100-train", {});
  ASSERT_TRUE(story.has_value());
  const nlohmann::json out = StoryJson(*story);
  EXPECT_EQ(out["steps"][1]["assigned"][0], nlohmann::json({{"podSet", "main"},
                                                            {"flavor", "default-flavor"},
                                                            {"resource", "cpu"},
                                                            {"unit", "milliCPU"},
                                                            {"amount", 100}}));
  EXPECT_EQ(
      out["steps"][2]["capacity"]["nodePool"],
      nlohmann::json({{"name", "dws-h100-nodepool"}, {"nodes", 0}, {"maxNodes", 1}, {"stock", 0}}));
  EXPECT_EQ(out["notSeen"], nlohmann::json::array());
}

}  // namespace
}  // namespace berth::view
