// Goal: pods find nodes as their pools allow, nodes boot, and idle nodes go. Method: pools of a few
// nodes of four GPUs; node-hours worked out by hand; then days of jobs whose starts wait for nodes.
#include "simulation/nodes.h"

#include <gtest/gtest.h>

#include "tests/simulation/day.h"

namespace berth::simulation {
namespace {

using std::chrono::seconds;
using Events = std::vector<std::string>;

constexpr WallTime kBegin{seconds(1000)};

NodePool PoolOf(const std::string& name, int cpus, int most) {
  NodePool pool;
  pool.name = name;
  pool.node.allocatable = {{"cpu", cpus * 1000}, {"pods", 110}};
  pool.node.meta.labels = {{"pool", name}};
  pool.max_nodes = most;
  pool.boot = seconds(60);
  pool.idle = seconds(100);
  return pool;
}

const api::ResourceAmounts kTwoCpus{{"cpu", 2000}};

TEST(NodesTest, PodsFillNodesBeforeNewOnesBoot) {
  Nodes nodes({PoolOf("a", 4, 3)}, kBegin);
  const PodNeeds needs{.requests = &kTwoCpus};
  const auto first = nodes.Place(needs, 3, kBegin);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->pods, (std::vector<std::pair<NodeId, std::int64_t>>{{0, 2}, {1, 1}}));
  EXPECT_EQ(first->ready, kBegin + seconds(60));
  // Four more do not fit: one on node 1, two on a third node. Nothing changes.
  EXPECT_FALSE(nodes.Place(needs, 4, kBegin + seconds(10)));
  const auto second = nodes.Place(needs, 1, kBegin + seconds(90));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->pods, (std::vector<std::pair<NodeId, std::int64_t>>{{1, 1}}));
  EXPECT_EQ(second->ready, kBegin + seconds(90));
  nodes.Free(*first, kTwoCpus, kBegin + seconds(100));
  nodes.Free(*second, kTwoCpus, kBegin + seconds(150));
  // Node 0 goes at 200, node 1 at 250.
  const auto use = nodes.UseUntil(kBegin + seconds(150));
  ASSERT_EQ(use.size(), 1U);
  EXPECT_EQ(use[0].peak, 2);
  EXPECT_EQ(use[0].node_time, seconds(200 + 250));
  EXPECT_EQ(use[0].busy_time, seconds(100 + 150));
}

TEST(NodesTest, IdleNodeIsReusedUntilItsIdleTimeEnds) {
  Nodes nodes({PoolOf("a", 4, 3)}, kBegin);
  const PodNeeds needs{.requests = &kTwoCpus};
  const auto first = nodes.Place(needs, 1, kBegin);
  nodes.Free(*first, kTwoCpus, kBegin + seconds(70));
  const auto reuse = nodes.Place(needs, 1, kBegin + seconds(169));
  EXPECT_EQ(reuse->ready, kBegin + seconds(169));
  nodes.Free(*reuse, kTwoCpus, kBegin + seconds(170));
  const auto late = nodes.Place(needs, 1, kBegin + seconds(270));
  EXPECT_EQ(late->ready, kBegin + seconds(330));
}

TEST(NodesTest, MinimumNodesAreReadyAndStay) {
  NodePool pool = PoolOf("a", 4, 3);
  pool.min_nodes = 1;
  Nodes nodes({pool}, kBegin);
  const PodNeeds needs{.requests = &kTwoCpus};
  const auto placed = nodes.Place(needs, 3, kBegin + seconds(1000));
  EXPECT_EQ(placed->pods.size(), 2U);
  EXPECT_EQ(placed->ready, kBegin + seconds(1060));
  nodes.Free(*placed, kTwoCpus, kBegin + seconds(1100));
  // One node from 0 to 2000, one from 1000 to 1200.
  EXPECT_EQ(nodes.UseUntil(kBegin + seconds(2000))[0].node_time, seconds(2000 + 200));
}

