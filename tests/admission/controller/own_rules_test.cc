// Goal: Berth's own rules are switched in the controller by the names of the configuration.
// Method: each rule in a story of real controllers whose end it changes, with the rule and without.
// tests/scenarios switches the rules that stories show, tests/admission all rules on the core
// alone.
#include "admission/own_rules.h"

#include "tests/admission/controller/admission_fixture.h"

namespace berth::admission {
namespace {

class OwnRuleSwitches : public AdmissionFixture, public ::testing::WithParamInterface<bool> {
 protected:
  void Switch(const std::string& rule) {
    Crash();
    ASSERT_TRUE(options_.driver.scheduler.own_rules.Set(rule, GetParam()));
    Boot();
  }
  // Queues "owner" and "borrower" of the cohort "org", each with a LocalQueue of its name.
  void PutOrg(int owner_cpu, int borrower_cpu, const Json& preemption = Json::object()) {
    PutQueues(0);
    PutClusterQueue("owner", owner_cpu, {{"cohortName", "org"}, {"preemption", preemption}});
    PutClusterQueue("borrower", borrower_cpu, {{"cohortName", "org"}});
    for (const char* name : {"owner", "borrower"}) PutLocalQueue(name, name);
  }
  bool HasQuota(const std::string& name) const { return Is(name, api::kQuotaReserved); }
  static Json PodSets(int count, const char* cpu) {
    return {
        {{"name", "main"},
         {"count", count},
         {"template",
          {{"spec",
            {{"containers", {{{"name", "c"}, {"resources", {{"requests", {{"cpu", cpu}}}}}}}}}}}}}};
  }
};

TEST_P(OwnRuleSwitches, HoldUntilStoppedKeepsTheQuotaUntilPodsStop) {
  Switch("hold-until-stopped");
  PutQueues(4);
  PutWorkload("a", 4);
  Edit("a", [](Json& object) {
    object["metadata"]["ownerReferences"] = {
        {{"apiVersion", "batch/v1"}, {"kind", "Job"}, {"name", "j"}, {"uid", "u"}}};
  });
  executor_.RunFor(3s);
  PutWorkload("b", 4);
  Edit("a", [](Json& object) { object["spec"]["active"] = false; });
  executor_.RunFor(5s);
  EXPECT_EQ(HasQuota("b"), !GetParam()) << "the pods of a have not stopped";
}

TEST_P(OwnRuleSwitches, SpareTheSoonDoneWaitsForTheEndOfTheVictim) {
  Switch("spare-the-soon-done");
  PlayVictimThatEndsSoon();
  EXPECT_EQ(Is("victim", api::kEvicted), !GetParam());
}

TEST_P(OwnRuleSwitches, WakeWithoutLocalQueueWakesAfterItsDeletion) {
  Switch("wake-without-local-queue");
  PutQueues(4);
  PutLocalQueue("other", "cq");
  PutWorkload("a", 4, {{"queueName", "other"}});
  executor_.RunFor(3s);
  PutWorkload("b", 4);
  executor_.RunFor(3s);
  api_.Remove(std::string(kKueueRoot) + "namespaces/team/localqueues/other");
  executor_.RunFor(3s);
  ASSERT_FALSE(HasQuota("b"));
  Finish("a");
  executor_.RunFor(5s);
  EXPECT_EQ(HasQuota("b"), GetParam());
}

TEST_P(OwnRuleSwitches, WakeTheTreeLeftWakesTheCohortThatAQueueLeft) {
  Switch("wake-the-tree-left");
  PutOrg(4, 0);
  PutWorkload("a", 4, {{"queueName", "borrower"}});
  executor_.RunFor(3s);
  PutWorkload("b", 4, {{"queueName", "owner"}});
  executor_.RunFor(3s);
  ASSERT_FALSE(HasQuota("b"));
  PutClusterQueue("borrower", 0, {{"cohortName", "elsewhere"}});
  executor_.RunFor(5s);
  EXPECT_EQ(HasQuota("b"), GetParam()) << "a does not use the quota of org any more";
}

TEST_P(OwnRuleSwitches, PreemptorKeepsWhatItFreedAdmitsThePreemptor) {
  Switch("preemptor-keeps-what-it-freed");
  PutOrg(2, 2, {{"reclaimWithinCohort", "Any"}});
  PutWorkload("v", 4, {{"queueName", "borrower"}, {"priority", 5}});
  executor_.RunFor(3s);
  Json pod_sets = PodSets(4, "1");
  pod_sets[0]["minCount"] = 2;
  PutWorkload("p", 1, {{"queueName", "owner"}, {"podSets", pod_sets}});
  executor_.RunFor(3s);
  ASSERT_TRUE(Is("v", api::kEvicted));
  Release("v");
  executor_.RunFor(5s);
  EXPECT_EQ(HasQuota("p"), GetParam());
  EXPECT_EQ(HasQuota("v"), !GetParam()) << "it has the higher priority";
}

// The second name of the rule.
TEST_P(OwnRuleSwitches, OwnersBeforeReturningBorrowersAdmitsTheOwnersNextWorkload) {
  Switch("owners-before-returning-borrowers");
  PutOrg(4, 0, {{"reclaimWithinCohort", "Any"}});
  PutWorkload("v", 1, {{"queueName", "borrower"}});
  executor_.RunFor(3s);
  PutWorkload("first", 4, {{"queueName", "owner"}});
  executor_.RunFor(3s);
  Release("v");
  executor_.RunFor(3s);
  ASSERT_TRUE(HasQuota("first"));
  PutWorkload("second", 3, {{"queueName", "owner"}});
  executor_.RunFor(1s);
  PutWorkload("third", 1, {{"queueName", "owner"}});
  executor_.RunFor(3s);
  Finish("first");
  executor_.RunFor(5s);
  EXPECT_TRUE(HasQuota("second"));
  EXPECT_EQ(HasQuota("third"), GetParam());
  EXPECT_EQ(HasQuota("v"), !GetParam()) << "it is preempted a second time";
}

TEST_P(OwnRuleSwitches, OwnersBeforeBorrowersAdmitsTheOwnersNextHead) {
  Switch("owners-before-borrowers");
  PutOrg(4, 0, {{"reclaimWithinCohort", "Any"}});
  PutWorkload("running", 4, {{"queueName", "owner"}});
  executor_.RunFor(3s);
  PutWorkload("wide", 5, {{"queueName", "owner"}});
  executor_.RunFor(1s);
  PutWorkload("next", 1, {{"queueName", "owner"}});
  PutWorkload("b", 4, {{"queueName", "borrower"}});
  executor_.RunFor(3s);
  Finish("running");
  executor_.RunFor(5s);
  EXPECT_EQ(HasQuota("next"), GetParam());
  EXPECT_EQ(Is("b", api::kEvicted), !GetParam()) << "it is admitted, and preempted at once";
}

TEST_P(OwnRuleSwitches, VictimsForPodsPreemptsForTheQuotaOfPods) {
  Switch("victims-for-pods");
  Json resources = {{{"name", "cpu"}, {"nominalQuota", 4}},
                    {{"name", "pods"}, {"nominalQuota", 2}}};
  PutQueues(4, {{"preemption", {{"withinClusterQueue", "LowerPriority"}}},
                {"resourceGroups",
                 {{{"coveredResources", {"cpu", "pods"}},
                   {"flavors", {{{"name", "default"}, {"resources", resources}}}}}}}});
  PutWorkload("v1", 2);
  PutWorkload("v2", 2);
  executor_.RunFor(3s);
  ASSERT_TRUE(HasQuota("v1") && HasQuota("v2"));
  PutWorkload("p", 1, {{"priority", 9}, {"podSets", PodSets(2, "500m")}});
  executor_.RunFor(3s);
  const int victims = (Is("v1", api::kEvicted) ? 1 : 0) + (Is("v2", api::kEvicted) ? 1 : 0);
  EXPECT_EQ(victims == 2, GetParam()) << "one victim has enough CPUs, and one pod";
}

// Two borrowers get their quota in one second. The one with the smaller UID was preempted once.
TEST_P(OwnRuleSwitches, SpareThePreemptedEvictsTheOtherCandidate) {
  Switch("spare-the-preempted");
  PutOrg(2, 0, {{"reclaimWithinCohort", "Any"}});
  for (const char* name : {"a", "b"}) PutWorkload(name, 1, {{"queueName", "none-yet"}});
  const bool a_is_smaller = Get("a").meta.uid < Get("b").meta.uid;
  const std::string returned = a_is_smaller ? "a" : "b";
  const std::string fresh = a_is_smaller ? "b" : "a";
  const auto submit = [this](const std::string& name) {
    Edit(name, [](Json& object) { object["spec"]["queueName"] = "borrower"; });
  };
  submit(returned);
  executor_.RunFor(3s);
  PutWorkload("first", 2, {{"queueName", "owner"}});
  executor_.RunFor(3s);
  Release(returned);
  executor_.RunFor(3s);
  ASSERT_TRUE(HasQuota("first"));
  submit(fresh);
  Finish("first");
  executor_.RunFor(5s);
  ASSERT_TRUE(HasQuota(returned) && HasQuota(fresh));
  const auto at = [this](const std::string& name) {
    const auto conditions = Get(name).status.conditions;
    return api::FindCondition(conditions, api::kQuotaReserved)->last_transition_time;
  };
  ASSERT_EQ(at(returned), at(fresh));
  PutWorkload("second", 1, {{"queueName", "owner"}});
  executor_.RunFor(3s);
  EXPECT_EQ(Is(fresh, api::kEvicted), GetParam());
  EXPECT_EQ(Is(returned, api::kEvicted), !GetParam());
}

// A workload with two pod sets: "main" fits the first flavor, "rest" fits none, so that the scan of
// flavors goes on at the second one.
class ScanSwitches : public OwnRuleSwitches {
 protected:
  static constexpr int kInstants = 60;  // tasks in which all attempts of the scan happen

