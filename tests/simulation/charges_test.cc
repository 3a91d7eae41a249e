// Goal: every second of a node on which something ran is charged to jobs once: boots to the first,
// idle times to the last, shared time by what the pods request. Method: days of a few jobs, worked
// out by hand.
#include <gtest/gtest.h>

#include "api/labels.h"
#include "simulation/flavor_costs.h"
#include "simulation/node_charges.h"
#include "simulation/run_report.h"
#include "tests/simulation/day.h"

namespace berth::simulation {
namespace {

using std::chrono::seconds;

constexpr double kHour = 3600;

// Four CPUs for 6 USD an hour; boots for 60 s, goes after 100 idle ones.
NodePool SmallPool(int least, int most) {
  NodePool pool;
  pool.name = "pool";
  pool.node.allocatable = {{"cpu", 4000}, {"memory", 1 << 30U}, {"pods", 110}};
  pool.min_nodes = least;
  pool.max_nodes = most;
  pool.boot = seconds(60);
  pool.idle = seconds(100);
  pool.price_per_hour = 6;
  return pool;
}

Day PlayOn(const NodePool& pool, const std::string& csv) {
  Cluster cluster = EmptyCluster();
  AddQueue(cluster, "a", 8);
  return Play(cluster, csv, Duration::zero(), {pool});
}

std::vector<double> SecondsByJob(const Day& day, const NodePool& pool) {
  std::vector<double> sums;
  for (const auto& times : ChargesOf(day.jobs, {pool}, day.result, day.runs)) {
    double sum = 0;
    for (const NodeTime& time : times) sum += time.seconds;
    sums.push_back(sum);
  }
  return sums;
}

TEST(ChargesTest, BootIsChargedToTheFirstJobAndIdleTimeToTheLast) {
  const NodePool pool = SmallPool(0, 1);
  const Day day = PlayOn(pool, "submit,cpu,run\n0,4,40\n150,4,10\n");
  // Boot to 60, run to 100, idle to 150, run to 160, idle to 260.
  EXPECT_EQ(SecondsByJob(day, pool), (std::vector<double>{150, 110}));
}

TEST(ChargesTest, SharedNodeTimeIsDividedByRequests) {
  const NodePool pool = SmallPool(0, 1);
  const Day day = PlayOn(pool, "submit,cpu,run\n0,3,40\n0,1,80\n");
  // Boot and 40 s together, then 40 s and the idle time of 100 s alone.
  EXPECT_EQ(SecondsByJob(day, pool), (std::vector<double>{75, 25 + 140}));
}

TEST(ChargesTest, PodsWithoutRequestsShareANodeEqually) {
  const NodePool pool = SmallPool(0, 1);
  const Day day = PlayOn(pool, "submit,pods,run\n0,1,40\n0,3,40\n");
  EXPECT_EQ(SecondsByJob(day, pool), (std::vector<double>{25 + 0, 75 + 100}));
}

TEST(ChargesTest, NoJobIsChargedWithoutPools) {
  Cluster cluster = EmptyCluster();
  AddQueue(cluster, "a", 8);
  const Day day = Play(cluster, "submit,cpu,run\n0,4,40\n");
  EXPECT_TRUE(ChargesOf(day.jobs, {}, day.result, day.runs).empty());
  const Report report = MakeReport(day.cluster, day.jobs, day.result);
  EXPECT_EQ(report.rows[0].figures.charged, report.rows[0].figures.used);
  EXPECT_EQ(report.rows[0].figures.cost, 0);
}

// Runs of the cluster by the prices of its flavors, in USD by job.
std::vector<double> CostsOf(Cluster cluster, const std::string& csv) {
  Prepare(cluster);
  const auto trace = ReadCsv(csv);
  const auto jobs = BindJobs(*trace, cluster, "");
  FlavorCosts costs(cluster, jobs->size());
  WorldOptions options;
  options.driver.wake_up_batch = Duration::zero();
  options.on_event = [&costs](const WorldEvent& event) { costs.Note(event); };
  const WorldResult result = World(cluster, *jobs, options).Run();
  const std::vector<double> made = costs.Take(result.end);
  const Report report = MakeReport(cluster, *jobs, result, {}, {}, made);
  double sum = 0;
  for (const double cost : made) sum += cost;
  EXPECT_DOUBLE_EQ(report.total.figures.cost, sum);
  return made;
}

TEST(FlavorCostsTest, ARunCostsThePriceOfItsFlavorForEachPod) {
  Cluster cluster = EmptyCluster();
  AddQueue(cluster, "a", 4);
  const std::string csv = "submit,class,pods,cpu,run\n0,low,2,2,3600\n1800,high,1,4,900\n";
  EXPECT_TRUE(CostsOf(cluster, csv).empty());  // no price is known
  cluster.flavors[0].meta.annotations[api::kPricePerHourAnnotation] = "1.5";
  // The first job loses half an hour of two pods, and then runs for an hour.
  EXPECT_EQ(CostsOf(cluster, csv), (std::vector<double>{2 * 1.5 * 1.5, 1.5 / 4}));
}

TEST(ChargesTest, ReportHasChargesOfQueuesAndCostsOfAllNodes) {
  const NodePool pool = SmallPool(2, 2);
  const Day day = PlayOn(pool, "submit,class,cpu,run\n0,low,2,90\n0,high,2,180\n");
  const Report report = MakeReport(day.cluster, day.jobs, day.result, {pool},
                                   ChargesOf(day.jobs, {pool}, day.result, day.runs));
  ASSERT_EQ(report.rows.size(), 2U);
  const Figures& high = report.rows[0].figures;
  const Figures& low = report.rows[1].figures;
  // One node serves both, the other stands idle for 180 s.
  EXPECT_DOUBLE_EQ(high.charged.at("cpu"), 4 * (45 + 90) / kHour);
  EXPECT_DOUBLE_EQ(low.charged.at("cpu"), 4 * 45 / kHour);
  EXPECT_EQ(high.charged.count("memory"), 0U);
  EXPECT_DOUBLE_EQ(high.cost, 6 * 135 / kHour);
  EXPECT_DOUBLE_EQ(high.utilisation.at("cpu"), 2 * 180 / (8 * 180.0));
  EXPECT_DOUBLE_EQ(low.utilisation.at("cpu"), 2 * 90 / (8 * 180.0));
  const Figures& all = report.total.figures;
  EXPECT_DOUBLE_EQ(all.charged.at("cpu"), 4 * 360 / kHour);
  EXPECT_DOUBLE_EQ(all.cost, 6 * 360 / kHour);
  EXPECT_DOUBLE_EQ(all.cost, report.pools[0].cost);
  EXPECT_DOUBLE_EQ(all.utilisation.at("cpu"),
                   high.utilisation.at("cpu") + low.utilisation.at("cpu"));
}

}  // namespace
}  // namespace berth::simulation
