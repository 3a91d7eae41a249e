// Goal: the pictures of a run show what ran, where and when. Method: days of a few jobs whose
// series and bars are worked out by hand; sums of the series against the report.
#include "simulation/timeline.h"

#include <numeric>

#include <gtest/gtest.h>

#include "simulation/gantt.h"
#include "simulation/run_report.h"
#include "tests/simulation/day.h"

namespace berth::simulation {
namespace {

using std::chrono::seconds;
using Values = std::vector<double>;

NodePool PoolOfFourCpus(int most) {
  NodePool pool;
  pool.name = "pool";
  pool.node.allocatable = {{"cpu", 4000}, {"pods", 110}};
  pool.max_nodes = most;
  pool.boot = seconds(60);
  pool.idle = seconds(100);
  return pool;
}

// A low job of 100 s is preempted at 40 s, goes on at 60 s and ends at 160 s.
Day Preempted() {
  Cluster cluster = EmptyCluster();
  AddQueue(cluster, "a", 4);
  return Play(cluster,
              "submit,class,cpu,run\n"
              "0,low,4,100\n"
              "40,high,2,20\n");
}

Timeline TimelineOf(const Day& day, std::size_t steps, const std::vector<NodePool>& pools = {},
                    std::size_t queues = 7) {
  return MakeTimeline(day.cluster, day.jobs, pools, day.result, day.runs,
                      {.resource = "cpu", .steps = steps, .queues = queues});
}

TEST(TimelineTest, ValuesAreMeansOfTheirSteps) {
  const Timeline timeline = TimelineOf(Preempted(), 4);  // steps of 40 s
  EXPECT_EQ(timeline.end, seconds(160));
  EXPECT_EQ(timeline.in_use, (Values{4, 3, 4, 4}));  // 2 CPUs for 20 s, then 4 for 20 s
  EXPECT_EQ(timeline.waiting, (Values{0, 0.5, 0, 0}));
  EXPECT_EQ(timeline.waits, (Values{0, 0}));
  EXPECT_TRUE(timeline.of_nodes.empty());
}

TEST(TimelineTest, PreemptionEndsARun) {
  const Day day = Preempted();
  ASSERT_EQ(day.runs.size(), 3U);
  EXPECT_EQ(day.runs[0].job, 0U);
  EXPECT_EQ(day.runs[0].end, seconds(40));
  EXPECT_FALSE(day.runs[0].finished);
  EXPECT_EQ(day.runs[2].start, seconds(60));
  EXPECT_TRUE(day.runs[2].finished);
}

TEST(TimelineTest, JobThatNeverStartsWaitsToTheEnd) {
  Cluster cluster = EmptyCluster();
  AddQueue(cluster, "a", 4);
  const Day day = Play(cluster, "submit,cpu,run\n0,4,100\n50,64,1\n");
  EXPECT_EQ(TimelineOf(day, 4).waiting, (Values{0, 0, 1, 1}));
}

TEST(TimelineTest, NodesCountFromTheirBootToTheirEnd) {
  Cluster cluster = EmptyCluster();
  AddQueue(cluster, "a", 100);
  const Day day = Play(cluster, "submit,pods,cpu,run\n0,2,4,40\n150,1,4,50\n", Duration::zero(),
                       {PoolOfFourCpus(2)});
  // Both nodes from 0, both idle from 100 on; the first runs from 150 to 200, the other goes at
  // 200.
  const Timeline timeline = TimelineOf(day, 4, {PoolOfFourCpus(2)});
  EXPECT_EQ(timeline.end, seconds(200));
  EXPECT_EQ(timeline.of_nodes, (Values{8, 8, 8, 8}));
  EXPECT_EQ(timeline.in_use, (Values{0, 8 * 0.8, 0, 4}));
  const Gantt gantt = MakeGantt(day.cluster, day.jobs, {PoolOfFourCpus(2)}, day.result, day.runs);
  ASSERT_EQ(gantt.rows.size(), 2U);
  EXPECT_EQ(gantt.rows[0].name, "pool-0");
  EXPECT_EQ(gantt.rows[0].node->ready, seconds(60));
  EXPECT_EQ(gantt.rows[0].bars.size(), 2U);
  EXPECT_EQ(gantt.rows[0].bars[1].start, seconds(150));
  EXPECT_EQ(gantt.rows[0].bars[1].line, 3);
  EXPECT_EQ(gantt.rows[1].bars.size(), 1U);
}

TEST(TimelineTest, SmallestQueuesAreJoinedInOneSeries) {
  Cluster cluster = EmptyCluster();
  std::string rows = "submit,queue,cpu,run\n";
  for (int i = 1; i <= 4; ++i) {
    const std::string name = "q" + std::to_string(i);
    AddQueue(cluster, name, 8);
    rows += "0," + name + "," + std::to_string(i) + ",100\n";
  }
  const Day day = Play(cluster, rows);
  const auto shares_of = [&day](std::size_t queues) {
    std::vector<std::pair<std::string, double>> shares;
    for (const Series& each : TimelineOf(day, 2, {}, queues).shares) {
      shares.emplace_back(each.name, each.values[1]);
    }
    return shares;
  };
  using Shares = std::vector<std::pair<std::string, double>>;
  EXPECT_EQ(shares_of(2), (Shares{{"q4", 4}, {"q3", 3}, {"others", 3}}));
  EXPECT_EQ(shares_of(3),
            (Shares{{"q4", 4}, {"q3", 3}, {"q2", 2}, {"q1", 1}}));  // no "others" of one
}

TEST(TimelineTest, UsageEqualsThatOfTheReport) {
  const Day day = Preempted();
  const Report report = MakeReport(day.cluster, day.jobs, day.result);
  for (const std::size_t steps : {1U, 7U, 240U}) {
    const Values in_use = TimelineOf(day, steps).in_use;
    const double mean =
        std::accumulate(in_use.begin(), in_use.end(), 0.0) / static_cast<double>(steps);
    EXPECT_NEAR(mean * report.hours,
                report.total.figures.used.at("cpu") + report.total.figures.destroyed.at("cpu"),
                1e-9);
  }
}

TEST(TimelineTest, TimelineOfNoTimeIsZero) {
  Cluster cluster = EmptyCluster();
  AddQueue(cluster, "a", 4);
  const Day day = Play(cluster, "submit,cpu,run\n0,64,1\n");
  EXPECT_EQ(TimelineOf(day, 2).in_use, (Values{0, 0}));
}

TEST(GanttTest, BarsOfALaneDoNotOverlap) {
  Cluster cluster = EmptyCluster();
  AddQueue(cluster, "a", 3);
  const Day day = Play(cluster, "submit,cpu,run\n0,1,100\n10,1,20\n20,1,100\n40,1,10\n");
  const Gantt gantt = MakeGantt(day.cluster, day.jobs, {}, day.result, day.runs);
  ASSERT_EQ(gantt.rows.size(), 1U);
  EXPECT_EQ(gantt.rows[0].name, "team/a");
  EXPECT_EQ(gantt.rows[0].lanes, 3U);
  std::vector<std::size_t> lanes;
  for (const GanttBar& bar : gantt.rows[0].bars) lanes.push_back(bar.lane);
  EXPECT_EQ(lanes, (std::vector<std::size_t>{0, 1, 2, 1}));
}

TEST(GanttTest, RowsAndBarsAboveALimitAreCounted) {
  Cluster cluster = EmptyCluster();
  AddQueue(cluster, "a", 3);
  AddQueue(cluster, "b", 3);
  const Day day =
      Play(cluster, "submit,queue,cpu,run\n0,a,1,100\n10,a,1,20\n20,a,1,100\n40,b,1,10\n");
  const auto left_out = [&day](const GanttLimits& limits) {
    const Gantt gantt = MakeGantt(day.cluster, day.jobs, {}, day.result, day.runs, limits);
    return std::pair(gantt.more_rows, gantt.more_bars);
  };
  EXPECT_EQ(left_out({}), std::pair(0UL, 0UL));
  EXPECT_EQ(left_out({.rows = 1}), std::pair(1UL, 0UL));
  EXPECT_EQ(left_out({.lanes = 2}), std::pair(0UL, 1UL));
  EXPECT_EQ(left_out({.bars = 1}), std::pair(0UL, 3UL));
}

}  // namespace
}  // namespace berth::simulation
