// Goal: the text that a Prometheus server reads.

#include "kube/runtime/metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::kube {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Metrics, SeriesAreRemovedWithTheirObject) {
  Metrics metrics;
  metrics.Increment("kueue_evicted_workloads_total", {{"cluster_queue", "a"}}, 2);
  metrics.SetGauge("kueue_pending_workloads", {{"cluster_queue", "a"}, {"status", "active"}}, 3);
  metrics.SetGauge("kueue_pending_workloads", {{"cluster_queue", "b"}, {"status", "active"}}, 4);
  metrics.Observe("kueue_workload_creation_latency_seconds", {}, 5);
  std::string text = metrics.Text();
  EXPECT_THAT(text, HasSubstr("kueue_evicted_workloads_total{cluster_queue=\"a\"} 2"));
  EXPECT_THAT(text, HasSubstr("kueue_pending_workloads{cluster_queue=\"a\",status=\"active\"} 3"));
  EXPECT_THAT(text, HasSubstr("kueue_workload_creation_latency_seconds_bucket{le=\"10\"} 1"));
  metrics.Remove({{"cluster_queue", "a"}});
  text = metrics.Text();
  EXPECT_THAT(text, Not(HasSubstr("cluster_queue=\"a\"")));
  EXPECT_THAT(text, HasSubstr("cluster_queue=\"b\""));
}

TEST(Metrics, OnlySeriesWithAllLabelsAreRemoved) {
  Metrics metrics;
  const auto set = [&metrics] {
    for (const char* queue : {"a", "b"}) {
      for (const char* cohort : {"x", "y"}) {
        metrics.SetGauge("kueue_pending_workloads", {{"cluster_queue", queue}, {"cohort", cohort}},
                         1);
      }
    }
    metrics.SetGauge("kueue_pending_workloads", {{"cluster_queue", "a"}}, 1);
  };
  const auto lines = [&metrics] {
    const std::string text = metrics.Text();
    return std::count(text.begin(), text.end(), '\n') - 2;  // without # HELP and # TYPE
  };
  set();
  EXPECT_EQ(lines(), 5);
  metrics.Remove({{"cluster_queue", "a"}, {"cohort", "x"}});
  EXPECT_EQ(lines(), 4);
  metrics.Remove({{"cluster_queue", "a"}, {"cohort", "x"}});
  metrics.Remove({{"cluster_queue", "c"}});
  EXPECT_EQ(lines(), 4) << "no such series";
  metrics.Remove({{"cohort", "y"}});
  EXPECT_THAT(metrics.Text(), HasSubstr("{cluster_queue=\"b\",cohort=\"x\"}"));
  EXPECT_EQ(lines(), 2);
  set();
  EXPECT_EQ(lines(), 5) << "removed series begin again";
}

TEST(Metrics, GaugesKeepTheirValuesUnderOtherLabels) {
  Metrics metrics;
  metrics.SetGauge("kueue_pending_workloads", {{"q", "a"}, {"x", "1"}}, 3);
  metrics.SetGauge("kueue_pending_workloads", {{"q", "b"}, {"x", "1"}}, 4);
  metrics.Increment("kueue_evicted_workloads_total", {{"q", "a"}, {"x", "1"}});
  metrics.RelabelGauges({{"q", "a"}, {"x", "1"}}, {{"x", "2"}});
  const std::string text = metrics.Text();
  EXPECT_THAT(text, HasSubstr("kueue_pending_workloads{q=\"a\",x=\"2\"} 3"));
  EXPECT_THAT(text, Not(HasSubstr("kueue_pending_workloads{q=\"a\",x=\"1\"}")));
  EXPECT_THAT(text, HasSubstr("kueue_pending_workloads{q=\"b\",x=\"1\"} 4"));
  EXPECT_THAT(text, HasSubstr("kueue_evicted_workloads_total{q=\"a\",x=\"1\"} 1"))
      << "a counter counts what happened";
  metrics.SetGauge("kueue_pending_workloads", {{"q", "a"}, {"x", "2"}}, 5);
  EXPECT_THAT(metrics.Text(), HasSubstr("kueue_pending_workloads{q=\"a\",x=\"2\"} 5"));
}