TEST(NodesTest, LabelsAndTaintsSelectPools) {
  NodePool tainted = PoolOf("gpu", 4, 1);
  tainted.node.allocatable["nvidia.com/gpu"] = 1;
  tainted.node.taints.push_back({"nvidia.com/gpu", "present", "NoSchedule"});
  Nodes nodes({tainted, PoolOf("plain", 4, 1)}, kBegin);
  const api::ResourceAmounts gpu{{"nvidia.com/gpu", 1}};
  const auto pool_of = [&nodes](const PodNeeds& needs) {
    const auto placed = nodes.Place(needs, 1, kBegin);
    return placed ? placed->pods[0].first : -1;
  };
  EXPECT_EQ(pool_of({.requests = &kTwoCpus}), 0);  // the first node, of "plain"
  EXPECT_EQ(pool_of({.requests = &gpu, .node_labels = {{"pool", "plain"}}}), -1);
  EXPECT_EQ(pool_of({.requests = &kTwoCpus, .node_labels = {{"pool", "gpu"}}}), -1);
  EXPECT_EQ(pool_of({.requests = &gpu}), 1);
  const api::Toleration any{.key = "nvidia.com/gpu", .op = "Exists"};
  EXPECT_EQ(
      pool_of({.requests = &kTwoCpus, .node_labels = {{"pool", "gpu"}}, .tolerations = {any}}), 1);
}

Day PlayOnPools(const std::vector<NodePool>& pools, int quota, const std::string& csv) {
  Cluster cluster = EmptyCluster();
  AddQueue(cluster, "a", quota);
  return Play(cluster, csv, Duration::zero(), pools);
}

TEST(NodesTest, JobsStartWhenTheirNodesAreReady) {
  const Day day = PlayOnPools({PoolOf("a", 4, 2)}, 100,
                              "submit,pods,cpu,run\n"
                              "0,2,4,50\n"
                              "10,1,4,20\n"
                              "20,1,64,5\n");
  EXPECT_EQ(day.events, (Events{"0 submit 0", "10 submit 1", "20 submit 2", "60 start 0",
                                "110 finish 0", "110 start 1", "130 finish 1"}));
  EXPECT_EQ(day.result.outcomes[2].why, "has quota, and no node pool has room for its pods, ever");
  EXPECT_EQ(day.result.outcomes[1].started, seconds(110));
  EXPECT_EQ(day.result.pools[0].peak, 2);
  // Node 0 is busy to 130 and goes at 230; node 1 is busy to 110 and goes at 210.
  EXPECT_EQ(day.result.pools[0].node_time, seconds(230 + 210));
}

TEST(NodesTest, APreemptedJobLeavesItsNodesAtEachStage) {
  const std::string rows =
      "submit,class,cpu,run\n"
      "0,low,4,100\n"
      "PREEMPTS,high,4,10\n";
  const auto play = [&rows](const std::string& at, int nodes) {
    std::string csv = rows;
    csv.replace(csv.find("PREEMPTS"), 8, at);
    return PlayOnPools({PoolOf("a", 4, nodes)}, 4, csv).events;
  };
  // While its node boots: the high job gets the node, which is ready at 60.
  EXPECT_EQ(play("30", 1), (Events{"0 submit 0", "30 submit 1", "30 preempt 0", "60 start 1",
                                   "70 finish 1", "70 start 0", "170 finish 0"}));
  // While it runs.
  EXPECT_EQ(play("90", 1), (Events{"0 submit 0", "60 start 0", "90 submit 1", "90 preempt 0",
                                   "90 start 1", "100 finish 1", "100 start 0", "200 finish 0"}));
  // While it has quota and no nodes.
  EXPECT_EQ(play("90", 0), (Events{"0 submit 0", "90 submit 1", "90 preempt 0"}));
}

NodePool LowPriorityPool(int most, Duration life) {
  NodePool pool = PoolOf("low", 4, most);
  pool.evicted_after = life;
  return pool;
}

