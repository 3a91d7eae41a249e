// Goal: machines of low priority have the labels of their provider, and are taken back at their
// time, after a notice. Method: the pure functions of a pool and its nodes.
#include <set>

#include <gtest/gtest.h>

#include "base/rfc3339.h"
#include "local/cloud/cloud_step.h"
#include "local/cloud/node_pool.h"

namespace berth::local::cloud {
namespace {

using std::chrono::seconds;

constexpr WallTime kStart{seconds(1'700'000'000)};

NodePool LowPriority(const Json& more = Json::object()) {
  Json pool = {
      {"metadata", {{"name", "low"}, {"uid", "pool-uid"}}},
      {"spec", {{"machineType", "Standard_NC6s_v3"}, {"spot", true}, {"bootSeconds", 60}}}};
  pool["spec"].merge_patch(more);
  return ReadNodePool(std::make_shared<const Json>(std::move(pool)));
}

TEST(EvictionTest, EachProviderMarksLowPriorityNodesWithItsLabels) {
  const Json gke = MakeExampleNode(LowPriority(), "z");
  EXPECT_EQ(gke["metadata"]["labels"]["cloud.google.com/gke-spot"], "true");
  EXPECT_TRUE(gke["spec"]["taints"].empty());
  const Json azure = MakeExampleNode(LowPriority({{"provider", "azure"}}), "z");
  EXPECT_EQ(azure["metadata"]["labels"]["kubernetes.azure.com/scalesetpriority"], "spot");
  EXPECT_EQ(azure["metadata"]["labels"]["kubernetes.azure.com/agentpool"], "low");
  EXPECT_FALSE(azure["metadata"]["labels"].contains("cloud.google.com/gke-spot"));
  EXPECT_EQ(azure["spec"]["taints"][0]["key"], "kubernetes.azure.com/scalesetpriority");
}

TEST(EvictionTest, NodeIsEvictedAtItsAge) {
  const NodePool never = LowPriority();
  EXPECT_EQ(EvictionOf(never, MakeNode(never, "n", "z", {}, kStart)), std::nullopt);
  const NodePool pool = LowPriority({{"eviction", {{"afterSeconds", 300}}}});
  const Json node = MakeNode(pool, "n", "z", {}, kStart);
  EXPECT_EQ(EvictionOf(pool, node), kStart + seconds(60 + 300)) << "from the end of the boot";
  EXPECT_EQ(pool.eviction->notice, seconds(30));
}

TEST(EvictionTest, EvictionRateGivesEachNodeItsOwnTime) {
  const NodePool pool = LowPriority({{"eviction", {{"per100Hours", 200}}}});  // twice an hour
  std::set<WallTime> ends;
  Duration sum{};
  constexpr int kMachines = 2000;
  for (int i = 0; i < kMachines; ++i) {
    const Json node = MakeNode(pool, "n" + std::to_string(i), "z", {}, kStart);
    const auto end = EvictionOf(pool, node);
    ASSERT_TRUE(end);
    EXPECT_EQ(end, EvictionOf(pool, node)) << "the same for every question";
    ends.insert(*end);
    sum += *end - kStart - seconds(60);
  }
  EXPECT_GT(ends.size(), 1000U);
  const double mean = std::chrono::duration<double>(sum).count() / kMachines;
  EXPECT_NEAR(mean, 1800, 150);
}

TEST(EvictionTest, CloudGivesNoticeAndThenDeletesTheNode) {
  const NodePool pool = LowPriority({{"eviction", {{"afterSeconds", 300}}}});
  Json node = MakeNode(pool, "n", "z", {}, kStart);
  FinishBoot(node, kStart + seconds(60));
  const auto does = [&](int at) {
    CloudView view;
    view.pools = {pool};
    view.nodes = {std::make_shared<const Json>(node)};
    std::string done;
    for (const CloudEffect& effect : StepCloud(view, {}, kStart + seconds(at)).effects) {
      if (std::holds_alternative<WarnNode>(effect)) done += "warns ";
      if (std::holds_alternative<DeleteNode>(effect)) done += "takes ";
    }
    return done;
  };
  EXPECT_EQ(does(329), "");
  EXPECT_EQ(does(330), "warns ");
  GiveNotice(node);
  EXPECT_EQ(does(359), "") << "one warning";
  EXPECT_EQ(does(360), "takes ");
}

TEST(EvictionTest, EvictionNoticeIsGivenOnce) {
  const NodePool pool = LowPriority({{"eviction", {{"afterSeconds", 300}}}});
  Json node = MakeNode(pool, "n", "z", {}, kStart);
  EXPECT_FALSE(HasNotice(node));
  EXPECT_TRUE(GiveNotice(node));
  EXPECT_TRUE(HasNotice(node));
  EXPECT_FALSE(GiveNotice(node));
}

}  // namespace
}  // namespace berth::local::cloud