// The shares are those of three queues with 9 units to lend, as their controller computes them.
TEST(Metrics, WrittenNumbersReadBackExactly) {
  Metrics metrics;
  metrics.SetGauge("kueue_cohort_weighted_share", {{"q", "a"}}, 2000.0 / 9);
  metrics.SetGauge("kueue_cohort_weighted_share", {{"q", "b"}}, 3000.0 / 7);
  metrics.SetGauge("kueue_cohort_weighted_share", {{"q", "c"}}, 500.0 / 3);
  metrics.SetGauge("kueue_cohort_weighted_share", {{"q", "d"}}, 9.3);
  metrics.SetGauge("kueue_cohort_weighted_share", {{"q", "e"}}, 1'000'000);
  metrics.SetGauge("kueue_cohort_weighted_share", {{"q", "f"}}, 53'687'091'200.0);
  metrics.SetGauge("kueue_cohort_weighted_share", {{"q", "g"}},
                   std::numeric_limits<double>::infinity());
  metrics.SetGauge("kueue_cohort_weighted_share", {{"q", "h"}}, std::nan(""));
  const std::string text = metrics.Text();
  EXPECT_THAT(text, HasSubstr("kueue_cohort_weighted_share{q=\"a\"} 222.22222222222223\n"));
  EXPECT_THAT(text, HasSubstr("kueue_cohort_weighted_share{q=\"b\"} 428.57142857142856\n"));
  EXPECT_THAT(text, HasSubstr("kueue_cohort_weighted_share{q=\"c\"} 166.66666666666666\n"));
  EXPECT_THAT(text, HasSubstr("kueue_cohort_weighted_share{q=\"d\"} 9.3\n"));
  EXPECT_THAT(text, HasSubstr("kueue_cohort_weighted_share{q=\"e\"} 1000000\n"));
  EXPECT_THAT(text, HasSubstr("kueue_cohort_weighted_share{q=\"f\"} 53687091200\n"));
  EXPECT_THAT(text, HasSubstr("kueue_cohort_weighted_share{q=\"g\"} +Inf\n"));
  EXPECT_THAT(text, HasSubstr("kueue_cohort_weighted_share{q=\"h\"} NaN\n"));
}

TEST(Metrics, TextHasEveryMetricType) {
  Metrics metrics;
  metrics.SetCommonLabels({{"replica_role", "leader"}});
  metrics.Increment("berth_refused_workload_writes_total", {}, 2);
  metrics.SetGauge("berth_ledger_bytes", {{"name", "a\"b\\c\nd"}}, -1);
  metrics.Observe("berth_shadow_incumbent_delay_seconds", {{"q", "a"}}, 0.2);
  metrics.Observe("berth_shadow_incumbent_delay_seconds", {{"q", "a"}}, 300);
  EXPECT_EQ(
      metrics.Text(),
      R"(# HELP berth_refused_workload_writes_total Writes of Workloads that the API server refused; the event WriteRefused has its words
# TYPE berth_refused_workload_writes_total counter
berth_refused_workload_writes_total{replica_role="leader"} 2
# HELP berth_ledger_bytes Pages of the ledger's file in use; --ledger-maxsize bounds them
# TYPE berth_ledger_bytes gauge
berth_ledger_bytes{replica_role="leader",name="a\"b\\c\nd"} -1
# HELP berth_shadow_incumbent_delay_seconds From Berth's decision to the incumbent's, where both acted; 0: the incumbent was first
# TYPE berth_shadow_incumbent_delay_seconds histogram
berth_shadow_incumbent_delay_seconds_count{replica_role="leader",q="a"} 2
berth_shadow_incumbent_delay_seconds_sum{replica_role="leader",q="a"} 300.2
berth_shadow_incumbent_delay_seconds_bucket{replica_role="leader",q="a",le="0.01"} 0
berth_shadow_incumbent_delay_seconds_bucket{replica_role="leader",q="a",le="0.05"} 0
berth_shadow_incumbent_delay_seconds_bucket{replica_role="leader",q="a",le="0.1"} 0
berth_shadow_incumbent_delay_seconds_bucket{replica_role="leader",q="a",le="0.25"} 1
berth_shadow_incumbent_delay_seconds_bucket{replica_role="leader",q="a",le="0.5"} 1
berth_shadow_incumbent_delay_seconds_bucket{replica_role="leader",q="a",le="1"} 1
berth_shadow_incumbent_delay_seconds_bucket{replica_role="leader",q="a",le="2"} 1
berth_shadow_incumbent_delay_seconds_bucket{replica_role="leader",q="a",le="5"} 1
berth_shadow_incumbent_delay_seconds_bucket{replica_role="leader",q="a",le="10"} 1
berth_shadow_incumbent_delay_seconds_bucket{replica_role="leader",q="a",le="30"} 1
berth_shadow_incumbent_delay_seconds_bucket{replica_role="leader",q="a",le="60"} 1
berth_shadow_incumbent_delay_seconds_bucket{replica_role="leader",q="a",le="+Inf"} 2
)");
}

}  // namespace
}  // namespace berth::kube
