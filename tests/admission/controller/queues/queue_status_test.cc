// Goal: conditions, counters and finalizers of queues, flavors and checks, and the rate of their
// writes. Method: the objects and the requests of the API.

#include <set>
#include <string>
#include <utility>

#include "tests/admission/controller/admission_fixture.h"

namespace berth::admission {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

class QueueStatusTest : public AdmissionFixture {
 protected:
  Json Active(const std::string& path) const {
    const Json& object = Object(path);
    return object.value("/status/conditions/0"_json_pointer, Json::object());
  }
  std::size_t StatusWrites(const std::string& path) const {
    std::size_t count = 0;
    for (const auto& request : api_.requests()) {
      if (request.path == kKueueRoot + path + "/status") ++count;
    }
    return count;
  }
  // Time passes after each.
  void PutWorkloads(int count, Duration apart) {
    for (int i = 0; i < count; ++i) {
      PutWorkload("w" + std::to_string(i), 1);
      executor_.RunFor(apart);
    }
  }
  static Json Deleted(const Json& object) { return object; }
};

TEST_F(QueueStatusTest, ClusterQueueSaysWhyItIsNotActive) {
  PutClusterQueue("cq", 1);
  executor_.RunFor(2s);
  EXPECT_EQ(Active("clusterqueues/cq")["status"], "False");
  EXPECT_EQ(Active("clusterqueues/cq")["reason"], "FlavorNotFound");
  EXPECT_THAT(Active("clusterqueues/cq")["message"].get<std::string>(),
              HasSubstr("Can't admit new workloads: "));
  Put("resourceflavors", "default", Json::object());
  executor_.RunFor(2s);
  EXPECT_EQ(Active("clusterqueues/cq")["reason"], "Ready");
  EXPECT_EQ(Active("clusterqueues/cq")["message"], "Can admit new workloads");
}

// Its finalizer was removed by hand.
TEST_F(QueueStatusTest, ALocalQueueWhoseClusterQueueIsGoneCountsNothing) {
  PutQueues(1);
  PutWorkload("w", 1);
  executor_.RunFor(3s);
  const auto status = [this] { return Object("namespaces/team/localqueues/lq")["status"]; };
  EXPECT_EQ(status()["admittedWorkloads"], 1);
  EXPECT_TRUE(status().contains("flavorsUsage"));
  Json queue = Object("clusterqueues/cq");
  queue["metadata"]["finalizers"] = Json::array();
  api_.Put(std::string(kKueueRoot) + "clusterqueues", queue);
  client_->Delete(api::KindOf<api::ClusterQueue>(), {"", "cq"}, {}, [](const Status&) {});
  executor_.RunFor(3s);
  EXPECT_EQ(Active("namespaces/team/localqueues/lq")["reason"], "ClusterQueueDoesNotExist");
  EXPECT_EQ(status().value("admittedWorkloads", 0), 0);
  EXPECT_EQ(status().value("reservingWorkloads", 0), 0);
  EXPECT_FALSE(status().contains("flavorsUsage")) << status();
  EXPECT_FALSE(status().contains("flavorsReservation")) << status();
}

TEST_F(QueueStatusTest, LocalQueueFollowsItsClusterQueue) {
  PutLocalQueue("lq", "cq");
  executor_.RunFor(2s);
  EXPECT_EQ(Active("namespaces/team/localqueues/lq")["reason"], "ClusterQueueDoesNotExist");
  PutClusterQueue("cq", 1);
  executor_.RunFor(2s);
  EXPECT_EQ(Active("namespaces/team/localqueues/lq")["reason"], "ClusterQueueIsInactive");
  Put("resourceflavors", "default", Json::object());
  executor_.RunFor(2s);
  EXPECT_EQ(Active("namespaces/team/localqueues/lq")["message"],
            "Can submit new workloads to localQueue");
  PutLocalQueue("lq", "cq", "Hold");
  executor_.RunFor(2s);
  EXPECT_EQ(Active("namespaces/team/localqueues/lq")["reason"], "Stopped");
}

// Simulation, restart-writes, seed 14000740.
TEST_F(QueueStatusTest, LocalQueueFollowsAClusterQueueWhoseStatusIsNotWritten) {
  PutQueues(1);
  executor_.RunFor(2s);
  for (int i = 0; i < 20; ++i) {
    api_.FailNext("PATCH " + std::string(kKueueRoot) + "clusterqueues/cq/status", 500);
  }
  api_.Remove(std::string(kKueueRoot) + "resourceflavors/default");
  executor_.RunFor(1s);
  ASSERT_EQ(Active("namespaces/team/localqueues/lq")["reason"], "ClusterQueueIsInactive");
  ASSERT_EQ(Active("clusterqueues/cq")["reason"], "Ready");
  Put("resourceflavors", "default", Json::object());
  executor_.RunFor(1min);
  EXPECT_EQ(Active("namespaces/team/localqueues/lq")["reason"], "Ready");
}

TEST_F(QueueStatusTest, WorkloadsOfOneBurstAreCountedByOneWrite) {
  PutQueues(0);
  executor_.RunFor(10s);
  api_.ClearRequests();
  PutWorkloads(5, 5ms);
  executor_.RunFor(500ms);
  EXPECT_EQ(StatusWrites("clusterqueues/cq"), 1U);
  EXPECT_EQ(Object("clusterqueues/cq")["status"]["pendingWorkloads"], 5);
  EXPECT_EQ(Object("namespaces/team/localqueues/lq")["status"]["pendingWorkloads"], 5);
}

TEST_F(QueueStatusTest, CountersAreWrittenAtMostOnceASecond) {
  PutQueues(100);
  executor_.RunFor(5s);
  api_.ClearRequests();
  PutWorkloads(50, 100ms);
  EXPECT_LE(StatusWrites("clusterqueues/cq"), 7U);
  EXPECT_LE(StatusWrites("namespaces/team/localqueues/lq"), 7U);
  executor_.RunFor(3s);
  EXPECT_EQ(Object("clusterqueues/cq")["status"]["admittedWorkloads"], 50);
  EXPECT_EQ(Object("namespaces/team/localqueues/lq")["status"]["admittedWorkloads"], 50);
  EXPECT_EQ(Object("clusterqueues/cq")["status"]["pendingWorkloads"], 0);
}

TEST_F(QueueStatusTest, CountersThatChangeAllTheTimeAreWrittenEveryFourSeconds) {
  PutQueues(1000);
  executor_.RunFor(5s);
  api_.ClearRequests();
  PutWorkloads(200, 200ms);
  // At 0, 1, 3, 7, 11, … 39 s.
  EXPECT_LE(StatusWrites("clusterqueues/cq"), 12U);
  EXPECT_LE(StatusWrites("namespaces/team/localqueues/lq"), 12U);
  executor_.RunFor(5s);
  EXPECT_EQ(Object("clusterqueues/cq")["status"]["admittedWorkloads"], 200);
  // Counters at rest do not wait for the end of the interval.
  PutWorkload("more", 1);
  executor_.RunFor(1s);
  for (int i = 0; i < 20; ++i) {
    PutWorkload("x" + std::to_string(i), 1);
    executor_.RunFor(200ms);
  }
  executor_.RunFor(1s);
  EXPECT_EQ(Object("clusterqueues/cq")["status"]["admittedWorkloads"], 221);
  // After a pause a change is written at once, and the next one after a second.
  executor_.RunFor(10s);
  PutWorkload("late", 1);
  executor_.RunFor(1500ms);
  EXPECT_EQ(Object("clusterqueues/cq")["status"]["admittedWorkloads"], 222);
}

TEST_F(QueueStatusTest, StatusShowsBorrowedQuota) {
  api_.Put("/api/v1/namespaces", {{"metadata", {{"name", "team"}}}});
  Put("resourceflavors", "default", Json::object());
  PutClusterQueue("cq", 2, {{"cohortName", "lab"}});
  PutClusterQueue("other", 4, {{"cohortName", "lab"}});
  PutLocalQueue("lq", "cq");
  PutWorkload("a", 5);
  executor_.RunFor(5s);
  const Json& usage = Object("clusterqueues/cq")["status"]["flavorsUsage"][0]["resources"][0];
  EXPECT_EQ(usage["total"], "5");
  EXPECT_EQ(usage["borrowed"], "3");
}

TEST_F(QueueStatusTest, DeletedFlavorStaysUntilNoClusterQueueUsesIt) {
  PutQueues(1);
  executor_.RunFor(2s);
  EXPECT_THAT(Object("resourceflavors/default")["metadata"]["finalizers"],
              Contains(api::kResourceInUseFinalizer));
  bool done = false;
  client_->Delete(api::KindOf<api::ResourceFlavor>(), {"", "default"}, {},
                  [&](const Status& status) { done = status.has_value(); });
  executor_.RunFor(2s);
  EXPECT_TRUE(done);
  EXPECT_NE(api_.Find(std::string(kKueueRoot) + "resourceflavors/default"), nullptr);
  client_->Delete(api::KindOf<api::ClusterQueue>(), {"", "cq"}, {}, [](const Status&) {});
  executor_.RunFor(2s);
  EXPECT_EQ(api_.Find(std::string(kKueueRoot) + "clusterqueues/cq"), nullptr);
  EXPECT_EQ(api_.Find(std::string(kKueueRoot) + "resourceflavors/default"), nullptr);
}

TEST_F(QueueStatusTest, DeletedClusterQueueDrainsFirst) {
  PutQueues(2);
  PutWorkload("a", 1);
  executor_.RunFor(2s);
  client_->Delete(api::KindOf<api::ClusterQueue>(), {"", "cq"}, {}, [](const Status&) {});
  executor_.RunFor(10ms);  // the scheduler has heard of it
  PutWorkload("late", 1);
  executor_.RunFor(3s);
  EXPECT_EQ(Active("clusterqueues/cq")["reason"], "Terminating");
  EXPECT_FALSE(Is("late", api::kQuotaReserved));
  SetConditionOf("a", api::kFinished, true, "Succeeded");
  executor_.RunFor(3s);
  EXPECT_EQ(api_.Find(std::string(kKueueRoot) + "clusterqueues/cq"), nullptr);
}

TEST_F(QueueStatusTest, SharesAreShownWithFairSharingOnly) {
  api_.Put("/api/v1/namespaces", {{"metadata", {{"name", "team"}}}});
  Put("resourceflavors", "default", Json::object());
  Put("cohorts", "lab", Json::object());
  PutClusterQueue("cq", 2, {{"cohortName", "lab"}});
  PutClusterQueue("other", 8, {{"cohortName", "lab"}});
  PutLocalQueue("lq", "cq");
  PutWorkload("a", 4);
  executor_.RunFor(5s);
  EXPECT_FALSE(Object("clusterqueues/cq")["status"].contains("fairSharing"));
  Crash();
  options_.driver.scheduler.fair_sharing.emplace();
  Boot();
  executor_.RunFor(5s);
  // cq borrows 2 of the 10 that the cohort can lend.
  EXPECT_EQ(Object("clusterqueues/cq")["status"]["fairSharing"]["weightedShare"], 200);
  EXPECT_EQ(Object("cohorts/lab")["status"]["fairSharing"]["weightedShare"], 0);
}

TEST_F(QueueStatusTest, SharesFollowOtherQueuesQuotasAndTheCohortTree) {
  options_.driver.scheduler.fair_sharing.emplace();
  Crash();
  Boot();
  const auto share = [this](const std::string& object) {
    return Object(object)["status"]["fairSharing"]["weightedShare"].get<int>();
  };
  api_.Put("/api/v1/namespaces", {{"metadata", {{"name", "team"}}}});
  Put("resourceflavors", "default", Json::object());
  Put("cohorts", "lab", {{"parentName", "faculty"}});
  Put("cohorts", "faculty", {{"parentName", "campus"}});
  PutClusterQueue("cq", 2, {{"cohortName", "lab"}});
  PutClusterQueue("other", 8, {{"cohortName", "campus"}});
  PutLocalQueue("lq", "cq");
  PutWorkload("a", 4);
  executor_.RunFor(10s);
  EXPECT_EQ(share("clusterqueues/cq"), 200);
  EXPECT_EQ(share("cohorts/faculty"), 200);
  PutClusterQueue("other", 3, {{"cohortName", "campus"}});
  executor_.RunFor(10s);
  EXPECT_EQ(share("clusterqueues/cq"), 400);
  EXPECT_EQ(share("cohorts/faculty"), 400);
  Put("cohorts", "lab", Json::object());
  executor_.RunFor(10s);
  EXPECT_EQ(share("cohorts/faculty"), 0);
}

TEST_F(QueueStatusTest, MetricsShowPendingAndAdmittedWorkloadsOfTheQueue) {
  PutQueues(1);
  PutWorkload("a", 1);
  executor_.RunFor(1s);
  PutWorkload("b", 1);
  executor_.RunFor(3s);
  const std::string text = metrics_->Text();
  EXPECT_THAT(text, HasSubstr("kueue_admitted_active_workloads{cluster_queue=\"cq\"} 1"));
  EXPECT_THAT(text, HasSubstr("kueue_pending_workloads{cluster_queue=\"cq\",status=\"active\"} 0"));
  EXPECT_THAT(text,
              HasSubstr("kueue_pending_workloads{cluster_queue=\"cq\",status=\"inadmissible\"} 1"));
  EXPECT_THAT(text,
              HasSubstr("kueue_cluster_queue_status{cluster_queue=\"cq\",status=\"active\"} 1"));
  SetConditionOf("a", api::kFinished, true, "Succeeded");
  SetConditionOf("b", api::kFinished, true, "Succeeded");
  client_->Delete(api::KindOf<api::ClusterQueue>(), {"", "cq"}, {}, [](const Status&) {});
  executor_.RunFor(3s);
  EXPECT_THAT(metrics_->Text(), Not(HasSubstr("kueue_cluster_queue_status{cluster_queue=\"cq\"")));
}

TEST_F(QueueStatusTest, ResourceAndLocalQueueMetricsAreShownIfConfigured) {
  struct Row {
    bool asked;
    const char* series;
  };
  const std::vector<Row> rows = {
      {true, "kueue_cluster_queue_nominal_quota{cluster_queue=\"cq\",cohort=\"lab\",flavor="},
      {true, "kueue_cluster_queue_resource_usage{cluster_queue=\"cq\",cohort=\"lab\",flavor="},
      {true, "kueue_cluster_queue_resource_pending{cluster_queue=\"cq\",resource=\"cpu\"} 1"},
      {true, "kueue_local_queue_admitted_active_workloads{name=\"lq\",namespace=\"team\"} 1"},
      {true, "kueue_local_queue_admitted_workloads_total{name=\"lq\",namespace=\"team\""},
      {false, "kueue_cluster_queue_info{cluster_queue=\"cq\",parent_cohort=\"lab\""},
      {false, "kueue_cohort_info{cohort=\"lab\""},
      {false, "kueue_cohort_subtree_quota{cohort=\"lab\",flavor="},
      {false, "kueue_cohort_subtree_admitted_active_workloads{cohort=\"lab\"} 1"},
      {false, "kueue_cohort_subtree_admitted_workloads_total{cohort=\"lab\""},
      {false,
       "kueue_unadmitted_workloads{cluster_queue=\"cq\",reason=\"NoReservation\","
       "underlying_cause=\"WaitingForQuota\"} 1"},
      {false, "kueue_pending_scheduling_hashes{cluster_queue=\"cq\",status=\"active\"} 0"},
      {false, "kueue_pending_scheduling_hashes{cluster_queue=\"cq\",status=\"inadmissible\"} 1"},
      {false,
       "kueue_cohort_subtree_resource_reservations{cohort=\"lab\",flavor=\"default\","
       "resource=\"cpu\"} 1"},
  };
  for (const bool asked : {false, true}) {
    Crash();
    options_.metrics.cluster_queue_resources = asked;
    options_.metrics.local_queues = asked;
    Boot();
    PutQueues(1, {{"cohortName", "lab"}});
    PutWorkload("a", 1);
    executor_.RunFor(1s);
    PutWorkload("b", 1);
    executor_.RunFor(3s);
    const std::string text = metrics_->Text();
    for (const Row& row : rows) {
      const bool there = text.find(row.series) != std::string::npos;
      EXPECT_EQ(there, asked || !row.asked) << row.series << " in\n" << text;
    }
  }
  client_->Delete(api::KindOf<api::LocalQueue>(), {"team", "lq"}, {}, [](const Status&) {});
  executor_.RunFor(3s);
  EXPECT_THAT(metrics_->Text(), Not(HasSubstr("kueue_local_queue_status")));
}

TEST_F(QueueStatusTest, SeriesOfALocalQueueStayWithoutItsClusterQueue) {
  Crash();
  options_.metrics.local_queues = true;
  Boot();
  PutQueues(1);
  PutWorkload("a", 1);
  executor_.RunFor(3s);
  const std::string labels = "{name=\"lq\",namespace=\"team\"} ";
  EXPECT_THAT(metrics_->Text(),
              HasSubstr("kueue_local_queue_admitted_active_workloads" + labels + "1"));
  Edit("a", [](Json& object) { object["status"].erase("admission"); });
  SetConditionOf("a", api::kFinished, true, "Succeeded");
  executor_.RunFor(1s);
  client_->Delete(api::KindOf<api::ClusterQueue>(), {"", "cq"}, {}, [](const Status&) {});
  executor_.RunFor(3s);
  for (const char* series : {"reserving", "admitted"}) {
    EXPECT_THAT(metrics_->Text(), HasSubstr(std::string("kueue_local_queue_") + series +
                                            "_active_workloads" + labels + "0"));
  }
}

TEST_F(QueueStatusTest, UnadmittedWorkloadsAreCountedWhereTheyWait) {
  const auto count = [&](const std::string& reason) {
    const std::string series =
        "kueue_unadmitted_workloads{cluster_queue=\"cq\",reason=\"NoReservation\","
        "underlying_cause=\"" +
        reason + "\"} ";
    const std::string text = metrics_->Text();
    const std::size_t at = text.find(series);
    return at == std::string::npos ? std::string("none") : text.substr(at + series.size(), 1);
  };
  PutQueues(1);
  PutWorkload("early", 1, {{"queueName", "later"}});
  executor_.RunFor(1s);
  EXPECT_EQ(ReasonOf("early", api::kQuotaReserved), "Misconfigured");
  EXPECT_EQ(count("Misconfigured"), "none") << "nobody knows which queue it will wait in";
  PutLocalQueue("later", "cq", "Hold");
  executor_.RunFor(1s);
  EXPECT_EQ(count("Suspended"), "1");
  PutLocalQueue("later", "cq");
  executor_.RunFor(1s);
  EXPECT_TRUE(Is("early", api::kQuotaReserved));
  EXPECT_EQ(count("Suspended"), "none");
  PutWorkload("b", 1);
  executor_.RunFor(1s);
  EXPECT_EQ(count("WaitingForQuota"), "1");
  api_.Remove(PathOf("b"));
  executor_.RunFor(1s);
  EXPECT_EQ(count("WaitingForQuota"), "none");
}

// Admission fair sharing: a sample each minute, and an hour for half of the usage.
class UsageStatusTest : public QueueStatusTest {
 protected:
  UsageStatusTest() {
    Crash();
    options_.driver.scheduler.admission_fair_sharing =
        AdmissionFairSharing{1h, 1min, {{"cpu", 10.0}}};
    options_.metrics.local_queues = true;
    Boot();
  }
  Json History() const {
    return Object("namespaces/team/localqueues/lq")
        .value("/status/fairSharing/admissionFairSharingStatus"_json_pointer, Json::object());
  }
};

TEST_F(UsageStatusTest, ActiveLocalQueueSamplesItsUsageEveryMinute) {
  PutLocalQueue("lq", "cq");
  executor_.RunFor(2s);
  EXPECT_EQ(History(), Json::object()) << "its ClusterQueue is missing";
  PutQueues(8);  // its admissionScope asks for no order by usage
  executor_.RunFor(2s);
  EXPECT_EQ(History()["consumedResources"], (Json{{"cpu", "0"}})) << "every resource is named";
  std::set<std::string> samples;
  for (int i = 0; i < 10; ++i) {
    samples.insert(History()["lastUpdate"].get<std::string>());
    executor_.RunFor(1min);
  }
  EXPECT_GE(samples.size(), 9U) << "also while nothing is used";
  PutLocalQueue("lq", "cq", "Hold");
  executor_.RunFor(2s);
  const Json stopped = History();
  executor_.RunFor(5min);
  EXPECT_EQ(History(), stopped) << "a stopped queue takes no samples";
}

TEST_F(UsageStatusTest, FirstHistoryStartsAtThePresentUsage) {
  Crash();
  const auto sharing =
      std::exchange(options_.driver.scheduler.admission_fair_sharing, std::nullopt);
  Boot();
  PutQueues(8);
  PutWorkload("w", 4);
  executor_.RunFor(2s);
  Crash();
  options_.driver.scheduler.admission_fair_sharing = sharing;
  Boot();
  executor_.RunFor(2s);
  EXPECT_EQ(History()["consumedResources"]["cpu"], "4");
  EXPECT_THAT(metrics_->Text(),
              HasSubstr("kueue_local_queue_admission_fair_sharing_usage{cluster_queue=\"cq\","
                        "name=\"lq\",namespace=\"team\"} 40\n"))
      << "one number, weighted";
}

TEST_F(QueueStatusTest, RemovedFlavorLeavesNoSeries) {
  Crash();
  options_.metrics.local_queues = true;
  Boot();
  PutQueues(1);
  Put("resourceflavors", "other", Json::object());
  executor_.RunFor(2s);
  const char* series = "kueue_local_queue_resource_usage{flavor=\"default\"";
  EXPECT_THAT(metrics_->Text(), HasSubstr(series));
  Json spec = Object("clusterqueues/cq")["spec"];
  spec["resourceGroups"][0]["flavors"][0]["name"] = "other";
  Put("clusterqueues", "cq", spec);
  executor_.RunFor(2s);
  EXPECT_THAT(metrics_->Text(), Not(HasSubstr(series)));
  EXPECT_THAT(metrics_->Text(), HasSubstr("kueue_local_queue_resource_usage{flavor=\"other\""));
}

}  // namespace
}  // namespace berth::admission
