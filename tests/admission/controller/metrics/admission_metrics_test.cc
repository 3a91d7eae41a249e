// Goal: metrics count under Kueue's names, and series of deleted objects disappear.
// Method: small stories over all controllers on the real API, and decisions made by hand.

#include "admission/controller/metrics/admission_metrics.h"

#include "api/deadline.h"
#include "api/queue_policy.h"
#include "base/rfc3339.h"
#include "tests/admission/controller/admission_fixture.h"
#include "tests/support/core_fixture.h"

namespace berth::admission {
namespace {

DecisionList ListOf(const std::vector<Decision>& decisions) {
  DecisionList list;
  list.Reset(decisions.size());
  for (const Decision& decision : decisions) {
    Decision& made = list.Make();
    made = decision;
    list.List(made);
  }
  return list;
}

using ::testing::HasSubstr;
using ::testing::Not;

class AdmissionMetricsTest : public AdmissionFixture {
 protected:
  // Boots again with all optional metrics.
  void BootWithAll() {
    Crash();
    options_.metrics.cluster_queue_resources = true;
    options_.metrics.local_queues = true;
    Boot();
  }
  // "a" has all the quota, and "b" waits.
  void BootWithOneThatWaits() {
    BootWithAll();
    PutQueues(1);
    PutWorkload("a", 1);
    executor_.RunFor(1s);
    PutWorkload("b", 1);
    executor_.RunFor(3s);
  }
  // The value of the series, or "none".
  std::string ValueOf(const std::string& series) const {
    const std::string text = metrics_->Text();
    const std::size_t at = text.find("\n" + series + " ");
    if (at == std::string::npos) return "none";
    const std::size_t start = at + series.size() + 2;
    return text.substr(start, text.find('\n', start) - start);
  }
};

TEST_F(AdmissionMetricsTest, ADeactivationIsCountedUnderItsCause) {
  Crash();
  options_.driver.pods_ready.enabled = false;
  Boot();
  PutQueues(1);
  PutWorkload("w", 1, {{"maximumExecutionTimeSeconds", 60}});
  executor_.RunFor(65s);
  EXPECT_EQ(ReasonOf("w", api::kEvicted), "DeactivatedDueToMaximumExecutionTimeExceeded");
  EXPECT_EQ(ValueOf("kueue_evicted_workloads_total{cluster_queue=\"cq\",priority_class=\"\","
                    "reason=\"Deactivated\",underlying_cause=\"MaximumExecutionTimeExceeded\"}"),
            "1");
  EXPECT_EQ(ValueOf("kueue_evicted_workloads_once_total{cluster_queue=\"cq\",priority_class=\"\","
                    "reason=\"Deactivated\",underlying_cause=\"MaximumExecutionTimeExceeded\"}"),
            "1");
}

TEST_F(AdmissionMetricsTest, LocalQueueHasItsOwnWorkloadSeries) {
  BootWithOneThatWaits();
  const std::string waits =
      "kueue_local_queue_unadmitted_workloads{cluster_queue=\"cq\",name=\"lq\",namespace=\"team\","
      "reason=\"NoReservation\",underlying_cause=\"WaitingForQuota\"}";
  const std::string finished =
      "kueue_local_queue_finished_workloads{name=\"lq\",namespace=\"team\"}";
  EXPECT_EQ(ValueOf(waits), "1");
  Finish("a");
  executor_.RunFor(3s);
  EXPECT_EQ(ValueOf(waits), "none") << "no workload, no series";
  EXPECT_EQ(ValueOf(finished), "1");

  // A restart counts the existing objects.
  BootWithAll();
  executor_.RunFor(3s);
  EXPECT_EQ(ValueOf(finished), "1");
  client_->Delete(api::KindOf<api::LocalQueue>(), {"team", "lq"}, {}, [](const Status&) {});
  executor_.RunFor(3s);
  EXPECT_EQ(ValueOf(finished), "none");
}

// A slice that was preempted, and then replaced, ends so.
TEST_F(AdmissionMetricsTest, CountsAWorkloadThatFinishesWhilePending) {
  BootWithOneThatWaits();
  SetConditionOf("b", api::kFinished, true, "WorkloadSliceReplaced");
  executor_.RunFor(1s);
  EXPECT_EQ(ValueOf("kueue_finished_workloads_total{cluster_queue=\"cq\",priority_class=\"\"}"),
            "1");
  EXPECT_EQ(ValueOf("kueue_local_queue_finished_workloads_total{name=\"lq\",namespace=\"team\","
                    "priority_class=\"\"}"),
            "1");
  EXPECT_EQ(ValueOf("kueue_execution_time_seconds_count{cluster_queue=\"cq\",priority_class=\"\"}"),
            "none");
}

TEST_F(AdmissionMetricsTest, RecordsTheFirstPodsReadyTimeOnce) {
  PutQueues(1);
  PutWorkload("w", 1);
  executor_.RunFor(1s);
  const std::string count =
      "kueue_ready_wait_time_seconds_count{cluster_queue=\"cq\",priority_class=\"\"}";
  SetConditionOf("w", api::kPodsReady, true, "Started");
  executor_.RunFor(1s);
  EXPECT_EQ(ValueOf(count), "1");
  SetConditionOf("w", api::kPodsReady, false, "WaitForRecovery");
  executor_.RunFor(1s);
  SetConditionOf("w", api::kPodsReady, true, "Recovered");
  executor_.RunFor(1s);
  EXPECT_EQ(ValueOf(count), "1");
}

TEST_F(AdmissionMetricsTest, ExecutionTimeAddsPastAdmissions) {
  PutQueues(1);
  PutWorkload("w", 1);
  executor_.RunFor(1s);
  Edit("w", [](Json& object) { object["status"]["accumulatedPastExecutionTimeSeconds"] = 100; });
  executor_.RunFor(10s);
  Finish("w");
  executor_.RunFor(1s);
  const std::string sum =
      ValueOf("kueue_execution_time_seconds_sum{cluster_queue=\"cq\",priority_class=\"\"}");
  EXPECT_GE(std::stod(sum), 110) << sum;
}

TEST_F(AdmissionMetricsTest, AQuotaWithoutALimitHasTheLimitInfinity) {
  BootWithAll();
  PutQueues(1, {{"cohortName", "lab"}});
  const auto put = [&](const Json& limit) {
    Json quota = {{"name", "cpu"}, {"nominalQuota", 1}};
    if (!limit.is_null()) quota["borrowingLimit"] = limit;
    PutClusterQueue(
        "cq", 1,
        {{"cohortName", "lab"},
         {"resourceGroups",
          {{{"coveredResources", {"cpu"}},
            {"flavors", {{{"name", "default"}, {"resources", {std::move(quota)}}}}}}}}});
    executor_.RunFor(3s);
  };
  const std::string of =
      "_limit{cluster_queue=\"cq\",cohort=\"lab\",flavor=\"default\",resource=\"cpu\"}";
  put(5);
  EXPECT_EQ(ValueOf("kueue_cluster_queue_borrowing" + of), "5");
  EXPECT_EQ(ValueOf("kueue_cluster_queue_lending" + of), "+Inf");
  put(nullptr);
  EXPECT_EQ(ValueOf("kueue_cluster_queue_borrowing" + of), "+Inf");
}

TEST_F(AdmissionMetricsTest, PendingRequestsGoBackToZero) {
  BootWithOneThatWaits();
  const std::string asked =
      "kueue_cluster_queue_resource_pending{cluster_queue=\"cq\",resource=\"cpu\"}";
  EXPECT_EQ(ValueOf(asked), "1");
  client_->Delete(api::KindOf<api::LocalQueue>(), {"team", "lq"}, {}, [](const Status&) {});
  executor_.RunFor(3s);
  EXPECT_EQ(ValueOf(asked), "0");
}

TEST_F(AdmissionMetricsTest, PendingRequestsLeaveOutReclaimablePods) {
  BootWithAll();
  PutQueues(0);
  executor_.RunFor(1s);
  const std::string asked =
      "kueue_cluster_queue_resource_pending{cluster_queue=\"cq\",resource=\"cpu\"}";
  EXPECT_EQ(ValueOf(asked), "0") << "a resource of the queue is shown though nobody waits";
  PutWorkload("w", 1);
  Edit("w", [](Json& object) { object["spec"]["podSets"][0]["count"] = 3; });
  executor_.RunFor(2s);
  EXPECT_EQ(ValueOf(asked), "3");
  Edit("w", [](Json& object) {
    object["status"]["reclaimablePods"] = {{{"name", "main"}, {"count", 2}}};
  });
  executor_.RunFor(3s);
  EXPECT_EQ(ValueOf(asked), "1");
}

TEST_F(AdmissionMetricsTest, UnadmittedMetricNamesChecksThatAreNotReady) {
  BootWithAll();
  Put("admissionchecks", "slow", {{"controllerName", "test"}});
  PutQueues(1, {{"admissionChecksStrategy", {{"admissionChecks", {{{"name", "slow"}}}}}}});
  ActivateCheck("slow");
  PutWorkload("w", 1);
  executor_.RunFor(3s);
  EXPECT_EQ(ValueOf("kueue_unadmitted_workloads{cluster_queue=\"cq\",reason="
                    "\"UnsatisfiedAdmissionChecks\",underlying_cause=\"ChecksNotReady\"}"),
            "1");
}

TEST_F(AdmissionMetricsTest, DeletedClusterQueueHasNoWorkloadSeries) {
  BootWithOneThatWaits();
  Finish("a");
  Finish("b");
  executor_.RunFor(3s);
  EXPECT_THAT(metrics_->Text(), HasSubstr("kueue_finished_workloads{cluster_queue=\"cq\"} "));
  client_->Delete(api::KindOf<api::ClusterQueue>(), {"", "cq"}, {}, [](const Status&) {});
  executor_.RunFor(3s);
  client_->Delete(api::KindOf<api::Workload>(), {"team", "b"}, {}, [](const Status&) {});
  PutWorkload("c", 1);
  executor_.RunFor(3s);
  for (const char* name :
       {"kueue_finished_workloads{", "kueue_unadmitted_workloads{", "kueue_pending_workloads{",
        "kueue_pending_scheduling_hashes{", "kueue_quota_reserved_workloads_total{"}) {
    EXPECT_THAT(metrics_->Text(), Not(HasSubstr(std::string("\n") + name))) << name;
  }
}

TEST_F(AdmissionMetricsTest, CohortSeriesSumTheirSubtreesAndEndWithTheCohort) {
  BootWithAll();
  Put("cohorts", "lab", {{"parentName", "org"}});
  PutQueues(2, {{"cohortName", "lab"}});
  PutWorkload("a", 1);
  executor_.RunFor(3s);
  const auto of = [this](const std::string& name, const std::string& cohort,
                         const std::string& more = "") {
    return ValueOf("kueue_cohort_" + name + "{cohort=\"" + cohort + "\"" + more + "}");
  };
  const std::string cpu = ",flavor=\"default\",resource=\"cpu\"";
  EXPECT_EQ(of("info", "lab", ",parent_cohort=\"org\",root_cohort=\"org\""), "1");
  EXPECT_EQ(of("info", "org", ",parent_cohort=\"\",root_cohort=\"org\""), "1") << "no object";
  for (const char* cohort : {"lab", "org"}) {
    EXPECT_EQ(of("subtree_quota", cohort, cpu), "2");
    EXPECT_EQ(of("subtree_resource_reservations", cohort, cpu), "1")
        << "not what is borrowed alone";
    EXPECT_EQ(of("subtree_admitted_active_workloads", cohort), "1");
    EXPECT_EQ(of("subtree_admitted_workloads_total", cohort, ",priority_class=\"\""), "1");
  }
  PutClusterQueue("cq", 2, {{"cohortName", "other"}});
  executor_.RunFor(3s);
  EXPECT_EQ(of("subtree_resource_reservations", "other", cpu), "1");
  EXPECT_EQ(of("subtree_admitted_active_workloads", "other"), "1");
  EXPECT_EQ(of("subtree_quota", "lab", cpu), "none");
  EXPECT_EQ(of("subtree_resource_reservations", "org", cpu), "none");
  EXPECT_EQ(of("subtree_admitted_active_workloads", "org"), "0");
  EXPECT_EQ(of("info", "lab", ",parent_cohort=\"org\",root_cohort=\"org\""), "1") << "an object";
  client_->Delete(api::KindOf<api::Cohort>(), {"", "lab"}, {}, [](const Status&) {});
  executor_.RunFor(3s);
  for (const char* cohort : {"lab", "org"}) {
    EXPECT_EQ(metrics_->Text().find("cohort=\"" + std::string(cohort)), std::string::npos);
  }
  Put("cohorts", "alone", {{"parentName", "above"}});
  executor_.RunFor(3s);
  EXPECT_EQ(of("info", "alone", ",parent_cohort=\"above\",root_cohort=\"above\""), "1");
  EXPECT_EQ(of("info", "above", ",parent_cohort=\"\",root_cohort=\"above\""), "1");
}

TEST_F(AdmissionMetricsTest, WeightedShareIsNotRoundedAndReservationsSumTheSubtree) {
  Crash();
  options_.driver.scheduler.fair_sharing.emplace();
  Boot();
  api_.Put("/api/v1/namespaces", {{"metadata", {{"name", "team"}}}});
  Put("resourceflavors", "default", Json::object());
  Put("cohorts", "lab", Json::object());
  PutClusterQueue("cq", 1, {{"cohortName", "lab"}});
  PutClusterQueue("other", 2, {{"cohortName", "lab"}});
  PutLocalQueue("lq", "cq");
  PutWorkload("a", 3);
  executor_.RunFor(5s);
  const std::string share =
      "kueue_cluster_queue_weighted_share{cluster_queue=\"cq\",cohort=\"lab\"}";
  EXPECT_EQ(ValueOf(share).substr(0, 7), "666.666") << "it borrows 2 of 3";
  EXPECT_EQ(Object("clusterqueues/cq")["status"]["fairSharing"]["weightedShare"], 667);
  EXPECT_EQ(ValueOf("kueue_cohort_weighted_share{cohort=\"lab\"}"), "0");
  const std::string reserved =
      "kueue_cohort_subtree_resource_reservations{cohort=\"lab\",flavor=\"default\","
      "resource=\"cpu\"}";
  EXPECT_EQ(ValueOf(reserved), "3") << "with what is within the queue's own quota";
  PutClusterQueue("cq", 1, {{"cohortName", "lab"}, {"fairSharing", {{"weight", "0"}}}});
  executor_.RunFor(3s);
  EXPECT_EQ(ValueOf(share), "NaN");
  Finish("a");
  executor_.RunFor(3s);
  EXPECT_EQ(ValueOf(share), "0");
  EXPECT_EQ(ValueOf(reserved), "none");
}

TEST_F(AdmissionMetricsTest, CountsPreemptionSkipsAndTargetRecomputations) {
  LabelledMetrics queue_series(*metrics_, {});
  QueueMetrics queues(queue_series, {});
  kube::Metrics metrics;
  LabelledMetrics series(metrics, {});
  AdmissionMetrics under_test(series, queues,
                              [](const std::string&) { return std::vector<std::string>{}; });
  const auto name_of = [](ClusterQueueId id) { return "q" + std::to_string(id); };
  Decision lost;
  lost.cluster_queue = 1;
  lost.outcome = Outcome::kSkipped;
  lost.remark = Remark::kOverlappingTargets;
  lost.target_search = TargetSearch::kSkipped;
  Decision deferred;
  deferred.cluster_queue = 2;
  deferred.outcome = Outcome::kDeferred;
  deferred.target_search = TargetSearch::kDeferredFit;
  Decision no_room;  // it had no victims
  no_room.cluster_queue = 3;
  no_room.outcome = Outcome::kSkipped;
  no_room.remark = Remark::kNoLongerFits;
  no_room.assignment.mode = AssignmentMode::kFit;
  under_test.OnDecisions(ListOf({lost, deferred, no_room}), name_of);
  const std::string text = metrics.Text();
  EXPECT_THAT(text, HasSubstr("kueue_admission_cycle_preemption_skips{cluster_queue=\"q1\"} 1"));
  EXPECT_THAT(text, Not(HasSubstr("preemption_skips{cluster_queue=\"q3\"}")));
  const std::string recomputed = "kueue_preemption_target_recomputations_total{cluster_queue=";
  EXPECT_THAT(text, HasSubstr(recomputed + "\"q1\",result=\"skipped\"} 1"));
  EXPECT_THAT(text, HasSubstr(recomputed + "\"q2\",result=\"deferred_fit\"} 1"));
  lost.outcome = Outcome::kPreempting;
  lost.target_search = TargetSearch::kOnce;
  under_test.OnDecisions(ListOf({lost}), name_of);
  EXPECT_THAT(metrics.Text(),
              HasSubstr("kueue_admission_cycle_preemption_skips{cluster_queue=\"q1\"} 0"));
}

TEST_F(AdmissionMetricsTest, CountsKeptLateAndFailedDeadlines) {
  BootWithAll();
  PutQueues(3);
  for (const auto& [name, in] :
       {std::pair("early", 1h), std::pair("late", -1h), std::pair("broken", 1h)}) {
    PutWorkload(name, 1);
    Edit(name, [&, when = in](Json& object) {
      object["metadata"]["annotations"][api::kDeadlineAnnotation] = FormatTime(clock_.Now() + when);
    });
  }
  executor_.RunFor(3s);
  for (const char* name : {"early", "late"}) {
    Finish(name);
  }
  SetConditionOf("broken", api::kFinished, true, "Failed");
  executor_.RunFor(3s);
  for (const char* result : {"kept", "late", "failed"}) {
    EXPECT_EQ(ValueOf("berth_deadlines_total{cluster_queue=\"cq\",result=\"" + std::string(result) +
                      "\"}"),
              "1")
        << result;
  }
}

TEST_F(AdmissionMetricsTest, KeptPlacesMetricFollowsTheQueuesPolicy) {
  api::ClusterQueue queue = support::MakeQueue("q", "", {{"f", {{"gpu", 1}}}});
  queue.meta.annotations[api::kReserveAfterAnnotation] = "1h";
  support::TableWorld world({"f"}, {queue});
  LabelledMetrics queue_series(*metrics_, {});
  QueueMetrics queues(queue_series, {});
  kube::Metrics metrics;
  LabelledMetrics series(metrics, {});
  AdmissionMetrics under_test(series, queues,
                              [](const std::string&) { return std::vector<std::string>{}; });
  const auto show = [&] {
    world.Cycle();
    under_test.OnPlaces(world.scheduler().kept_places(),
                        [](ClusterQueueId) { return std::string("q"); });
    return metrics.Text();
  };
  world.Apply(support::MakeJob("runs", "q", 1, {{"gpu", 1}}));
  EXPECT_THAT(show(), HasSubstr("berth_kept_places{cluster_queue=\"q\"} 0"));
  world.Apply(support::MakeJob("waits", "q", 1, {{"gpu", 1}}));
  world.Advance(std::chrono::hours(2));
  const std::string text = show();
  EXPECT_THAT(text, HasSubstr("berth_kept_places{cluster_queue=\"q\"} 1"));
  EXPECT_THAT(text, HasSubstr("berth_reserve_after_seconds{cluster_queue=\"q\"} 3600"));
  queue.meta.annotations.clear();
  world.Apply(queue);
  EXPECT_THAT(show(), Not(HasSubstr("cluster_queue=\"q\"")));
}

TEST_F(AdmissionMetricsTest, HeldBackHeadsMetricNamesTheRule) {
  LabelledMetrics queue_series(*metrics_, {});
  QueueMetrics queues(queue_series, {});
  kube::Metrics metrics;
  LabelledMetrics series(metrics, {});
  AdmissionMetrics under_test(series, queues,
                              [](const std::string&) { return std::vector<std::string>{}; });
  const auto name_of = [](ClusterQueueId id) { return "q" + std::to_string(id); };
  Decision put_off;
  put_off.cluster_queue = 1;
  put_off.outcome = Outcome::kSkipped;
  put_off.remark = Remark::kPreemptionPutOff;
  Decision behind_a_place = put_off;
  behind_a_place.cluster_queue = 2;
  behind_a_place.remark = Remark::kPlaceIsKept;
  Decision admitted = put_off;
  admitted.cluster_queue = 3;
  admitted.outcome = Outcome::kAdmitted;
  under_test.OnDecisions(ListOf({put_off, behind_a_place, admitted}), name_of);
  const std::string held = "berth_held_back_heads{cluster_queue=";
  EXPECT_THAT(metrics.Text(), HasSubstr(held + "\"q1\",rule=\"victim-rules\"} 1"));
  EXPECT_THAT(metrics.Text(), HasSubstr(held + "\"q2\",rule=\"kept-places\"} 1"));
  EXPECT_THAT(metrics.Text(), Not(HasSubstr("\"q3\"")));
  put_off.remark = Remark::kPlaceIsKept;
  under_test.OnDecisions(ListOf({put_off}), name_of);
  EXPECT_THAT(metrics.Text(), HasSubstr(held + "\"q1\",rule=\"kept-places\"} 1"));
  EXPECT_THAT(metrics.Text(), Not(HasSubstr("victim-rules")));
  under_test.ForgetClusterQueue("q2");
  put_off.remark = Remark::kNone;
  under_test.OnDecisions(ListOf({put_off}), name_of);
  EXPECT_THAT(metrics.Text(), Not(HasSubstr(held)));
}

}  // namespace
}  // namespace berth::admission