  void PutTwoFlavors(const Json& more = Json::object()) {
    const auto flavor = [](const char* name, int quota) {
      return Json{{"name", name}, {"resources", {{{"name", "cpu"}, {"nominalQuota", quota}}}}};
    };
    Put("resourceflavors", "second", Json::object());
    Json spec = {{"resourceGroups",
                  {{{"coveredResources", {"cpu"}},
                    {"flavors", {flavor("default", 5), flavor("second", 1)}}}}}};
    spec.update(more);
    PutQueues(0, spec);
  }
  void PutScanning(const char* rest) {
    Json pod_sets = PodSets(1, "2");
    pod_sets.push_back(PodSets(1, rest)[0]);
    pod_sets[1]["name"] = "rest";
    PutWorkload("w", 0, {{"podSets", pod_sets}});
  }
  void RunTasks(int count) {
    for (int i = 0; i < count; ++i) executor_.RunOne();
  }
};

// Quota of the first flavor comes free between two attempts.
TEST_P(ScanSwitches, RescanAfterChangesAdmitsAfterAReleaseDuringTheScan) {
  options_.driver.wake_up_batch = 0s;
  int waits = 0;
  for (int instant = 0; instant < kInstants; ++instant) {
    Switch("rescan-after-changes");
    PutTwoFlavors();
    PutWorkload("running", 3);
    executor_.RunFor(3s);
    ASSERT_TRUE(HasQuota("running"));
    PutScanning("3");
    RunTasks(instant);
    Finish("running");
    executor_.RunFor(10s);
    if (!HasQuota("w")) ++waits;
    for (const char* name : {"running", "w"}) api_.Remove(PathOf(name));
    executor_.RunFor(3s);
  }
  EXPECT_EQ(waits > 0, !GetParam()) << waits;
}

// The queue stops taking the workload's namespace between two attempts.
TEST_P(ScanSwitches, ParkHeadsNotTriedLetsTheNextWorkloadStart) {
  const Json selector = {{"namespaceSelector", {{"matchLabels", {{"takes", "this"}}}}}};
  const auto put_namespace = [this](const char* name, const char* takes) {
    api_.Put("/api/v1/namespaces",
             {{"metadata", {{"name", name}, {"labels", {{"takes", takes}}}}}});
  };
  const std::string other = std::string(kKueueRoot) + "namespaces/other/";
  int waits = 0;
  for (int instant = 0; instant < kInstants; ++instant) {
    Switch("park-heads-not-tried");
    PutTwoFlavors(selector);
    put_namespace("team", "this");
    put_namespace("other", "this");
    api_.Put(other + "localqueues",
             {{"metadata", {{"name", "lq"}}}, {"spec", {{"clusterQueue", "cq"}}}});
    executor_.RunFor(3s);
    PutScanning("9");
    RunTasks(instant);
    put_namespace("team", "that");
    executor_.RunFor(3s);
    api_.Put(other + "workloads", {{"metadata", {{"name", "next"}}},
                                   {"spec", {{"queueName", "lq"}, {"podSets", PodSets(1, "1")}}}});
    executor_.RunFor(10s);
    const auto next = api::Decode<api::Workload>(*api_.Find(other + "workloads/next"));
    if (!api::IsTrue(next->status.conditions, api::kQuotaReserved)) ++waits;
    for (const std::string& path : {other + "workloads/next", PathOf("w")}) api_.Remove(path);
    executor_.RunFor(3s);
  }
  EXPECT_EQ(waits > 0, !GetParam()) << waits;
}

INSTANTIATE_TEST_SUITE_P(Switched, OwnRuleSwitches, ::testing::Bool(),
                         [](const auto& row) { return std::string(row.param ? "On" : "Off"); });
INSTANTIATE_TEST_SUITE_P(Switched, ScanSwitches, ::testing::Bool(),
                         [](const auto& row) { return std::string(row.param ? "On" : "Off"); });

}  // namespace
}  // namespace berth::admission
