// Goal: the figures of a report are those of the day. Method: the report of a day of four jobs,
// worked out by hand, in whole; the difference of two reports.
#include <gtest/gtest.h>

#include "simulation/run_report.h"
#include "tests/simulation/day.h"

namespace berth::simulation {
namespace {

// A low job of 100 s loses 40 s to a high one and ends at 160 s; a job of 36 s waits for both; one
// can never start.
Day FourJobs(int cpus) {
  Cluster cluster = EmptyCluster();
  AddQueue(cluster, "a", cpus);
  return Play(cluster,
              "submit,class,cpu,run\n"
              "0,low,4,100\n"
              "40,high,4,20\n"
              "50,low,4,36\n"
              "60,,64,1\n");
}

TEST(ReportTest, CountsWaitsUsageAndDestroyedHours) {
  const Day day = FourJobs(4);
  const Report report = MakeReport(day.cluster, day.jobs, day.result);
  ASSERT_EQ(report.rows.size(), 3U);

  const ReportRow& high = report.rows[0];
  EXPECT_EQ(high.local_queue, "team/a");
  EXPECT_EQ(high.cluster_queue, "a");
  EXPECT_EQ(high.priority_class, "high");
  EXPECT_EQ(high.figures.jobs, 1);
  EXPECT_EQ(high.figures.wait_p99, 0);
  EXPECT_EQ(high.figures.slowdown, 1);
  EXPECT_DOUBLE_EQ(high.figures.used.at("cpu"), 4 * 20 / 3600.0);

  const ReportRow& none = report.rows[1];
  EXPECT_EQ(none.priority_class, "");
  EXPECT_EQ(none.figures.jobs, 1);
  EXPECT_EQ(none.figures.unfinished, 1);
  EXPECT_EQ(none.figures.finished, 0);
  EXPECT_EQ(none.figures.slowdown, 0);

  const ReportRow& low = report.rows[2];
  EXPECT_EQ(low.priority_class, "low");
  EXPECT_EQ(low.figures.jobs, 2);
  EXPECT_EQ(low.figures.finished, 2);
  EXPECT_EQ(low.figures.preemptions, 1);
  // The preempted job lines up behind the one that came at 50 s at 40 s: it goes first.
  EXPECT_EQ(low.figures.wait_p50, 0);
  EXPECT_EQ(low.figures.wait_p90, 110);
  EXPECT_EQ(low.figures.wait_mean, 55);
  EXPECT_DOUBLE_EQ(low.figures.slowdown, (160.0 / 100 + 146.0 / 36) / 2);
  EXPECT_DOUBLE_EQ(low.figures.used.at("cpu"), 4 * 136 / 3600.0);
  EXPECT_DOUBLE_EQ(low.figures.destroyed.at("cpu"), 4 * 40 / 3600.0);
  EXPECT_DOUBLE_EQ(low.figures.charged.at("cpu"), 4 * 176 / 3600.0);
  EXPECT_DOUBLE_EQ(low.figures.utilisation.at("cpu"), 176 / 196.0);

  EXPECT_EQ(report.total.figures.jobs, 4);
  EXPECT_EQ(report.total.figures.wait_p90, 110);
  EXPECT_DOUBLE_EQ(report.hours, 196 / 3600.0);
  ASSERT_EQ(report.quota.size(), 1U);
  EXPECT_EQ(report.quota[0].nominal, 4);
  EXPECT_DOUBLE_EQ(report.quota[0].utilisation, 1);
  ASSERT_EQ(report.unfinished.size(), 1U);
  EXPECT_EQ(report.unfinished[0].jobs, 1);
  EXPECT_EQ(report.unfinished[0].first_line, 5);
  EXPECT_NE(report.unfinished[0].why.find("maximum capacity (4)"), std::string::npos);
}

// A job that fails ends as others do; the next one starts with its end.
TEST(ReportTest, JobsThatFailAreCounted) {
  Cluster cluster = EmptyCluster();
  AddQueue(cluster, "a", 4);
  const Day day = Play(cluster, "submit,cpu,run,status\n0,4,60,failed\n1,4,60,\n");
  const Report report = MakeReport(day.cluster, day.jobs, day.result);
  EXPECT_EQ(report.total.figures.finished, 2);
  EXPECT_EQ(report.total.figures.failed, 1);
  EXPECT_EQ(report.total.figures.wait_p99, 59);
  EXPECT_DOUBLE_EQ(report.total.figures.used.at("cpu"), 4 * 120 / 3600.0);
}

TEST(ReportTest, ReportComparedWithItselfDiffersInNothing) {
  const Day day = FourJobs(4);
  const Report report = MakeReport(day.cluster, day.jobs, day.result);
  const Comparison same = Compare(report, report);
  ASSERT_EQ(same.rows.size(), 3U);
  for (const ReportRow& row : same.rows) {
    for (const Measure& measure : Measures()) EXPECT_EQ(row.figures.*measure.value, 0);
    for (const auto& [resource, hours] : row.figures.used) EXPECT_EQ(hours, 0) << resource;
    for (const auto& [resource, hours] : row.figures.destroyed) EXPECT_EQ(hours, 0) << resource;
    for (const auto& [resource, hours] : row.figures.charged) EXPECT_EQ(hours, 0) << resource;
    for (const auto& [resource, share] : row.figures.utilisation) EXPECT_EQ(share, 0) << resource;
  }
  EXPECT_EQ(same.total.figures.slowdown, 0);
  EXPECT_EQ(same.quota[0].utilisation, 0);
}

TEST(ReportTest, ComparisonShowsTheEffectOfMoreQuota) {
  const Day small = FourJobs(4);
  const Day large = FourJobs(128);
  const Comparison comparison = Compare(MakeReport(small.cluster, small.jobs, small.result),
                                        MakeReport(large.cluster, large.jobs, large.result));
  EXPECT_EQ(comparison.total.figures.unfinished, -1);
  EXPECT_EQ(comparison.total.figures.preemptions, -1);
  EXPECT_EQ(comparison.quota[0].nominal, 124);
}

}  // namespace
}  // namespace berth::simulation
