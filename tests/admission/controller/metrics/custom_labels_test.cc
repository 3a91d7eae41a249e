// Goal: series have the custom labels of their objects, few values make few series, and the counts
// of waiting workloads are exact. Method: LabelledMetrics alone, and small stories over all
// controllers.
#include "admission/controller/metrics/labelled_metrics.h"
#include "tests/admission/controller/admission_fixture.h"

namespace berth::admission {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Source = CustomMetricLabel::Source;
using Metadata = CustomMetricLabel::Metadata;

api::ObjectMeta Labelled(const std::string& key, const std::string& value) {
  api::ObjectMeta meta;
  meta.labels[key] = value;
  return meta;
}

// The value of the series in the text, or "none".
std::string ValueIn(const std::string& text, const std::string& series) {
  const std::size_t at = text.find("\n" + series + " ");
  if (at == std::string::npos) return "none";
  const std::size_t start = at + series.size() + 2;
  return text.substr(start, text.find('\n', start) - start);
}

std::size_t CountOf(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(LabelledMetricsTest, AddsCustomLabelsFromObjectLabelsAndAnnotations) {
  kube::Metrics metrics;
  LabelledMetrics series(metrics,
                         {{"team", Source::kClusterQueue, Metadata::kLabel, "team", {}},
                          {"bill", Source::kClusterQueue, Metadata::kAnnotation, "bill", {}},
                          {"zone", Source::kLocalQueue, Metadata::kLabel, "zone", {}}});
  series.SetGauge("kueue_pending_workloads", {{"cluster_queue", "unknown"}}, 1);
  api::ObjectMeta meta = Labelled("team", "a");
  meta.annotations["bill"] = "b7";
  series.SetObject(Source::kClusterQueue, "cq", meta);
  series.SetObject(Source::kLocalQueue, "ns/lq", Labelled("zone", "z"));
  series.SetGauge("kueue_pending_workloads", {{"cluster_queue", "cq"}}, 2);
  series.SetGauge("kueue_pending_workloads",
                  {{"cluster_queue", "cq"}, {"name", "lq"}, {"namespace", "ns"}}, 3);
  series.SetGauge("kueue_pending_workloads", {{"cohort", "c"}}, 4);
  const std::string text = metrics.Text();
  EXPECT_EQ(
      ValueIn(text,
              R"(kueue_pending_workloads{cluster_queue="unknown",custom_bill="",custom_team=""})"),
      "1");
  EXPECT_EQ(
      ValueIn(text,
              R"(kueue_pending_workloads{cluster_queue="cq",custom_bill="b7",custom_team="a"})"),
      "2");
  EXPECT_EQ(
      ValueIn(
          text,
          R"(kueue_pending_workloads{cluster_queue="cq",custom_zone="z",name="lq",namespace="ns"})"),
      "3");
  EXPECT_EQ(ValueIn(text, R"(kueue_pending_workloads{cohort="c"})"), "4");
}

TEST(LabelledMetricsTest, UntrackedLabelValuesShareOneValue) {
  kube::Metrics metrics;
  const LabelledMetrics series(metrics,
                               {{"team", Source::kWorkload, Metadata::kLabel, "team", {"a", "b"}}});
  EXPECT_EQ(series.ValuesOf(Source::kWorkload, Labelled("team", "a")),
            LabelledMetrics::Values{"a"});
  for (const char* other : {"c", ""}) {
    EXPECT_EQ(series.ValuesOf(Source::kWorkload, Labelled("team", other)),
              LabelledMetrics::Values{LabelledMetrics::kUntracked});
  }
}

TEST(LabelledMetricsTest, ALongValueIsCutBetweenCharacters) {
  kube::Metrics metrics;
  const LabelledMetrics series(metrics, {{"n", Source::kCohort, Metadata::kAnnotation, "n", {}}});
  api::ObjectMeta meta;
  meta.annotations["n"] = std::string(LabelledMetrics::kMostValueBytes - 1, 'x') + "\u00e9";
  EXPECT_EQ(series.ValuesOf(Source::kCohort, meta),
            LabelledMetrics::Values{std::string(LabelledMetrics::kMostValueBytes - 1, 'x')});
}

TEST(LabelledMetricsTest, LabelChangeMovesGaugesAndBoundsOldCounterSeries) {
  kube::Metrics metrics;
  LabelledMetrics series(metrics, {{"team", Source::kClusterQueue, Metadata::kLabel, "team", {}}});
  series.SetGauge("kueue_pending_workloads", {{"cluster_queue", "cq"}}, 5);
  for (int i = 0; i < 100; ++i) {
    series.SetObject(Source::kClusterQueue, "cq", Labelled("team", "t" + std::to_string(i)));
    series.Increment("kueue_evicted_workloads_total", {{"cluster_queue", "cq"}});
  }
  const std::string text = metrics.Text();
  EXPECT_EQ(CountOf(text, "\nkueue_pending_workloads{"), 1U);
  EXPECT_EQ(ValueIn(text, R"(kueue_pending_workloads{cluster_queue="cq",custom_team="t99"})"), "5");
  EXPECT_EQ(CountOf(text, "\nkueue_evicted_workloads_total{"), LabelledMetrics::kPastValues + 1);
  EXPECT_EQ(ValueIn(text, R"(kueue_evicted_workloads_total{cluster_queue="cq",custom_team="t98"})"),
            "1");
  series.Remove({{"cluster_queue", "cq"}});
  series.ForgetObject(Source::kClusterQueue, "cq");
  EXPECT_THAT(metrics.Text(), Not(HasSubstr("cluster_queue=")));
}

class CustomLabelsTest : public AdmissionFixture {
 protected:
  void BootWith(std::vector<CustomMetricLabel> labels) {
    Crash();
    options_.metrics.cluster_queue_resources = true;
    options_.metrics.local_queues = true;
    options_.metrics.custom_labels = std::move(labels);
    Boot();
  }
  std::string ValueOf(const std::string& series) const { return ValueIn(metrics_->Text(), series); }
  void SetLabel(const std::string& list, const std::string& name, const std::string& value) {
    Json object = Object(list + "/" + name);
    object["metadata"]["labels"]["team"] = value;
    api_.Put(kKueueRoot + list, object);
  }
  // "active/inadmissible" of the LocalQueue "lq".
  std::string LocalPending(const std::string& more = "") const {
    const auto of = [&](const char* status) {
      return ValueOf("kueue_local_queue_pending_workloads{" + more +
                     R"(name="lq",namespace="team",status=")" + status + "\"}");
    };
    return of("active") + "/" + of("inadmissible");
  }
};

TEST_F(CustomLabelsTest, SeriesOfAQueueFollowItsLabel) {
  BootWith({{"team", Source::kClusterQueue, Metadata::kLabel, "team", {}}});
  PutQueues(1);
  SetLabel("clusterqueues", "cq", "red");
  PutWorkload("a", 1);
  executor_.RunFor(3s);
  const std::string counted = "kueue_quota_reserved_workloads_total{cluster_queue=\"cq\",";
  EXPECT_EQ(ValueOf(R"(kueue_pending_workloads{cluster_queue="cq",custom_team="red",)"
                    R"(status="active"})"),
            "0");
  EXPECT_EQ(ValueOf(counted + R"(custom_team="red",priority_class=""})"), "1");
  SetLabel("clusterqueues", "cq", "blue");
  executor_.RunFor(3s);
  const std::string gauge = "kueue_reserving_active_workloads{cluster_queue=\"cq\",custom_team=\"";
  EXPECT_EQ(ValueOf(gauge + "blue\"}"), "1");
  EXPECT_EQ(ValueOf(gauge + "red\"}"), "none");
  EXPECT_EQ(ValueOf(counted + R"(custom_team="red",priority_class=""})"), "1");
  client_->Delete(api::KindOf<api::ClusterQueue>(), {"", "cq"}, {}, [](const Status&) {});
  Finish("a");
  executor_.RunFor(3s);
  EXPECT_THAT(metrics_->Text(), Not(HasSubstr("custom_team=\"red\"")));
  EXPECT_THAT(metrics_->Text(), Not(HasSubstr("custom_team=\"blue\"")));
}

TEST_F(CustomLabelsTest, PendingWorkloadsAreCountedByTheirOwnLabel) {
  BootWith({{"team", Source::kWorkload, Metadata::kLabel, "team", {"red"}}});
  PutQueues(1);
  PutWorkload("a", 1);
  executor_.RunFor(2s);
  PutWorkload("b", 1);
  PutWorkload("c", 1);
  SetLabel("namespaces/team/workloads", "b", "red");
  executor_.RunFor(3s);
  const std::string untracked = std::string("custom_team=\"") + LabelledMetrics::kUntracked + "\",";
  EXPECT_EQ(ValueOf("kueue_local_queue_admission_wait_time_seconds_count{" + untracked +
                    "name=\"lq\",namespace=\"team\",priority_class=\"\"}"),
            "1");
  EXPECT_EQ(LocalPending("custom_team=\"red\","), "0/1");
  EXPECT_EQ(LocalPending(untracked), "0/1");
  EXPECT_EQ(ValueOf(R"(kueue_pending_workloads{cluster_queue="cq",custom_team="red",)"
                    R"(status="inadmissible"})"),
            "1");
  SetLabel("namespaces/team/workloads", "b", "green");
  executor_.RunFor(3s);
  EXPECT_EQ(LocalPending("custom_team=\"red\","), "none/none") << "no workload, no series";
  EXPECT_EQ(LocalPending(untracked), "0/2");
}

TEST_F(CustomLabelsTest, PendingWorkloadsOfALocalQueueAreCountedByStatus) {
  BootWith({});
  PutQueues(1);
  executor_.RunFor(3s);
  EXPECT_EQ(LocalPending(), "0/0") << "an empty queue has its series";
  PutWorkload("a", 1);
  executor_.RunFor(2s);
  PutWorkload("b", 1);
  PutWorkload("c", 1);
  executor_.RunFor(3s);
  EXPECT_EQ(LocalPending(), "0/2") << "parked: no room";
  Finish("a");
  executor_.RunFor(3s);
  EXPECT_EQ(LocalPending(), "0/1") << "one runs, one waits again";
  PutLocalQueue("lq", "cq", "Hold");
  executor_.RunFor(3s);
  EXPECT_EQ(LocalPending(), "0/0") << "a stopped LocalQueue has its workloads in no queue";
  PutLocalQueue("lq", "cq");
  executor_.RunFor(3s);
  EXPECT_EQ(LocalPending(), "0/1");
}

TEST_F(CustomLabelsTest, TheHeadOfAStrictQueueIsActive) {
  BootWith({});
  PutQueues(1, {{"queueingStrategy", "StrictFIFO"}});
  PutWorkload("a", 1);
  executor_.RunFor(2s);
  PutWorkload("b", 1);
  executor_.RunFor(3s);
  EXPECT_EQ(LocalPending(), "1/0");
  PutClusterQueue("cq", 1, {{"queueingStrategy", "StrictFIFO"}, {"stopPolicy", "Hold"}});
  executor_.RunFor(3s);
  EXPECT_EQ(LocalPending(), "0/1") << "of an inactive ClusterQueue all are inadmissible";
  client_->Delete(api::KindOf<api::LocalQueue>(), {"team", "lq"}, {}, [](const Status&) {});
  executor_.RunFor(3s);
  EXPECT_EQ(LocalPending(), "none/none");
}

}  // namespace
}  // namespace berth::admission
