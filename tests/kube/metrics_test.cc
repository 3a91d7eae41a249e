// Goal: the text that a Prometheus server reads.

#include "kube/runtime/metrics.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::kube {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Metrics, SeriesAppearAndGoWithTheirObject) {
  Metrics metrics;
  metrics.DeclareCounter("kueue_evicted_workloads_total", "evictions");
  metrics.DeclareGauge("kueue_pending_workloads", "pending");
  metrics.DeclareHistogram("kueue_wait_seconds", "wait", {1, 10});
  metrics.Increment("kueue_evicted_workloads_total", {{"cluster_queue", "a"}}, 2);
  metrics.SetGauge("kueue_pending_workloads", {{"cluster_queue", "a"}, {"status", "active"}}, 3);
  metrics.SetGauge("kueue_pending_workloads", {{"cluster_queue", "b"}, {"status", "active"}}, 4);
  metrics.Observe("kueue_wait_seconds", {}, 5);
  std::string text = metrics.Text();
  EXPECT_THAT(text, HasSubstr("kueue_evicted_workloads_total{cluster_queue=\"a\"} 2"));
  EXPECT_THAT(text, HasSubstr("kueue_pending_workloads{cluster_queue=\"a\",status=\"active\"} 3"));
  EXPECT_THAT(text, HasSubstr("kueue_wait_seconds_bucket{le=\"10\"} 1"));
  metrics.Remove({{"cluster_queue", "a"}});
  text = metrics.Text();
  EXPECT_THAT(text, Not(HasSubstr("cluster_queue=\"a\"")));
  EXPECT_THAT(text, HasSubstr("cluster_queue=\"b\""));
}

TEST(Metrics, GaugesKeepTheirValuesUnderOtherLabels) {
  Metrics metrics;
  metrics.DeclareGauge("g", "");
  metrics.DeclareCounter("c", "");
  metrics.SetGauge("g", {{"q", "a"}, {"x", "1"}}, 3);
  metrics.SetGauge("g", {{"q", "b"}, {"x", "1"}}, 4);
  metrics.Increment("c", {{"q", "a"}, {"x", "1"}});
  metrics.RelabelGauges({{"q", "a"}, {"x", "1"}}, {{"x", "2"}});
  const std::string text = metrics.Text();
  EXPECT_THAT(text, HasSubstr("g{q=\"a\",x=\"2\"} 3"));
  EXPECT_THAT(text, Not(HasSubstr("g{q=\"a\",x=\"1\"}")));
  EXPECT_THAT(text, HasSubstr("g{q=\"b\",x=\"1\"} 4"));
  EXPECT_THAT(text, HasSubstr("c{q=\"a\",x=\"1\"} 1")) << "a counter counts what happened";
  metrics.SetGauge("g", {{"q", "a"}, {"x", "2"}}, 5);
  EXPECT_THAT(metrics.Text(), HasSubstr("g{q=\"a\",x=\"2\"} 5"));
}

// The shares are those of three queues with 9 units to lend, as their controller computes them.
TEST(Metrics, NumbersReadBackAsTheSameNumber) {
  Metrics metrics;
  metrics.DeclareGauge("share", "");
  metrics.SetGauge("share", {{"q", "a"}}, 2000.0 / 9);
  metrics.SetGauge("share", {{"q", "b"}}, 3000.0 / 7);
  metrics.SetGauge("share", {{"q", "c"}}, 500.0 / 3);
  metrics.SetGauge("share", {{"q", "d"}}, 9.3);
  metrics.SetGauge("share", {{"q", "e"}}, 1'000'000);
  metrics.SetGauge("share", {{"q", "f"}}, 53'687'091'200.0);
  metrics.SetGauge("share", {{"q", "g"}}, std::numeric_limits<double>::infinity());
  metrics.SetGauge("share", {{"q", "h"}}, std::nan(""));
  const std::string text = metrics.Text();
  EXPECT_THAT(text, HasSubstr("share{q=\"a\"} 222.22222222222223\n"));
  EXPECT_THAT(text, HasSubstr("share{q=\"b\"} 428.57142857142856\n"));
  EXPECT_THAT(text, HasSubstr("share{q=\"c\"} 166.66666666666666\n"));
  EXPECT_THAT(text, HasSubstr("share{q=\"d\"} 9.3\n"));
  EXPECT_THAT(text, HasSubstr("share{q=\"e\"} 1000000\n"));
  EXPECT_THAT(text, HasSubstr("share{q=\"f\"} 53687091200\n"));
  EXPECT_THAT(text, HasSubstr("share{q=\"g\"} +Inf\n"));
  EXPECT_THAT(text, HasSubstr("share{q=\"h\"} NaN\n"));
}

TEST(Metrics, TheTextOfAllTypes) {
  Metrics metrics;
  metrics.SetCommonLabels({{"replica_role", "leader"}});
  metrics.DeclareCounter("c", "what happened");
  metrics.DeclareGauge("g", "");
  metrics.DeclareHistogram("h", "times", {0.0001, 2.5});
  metrics.Increment("c", {}, 2);
  metrics.SetGauge("g", {{"name", "a\"b\\c\nd"}}, -1);
  metrics.Observe("h", {{"q", "a"}}, 1);
  metrics.Observe("h", {{"q", "a"}}, 3);
  EXPECT_EQ(metrics.Text(), R"(# HELP c what happened
# TYPE c counter
c{replica_role="leader"} 2
# TYPE g gauge
g{replica_role="leader",name="a\"b\\c\nd"} -1
# HELP h times
# TYPE h histogram
h_count{replica_role="leader",q="a"} 2
h_sum{replica_role="leader",q="a"} 4
h_bucket{replica_role="leader",q="a",le="0.0001"} 0
h_bucket{replica_role="leader",q="a",le="2.5"} 1
h_bucket{replica_role="leader",q="a",le="+Inf"} 2
)");
}

}  // namespace
}  // namespace berth::kube