TEST(NodesTest, JobRestartsWithItsQuotaWhenItsNodeIsEvicted) {
  const Day day = PlayOnPools({LowPriorityPool(1, seconds(200))}, 8,
                              "submit,cpu,run\n"
                              "0,4,150\n"
                              "100,4,100\n");
  EXPECT_EQ(day.events, (Events{"0 submit 0", "60 start 0", "100 submit 1", "210 finish 0",
                                "210 start 1", "260 lose 1", "320 start 1", "420 finish 1"}));
  EXPECT_EQ(day.result.outcomes[1].lost, seconds(50));
  EXPECT_EQ(day.result.outcomes[1].evictions, 1);
  // The second node would be idle until 520, and is taken back at the same time.
  EXPECT_EQ(day.result.pools[0].node_time, seconds(260 + 260));
  EXPECT_EQ(day.result.pools[0].busy_time, seconds(260 + 160));
}

TEST(NodesTest, AllPodsOfAJobLeaveWithOneNode) {
  NodePool sure = PoolOf("sure", 4, 1);
  const Day day = PlayOnPools({LowPriorityPool(1, seconds(100)), sure}, 100,
                              "submit,pods,cpu,run\n"
                              "0,1,4,50\n"
                              "70,2,4,80\n");
  // At 110 the node of the first job, which goes at 160, and a new one of "sure", ready at 170.
  EXPECT_EQ(day.events, (Events{"0 submit 0", "60 start 0", "70 submit 1", "110 finish 0",
                                "160 lose 1", "220 start 1", "300 finish 1"}));
  EXPECT_EQ(day.result.outcomes[1].lost, Duration::zero());
  EXPECT_EQ(day.result.pools[1].peak, 1);
}

TEST(NodesTest, JobLongerThanItsNodesLiveIsGivenUp) {
  const Day day = PlayOnPools({LowPriorityPool(1, seconds(200))}, 4,
                              "submit,cpu,run\n"
                              "0,4,300\n"
                              "1,4,10\n");
  EXPECT_EQ(day.result.outcomes[0].evictions, kMostLostRuns);
  EXPECT_FALSE(day.result.outcomes[0].finished);
  EXPECT_EQ(day.result.outcomes[0].why,
            "the cloud took nodes back in each of its 100 runs: the nodes live for less time than "
            "the job needs");
  EXPECT_TRUE(day.result.outcomes[1].finished);  // it has the quota that the first gave back
}

TEST(NodesTest, IdleNodesAreEvictedAtTheirAge) {
  NodePool pool = LowPriorityPool(1, seconds(200));
  pool.min_nodes = 1;
  Nodes nodes({pool}, kBegin);
  const auto late = nodes.Place({.requests = &kTwoCpus}, 1, kBegin + seconds(500));
  ASSERT_TRUE(late);
  // The second was ready at 260, the third is at 520.
  EXPECT_EQ(late->ready, kBegin + seconds(520));
  std::vector<Duration> gone;
  for (const NodeLife& life : nodes.lives()) gone.push_back(life.gone);
  EXPECT_EQ(gone, (std::vector<Duration>{seconds(200), seconds(460)}));
}

TEST(NodesTest, EvictionsFollowTheRateOfThePool) {
  constexpr int kNodes = 400;
  NodePool pool = PoolOf("low", 2, kNodes);
  pool.evictions_per_hour = 60;
  Nodes nodes({pool}, kBegin);
  const auto placed = nodes.Place({.requests = &kTwoCpus}, kNodes, kBegin);
  ASSERT_TRUE(placed);
  double sum = 0;
  for (const auto& [node, pods] : placed->pods) {
    sum += std::chrono::duration<double>(*nodes.EvictionOf(node) - placed->ready).count();
  }
  // The mean of 400 exponential times with a mean of 60 s: a deviation of 3 s.
  EXPECT_NEAR(sum / kNodes, 60, 9);
}

}  // namespace
}  // namespace berth::simulation
