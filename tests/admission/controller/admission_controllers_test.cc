// Goal: a Workload's whole life works through the API alone. Method: all admission controllers on
// the real API in memory, in virtual time; the test plays users, job controller and check
// controllers.

#include "api/check_state.h"
#include "tests/admission/controller/admission_fixture.h"

namespace berth::admission {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class AdmissionControllersTest : public AdmissionFixture {};

TEST_F(AdmissionControllersTest, AdmitsAWorkloadThatFitsAndExplainsOneThatWaits) {
  PutQueues(4);
  PutWorkload("a", 3);
  executor_.RunFor(1s);
  PutWorkload("b", 3);
  executor_.RunFor(5s);
  EXPECT_TRUE(Is("a", api::kAdmitted));
  const api::Workload a = Get("a");
  ASSERT_TRUE(a.status.admission.has_value());
  EXPECT_EQ(*a.status.admission, (api::Admission{"cq",
                                                 {{.name = "main",
                                                   .flavors = {{"cpu", "default"}},
                                                   .resource_usage = {{"cpu", 3000}},
                                                   .count = 1}}}));
  EXPECT_EQ(MessageOf("a", api::kQuotaReserved), "Quota reserved in ClusterQueue cq");
  EXPECT_EQ(ReasonOf("b", api::kQuotaReserved), "WaitingForQuota");
  EXPECT_EQ(MessageOf("b", api::kQuotaReserved),
            "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor "
            "default, 2 more needed");
  EXPECT_EQ(Get("b").status.resource_requests,
            (std::vector<api::PodSetRequests>{{"main", {{"cpu", 3000}}}}));
  EXPECT_THAT(EventReasons("a"), ElementsAre("Admitted"));
  EXPECT_THAT(EventReasons("b"), ElementsAre("WaitingForQuota"));
  EXPECT_TRUE(admission_->idle());
}

TEST_F(AdmissionControllersTest, FinishedWorkloadMakesRoom) {
  PutQueues(4);
  PutWorkload("a", 3);
  executor_.RunFor(1s);
  PutWorkload("b", 3);
  executor_.RunFor(5s);
  SetConditionOf("a", api::kFinished, true, "Succeeded");
  executor_.RunFor(3s);
  EXPECT_TRUE(Is("b", api::kAdmitted));
  EXPECT_TRUE(Get("b").status.resource_requests.empty());
  EXPECT_EQ(Object("clusterqueues/cq")["status"]["admittedWorkloads"], 1);
}

TEST_F(AdmissionControllersTest, AdmitsAWorkloadOnceItsMissingQueuesAreCreated) {
  PutWorkload("a", 1);
  executor_.RunFor(2s);
  EXPECT_EQ(ReasonOf("a", api::kQuotaReserved), "Misconfigured");
  EXPECT_EQ(MessageOf("a", api::kQuotaReserved), "LocalQueue lq doesn't exist");
  PutLocalQueue("lq", "cq");
  executor_.RunFor(2s);
  EXPECT_EQ(MessageOf("a", api::kQuotaReserved), "ClusterQueue cq doesn't exist");
  PutQueues(1);
  executor_.RunFor(5s);
  EXPECT_TRUE(Is("a", api::kAdmitted));
}

TEST_F(AdmissionControllersTest, ChecksGateTheAdmission) {
  Put("admissionchecks", "dws", {{"controllerName", "example.com/c"}});
  PutQueues(4, {{"admissionChecksStrategy", {{"admissionChecks", {{{"name", "dws"}}}}}}});
  PutWorkload("a", 1);
  executor_.RunFor(3s);
  EXPECT_EQ(ReasonOf("a", api::kQuotaReserved), "Suspended");
  ActivateCheck("dws");
  executor_.RunFor(3s);
  EXPECT_TRUE(Is("a", api::kQuotaReserved));
  EXPECT_FALSE(Is("a", api::kAdmitted));
  ASSERT_EQ(Get("a").status.admission_checks.size(), 1U);
  EXPECT_EQ(Get("a").status.admission_checks[0].state, api::CheckState::kPending);
  Edit("a", [](Json& object) { object["status"]["admissionChecks"][0]["state"] = "Ready"; });
  executor_.RunFor(3s);
  EXPECT_TRUE(Is("a", api::kAdmitted));
  EXPECT_THAT(EventReasons("a"), Contains("Admitted"));
}

// A check's controller may answer while the workload waits for quota.
TEST_F(AdmissionControllersTest, WaitingWorkloadsListTheChecksOfTheirQueue) {
  const auto checks_of_queue = [this](const std::vector<std::string>& names) {
    Json checks = Json::array();
    for (const std::string& name : names) {
      Put("admissionchecks", name, {{"controllerName", "example.com/c"}});
      ActivateCheck(name);
      checks.push_back({{"name", name}});
    }
    // The check counts for one flavor of two: the reservation tells whether it does.
    Put("admissionchecks", "gpu", {{"controllerName", "example.com/c"}});
    ActivateCheck("gpu");
    checks.push_back({{"name", "gpu"}, {"onFlavors", {"other"}}});
    PutQueues(1, {{"admissionChecksStrategy", {{"admissionChecks", checks}}}});
  };
  const auto listed = [this] {
    std::string text;
    for (const auto& check : Get("a").status.admission_checks) {
      text += check.name + "=" + api::ToString(check.state) + " ";
    }
    return text;
  };
  checks_of_queue({"check1", "check2"});
  PutWorkload("a", 2);  // the queue has 1
  executor_.RunFor(3s);
  EXPECT_EQ(listed(), "check1=Pending check2=Pending ");
  Edit("a", [](Json& object) { object["status"]["admissionChecks"][1]["state"] = "Ready"; });
  executor_.RunFor(1s);
  checks_of_queue({"check2", "check3"});
  executor_.RunFor(3s);
  EXPECT_EQ(listed(), "check2=Ready check3=Pending ");
  Edit("a", [](Json& object) { object["status"]["admissionChecks"][1]["state"] = "Rejected"; });
  executor_.RunFor(3s);
  EXPECT_FALSE(Get("a").spec.active);
}

TEST_F(AdmissionControllersTest, RetryReleasesQuotaAndReservesItAfterTheBackoff) {
  Put("admissionchecks", "dws", {{"controllerName", "example.com/c"}});
  ActivateCheck("dws");
  PutQueues(4, {{"admissionChecksStrategy", {{"admissionChecks", {{{"name", "dws"}}}}}}});
  PutWorkload("a", 4);
  executor_.RunFor(3s);
  Edit("a", [](Json& object) {
    object["status"]["admissionChecks"][0]["state"] = "Retry";
    object["status"]["admissionChecks"][0]["requeueAfterSeconds"] = 60;
  });
  executor_.RunFor(2s);
  EXPECT_TRUE(Is("a", api::kEvicted));
  Release("a");
  PutWorkload("b", 4);
  executor_.RunFor(5s);
  EXPECT_TRUE(Is("b", api::kQuotaReserved)) << "the quota is free during the back-off";
  EXPECT_FALSE(Is("a", api::kQuotaReserved));
  SetConditionOf("b", api::kFinished, true, "Succeeded");
  executor_.RunFor(70s);
  EXPECT_TRUE(Is("a", api::kQuotaReserved));
  EXPECT_EQ(ReasonOf("a", api::kRequeued), "BackoffFinished");
  EXPECT_EQ(Get("a").status.admission_checks[0].retry_count, 1);
}

// The rule hear-late-answers: a check is rejected while its workload is being evicted.
TEST_F(AdmissionControllersTest, RejectionAfterEvictionDeactivatesOnlyWithHearLateAnswers) {
  for (const bool hears : {true, false}) {
    Crash();
    ASSERT_TRUE(options_.driver.scheduler.own_rules.Set("hear-late-answers", hears));
    Boot();
    const std::string name = hears ? "heard" : "ignored";
    const std::string rival = "rival-of-" + name;
    Put("admissionchecks", "dws", {{"controllerName", "example.com/c"}});
    ActivateCheck("dws");
    PutQueues(4, {{"admissionChecksStrategy", {{"admissionChecks", {{{"name", "dws"}}}}}},
                  {"preemption", {{"withinClusterQueue", "LowerPriority"}}}});
    PutWorkload(name, 4, {{"priority", 1}});
    executor_.RunFor(3s);
    PutWorkload(rival, 4, {{"priority", 5}});
    executor_.RunFor(3s);
    ASSERT_TRUE(Is(name, api::kEvicted));
    Edit(name, [](Json& object) { object["status"]["admissionChecks"][0]["state"] = "Rejected"; });
    executor_.RunFor(3s);
    EXPECT_EQ(Get(name).spec.active, !hears);
    api_.Remove(PathOf(name));
    api_.Remove(PathOf(rival));
    executor_.RunFor(3s);
  }
}

TEST_F(AdmissionControllersTest, PreemptsLowerPriorityAndAdmitsWhenItHasStopped) {
  PutQueues(4, {{"preemption", {{"withinClusterQueue", "LowerPriority"}}}});
  PutWorkload("low", 4, {{"priority", 1}});
  executor_.RunFor(2s);
  PutWorkload("high", 4, {{"priority", 5}});
  executor_.RunFor(3s);
  EXPECT_TRUE(Is("low", api::kEvicted));
  EXPECT_EQ(ReasonOf("low", api::kPreempted), "InClusterQueue");
  EXPECT_THAT(MessageOf("low", api::kPreempted),
              HasSubstr("due to prioritization in the ClusterQueue; preemptor path: /cq"));
  EXPECT_FALSE(Is("high", api::kQuotaReserved));
  EXPECT_THAT(MessageOf("high", api::kQuotaReserved),
              HasSubstr(". Pending the preemption of 1 workload(s)"));
  EXPECT_THAT(EventReasons("low"), Contains("Preempted"));
  EXPECT_THAT(EventReasons("high"), Contains("PreemptedWorkload"));
  EXPECT_EQ(Get("low").status.evictions.size(), 1U) << "evicted once";
  Release("low");
  executor_.RunFor(3s);
  EXPECT_TRUE(Is("high", api::kAdmitted));
  EXPECT_FALSE(Is("low", api::kQuotaReserved));
}

TEST_F(AdmissionControllersTest, HoldAndDrainEvictsAndItsEndAdmitsAgain) {
  PutQueues(4);
  PutWorkload("a", 1);
  executor_.RunFor(2s);
  PutClusterQueue("cq", 4, {{"stopPolicy", "HoldAndDrain"}});
  executor_.RunFor(2s);
  EXPECT_EQ(ReasonOf("a", api::kEvicted), "ClusterQueueStopped");
  EXPECT_EQ(Object("clusterqueues/cq")["status"]["conditions"][0]["reason"], "Stopped");
  Release("a");
  executor_.RunFor(2s);
  EXPECT_FALSE(Is("a", api::kQuotaReserved));
  PutClusterQueue("cq", 4);
  executor_.RunFor(5s);
  EXPECT_EQ(ReasonOf("a", api::kRequeued), "ClusterQueueRestarted");
  EXPECT_TRUE(Is("a", api::kAdmitted));
}

TEST_F(AdmissionControllersTest, DeactivationReleasesQuotaAndReactivationQueues) {
  PutQueues(1);
  PutWorkload("a", 1);
  executor_.RunFor(2s);
  Edit("a", [](Json& object) { object["spec"]["active"] = false; });
  executor_.RunFor(2s);
  EXPECT_EQ(ReasonOf("a", api::kEvicted), "Deactivated");
  Release("a");
  PutWorkload("b", 1);
  executor_.RunFor(3s);
  EXPECT_TRUE(Is("b", api::kAdmitted));
  SetConditionOf("b", api::kFinished, true, "Succeeded");
  Edit("a", [](Json& object) { object["spec"]["active"] = true; });
  executor_.RunFor(5s);
  EXPECT_TRUE(Is("a", api::kAdmitted));
}

TEST_F(AdmissionControllersTest, ManyAreAdmittedInPriorityOrderWithoutOvercommitment) {
  PutQueues(10);
  for (int i = 0; i < 40; ++i) {
    PutWorkload("w" + std::to_string(i), 1, {{"priority", i}});
  }
  executor_.RunFor(10s);
  int admitted = 0;
  for (int i = 0; i < 40; ++i) {
    const bool is_admitted = Is("w" + std::to_string(i), api::kAdmitted);
    admitted += is_admitted ? 1 : 0;
    if (is_admitted) {
      EXPECT_GE(i, 30);
    } else {
      EXPECT_EQ(ReasonOf("w" + std::to_string(i), api::kQuotaReserved), "WaitingForQuota") << i;
    }
  }
  EXPECT_EQ(admitted, 10);
  const Json& status = Object("clusterqueues/cq")["status"];
  EXPECT_EQ(status["pendingWorkloads"], 30);
  EXPECT_EQ(status["flavorsUsage"][0]["resources"][0]["total"], "10");
  EXPECT_TRUE(admission_->idle());
}

TEST_F(AdmissionControllersTest, WorkloadsFollowTheValueOfTheirPriorityClass) {
  const auto put_class = [this](const std::string& name, int value) {
    api_.Put(std::string(kKueueRoot) + "workloadpriorityclasses",
             {{"metadata", {{"name", name}}}, {"value", value}});
  };
  const auto with_class = [](const std::string& group, const std::string& kind) -> Json {
    return {{"priority", 1},
            {"priorityClassRef", {{"group", group}, {"kind", kind}, {"name", "c"}}}};
  };
  PutQueues(1);
  put_class("c", 1);
  const Json ours = with_class("kueue.x-k8s.io", "WorkloadPriorityClass");
  PutWorkload("runs", 1, ours);
  executor_.RunFor(2s);
  for (const char* name : {"over", "waits"}) PutWorkload(name, 1, ours);
  PutWorkload("pods", 1, with_class("scheduling.k8s.io", "PriorityClass"));
  SetConditionOf("over", api::kFinished, true, "Succeeded");
  executor_.RunFor(2s);
  put_class("c", 7);
  executor_.RunFor(2s);
  EXPECT_EQ(Get("runs").spec.priority, 7);
  EXPECT_EQ(Get("waits").spec.priority, 7);
  EXPECT_EQ(Get("over").spec.priority, 1) << "nothing depends on it any more";
  EXPECT_EQ(Get("pods").spec.priority, 1) << "another kind of class";
}

TEST_F(AdmissionControllersTest, ChangedPriorityClassReachesMoreWorkloadsThanOneBatch) {
  const auto put_class = [this](int value) {
    api_.Put(std::string(kKueueRoot) + "workloadpriorityclasses",
             {{"metadata", {{"name", "c"}}}, {"value", value}});
  };
  const Json ours = {
      {"priority", 1},
      {"priorityClassRef",
       {{"group", "kueue.x-k8s.io"}, {"kind", "WorkloadPriorityClass"}, {"name", "c"}}}};
  constexpr int kCount = 150;
  PutQueues(1);
  put_class(1);
  for (int i = 0; i < kCount; ++i) PutWorkload("w" + std::to_string(i), 1, ours);
  executor_.RunFor(5s);
  put_class(7);
  executor_.RunFor(10s);
  PutWorkload("late", 1, ours);
  executor_.RunFor(5s);
  for (int i = 0; i < kCount; ++i) {
    EXPECT_EQ(Get("w" + std::to_string(i)).spec.priority, 7) << i;
  }
  EXPECT_EQ(Get("late").spec.priority, 7) << "it was made with the old value";
}

constexpr char kBypassed[] =
    "Bypassed scheduling evaluation because an equivalent workload recently failed";

TEST_F(AdmissionControllersTest, LaterEquivalentOfAnInadmissibleWorkloadGetsItsReason) {
  PutQueues(1);
  PutWorkload("big", 5);
  executor_.RunFor(5s);
  EXPECT_EQ(ReasonOf("big", api::kQuotaReserved), "ExceedsMaxQuota");
  const std::int64_t cycles = admission_->cycle_count();
  PutWorkload("twin", 5);
  executor_.RunFor(5s);
  EXPECT_EQ(admission_->cycle_count(), cycles) << "it is parked on arrival";
  EXPECT_EQ(ReasonOf("twin", api::kQuotaReserved), ReasonOf("big", api::kQuotaReserved));
  EXPECT_EQ(MessageOf("twin", api::kQuotaReserved), kBypassed);
}

TEST_F(AdmissionControllersTest, EquivalentWorkloadsGetTheReasonOfTheTriedOneOnce) {
  PutQueues(2);
  PutWorkload("runs", 2);
  executor_.RunFor(2s);
  for (const char* name : {"a", "b", "c"}) PutWorkload(name, 1);
  executor_.RunFor(5s);
  int bypassed = 0;
  for (const char* name : {"a", "b", "c"}) {
    EXPECT_EQ(ReasonOf(name, api::kQuotaReserved), "WaitingForQuota");
    bypassed += MessageOf(name, api::kQuotaReserved) == kBypassed ? 1 : 0;
  }
  EXPECT_EQ(bypassed, 2) << "all but the one that was tried";
  const auto events = [this] {
    return EventReasons("a").size() + EventReasons("b").size() + EventReasons("c").size();
  };
  EXPECT_EQ(events(), 1U) << "of the one that was tried";
  const std::int64_t cycles = admission_->cycle_count();
  executor_.RunFor(1h);
  api_.ClearRequests();
  PutClusterQueue("cq", 2, {{"preemption", {{"withinClusterQueue", "LowerPriority"}}}});
  executor_.RunFor(1h);
  EXPECT_GT(admission_->cycle_count(), cycles) << "one of them has been tried again";
  for (const auto& request : api_.requests()) {
    EXPECT_TRUE(request.method == "GET" || request.path != PathOf("c") + "/status");
  }
}

TEST_F(AdmissionControllersTest, BypassedWorkloadsKeepTheirMessageAfterARestart) {
  PutQueues(4);
  PutClusterQueue("fuller", 3);
  PutLocalQueue("fuller-lq", "fuller");
  PutWorkload("runs", 3);
  PutWorkload("runs-there", 3, {{"queueName", "fuller-lq"}});
  executor_.RunFor(2s);
  PutWorkload("there", 2, {{"queueName", "fuller-lq"}});
  PutWorkload("a", 2);
  executor_.RunFor(2s);  // the heads
  for (const char* name : {"stays", "moves"}) PutWorkload(name, 2);
  executor_.RunFor(5s);
  const std::string told = MessageOf("a", api::kQuotaReserved);
  EXPECT_THAT(told, HasSubstr("1 more needed"));
  EXPECT_THAT(MessageOf("there", api::kQuotaReserved), HasSubstr("2 more needed"));
  EXPECT_EQ(MessageOf("stays", api::kQuotaReserved), kBypassed);
  EXPECT_EQ(MessageOf("moves", api::kQuotaReserved), kBypassed);
  Crash();
  PutClusterQueue("cq", 3);
  Edit("moves", [](Json& object) { object["spec"]["queueName"] = "fuller-lq"; });
  Boot();
  executor_.RunFor(5s);
  EXPECT_THAT(MessageOf("a", api::kQuotaReserved), HasSubstr("2 more needed"));
  EXPECT_EQ(MessageOf("stays", api::kQuotaReserved), kBypassed);
  EXPECT_EQ(MessageOf("moves", api::kQuotaReserved), kBypassed);
}

TEST_F(AdmissionControllersTest, TriesAFlavorOnceItLeavesTheAvoidedFlavors) {
  PutQueues(1);
  for (const char* key : {api::kAvoidedFlavorsAnnotation, api::kReactiveAvoidedFlavorsAnnotation}) {
    const auto avoid = [key](const char* flavors) {
      return [key, flavors](Json& object) { object["metadata"]["annotations"][key] = flavors; };
    };
    PutWorkload("a", 1, {{"active", false}});
    Edit("a", avoid("default"));
    Edit("a", [](Json& object) { object["spec"]["active"] = true; });
    executor_.RunFor(1min);
    ASSERT_EQ(ReasonOf("a", api::kQuotaReserved), "NoMatchingFlavor") << key;
    Edit("a", avoid("another"));
    executor_.RunFor(1s);
    EXPECT_TRUE(Is("a", api::kQuotaReserved)) << key;
    api_.Remove(PathOf("a"));
    executor_.RunFor(1s);
  }
}

TEST_F(AdmissionControllersTest, WritesARemovedReasonAgain) {
  PutQueues(1);
  PutWorkload("a", 1);
  executor_.RunFor(1s);
  PutWorkload("b", 1);
  executor_.RunFor(1min);
  ASSERT_EQ(ReasonOf("b", api::kQuotaReserved), "WaitingForQuota");
  Edit("b", [](Json& object) { object["status"].erase("conditions"); });
  executor_.RunFor(1s);
  EXPECT_EQ(ReasonOf("b", api::kQuotaReserved), "WaitingForQuota");
}

TEST_F(AdmissionControllersTest, WritesNothingWhileNothingChanges) {
  PutQueues(4, {{"queueingStrategy", "StrictFIFO"}});
  PutWorkload("a", 3);
  PutWorkload("blocked", 3);
  executor_.RunFor(60s);
  api_.ClearRequests();
  const std::int64_t cycles = admission_->cycle_count();
  executor_.RunFor(60s);
  EXPECT_LE(admission_->cycle_count() - cycles, 61) << "a blocked head must not spin";
  executor_.RunFor(20min);
  EXPECT_EQ(api_.CountWrites(), 0U) << "nor is it counted how often it was tried in vain";
}

}  // namespace
}  // namespace berth::admission
