// Goal: the text that a Prometheus server reads.

#include "kube/runtime/metrics.h"

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

}  // namespace
}  // namespace berth::kube
