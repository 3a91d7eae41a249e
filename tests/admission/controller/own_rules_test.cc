// Goal: Berth's own rules are switched in the controller by the names of the configuration.
// Method: each rule in a story of real controllers whose end it changes, with the rule and without;
// tests/admission has the same rules on the core alone.
#include "admission/own_rules.h"

#include "tests/admission/controller/admission_fixture.h"

namespace berth::admission {
namespace {

class OwnRuleSwitches : public AdmissionFixture, public ::testing::WithParamInterface<bool> {
 protected:
  void Switch(const std::string& rule) {
    Crash();
    ASSERT_TRUE(options_.scheduler.own_rules.Set(rule, GetParam()));
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
  void Finish(const std::string& name) { SetConditionOf(name, api::kFinished, true, "Succeeded"); }
  static Json PodSets(int count, const char* cpu) {
    return {
        {{"name", "main"},
         {"count", count},
         {"template",
          {{"spec",
            {{"containers", {{{"name", "c"}, {"resources", {{"requests", {{"cpu", cpu}}}}}}}}}}}}}};
  }
};

TEST_P(OwnRuleSwitches, HoldUntilStopped) {
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

TEST_P(OwnRuleSwitches, WakeWithoutLocalQueue) {
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

TEST_P(OwnRuleSwitches, WakeTheTreeLeft) {
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

TEST_P(OwnRuleSwitches, PreemptorKeepsWhatItFreed) {
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

TEST_P(OwnRuleSwitches, OwnersBeforeReturningBorrowers) {
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

TEST_P(OwnRuleSwitches, VictimsForPods) {
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

INSTANTIATE_TEST_SUITE_P(Switched, OwnRuleSwitches, ::testing::Bool(),
                         [](const auto& row) { return std::string(row.param ? "On" : "Off"); });

}  // namespace
}  // namespace berth::admission
