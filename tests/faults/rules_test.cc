// Goal: every rule of the simulation can be broken. Method: a history by hand for each rule of
// invariants.h, order_law.h and standing.h that faults_test.cc has none for; whole episodes with a
// saboteur for those of episode.h; and the headers' lists of rules against these tests.
#include <fstream>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/log/log.h"
#include "tests/faults/episode.h"
#include "tests/faults/rule_test.h"

namespace berth::sim {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

constexpr char kJobs[] = "jobs.batch";
constexpr char kAssigned[] = "/status/admission/podSetAssignments/0";

// ---- With every write.

TEST_F(RuleTest, DetectsChangedFlavorsOfAnAdmittedWorkload) {
  Put("resourceflavors.kueue.x-k8s.io", "", "g", Json::object());
  PutWorkload("w", "j", "1", true);
  Change(kWorkloads, "default", "w", std::string(kAssigned) + "/flavors/cpu", "g");
  EXPECT_EQ(Broken(), "flavors-changed");
}

TEST_F(RuleTest, DetectsAFinishedConditionThatIsUndone) {
  PutWorkload("w", "j", "1", true);
  Change(kWorkloads, "default", "w", "/status/conditions/-", Condition("Finished", true));
  EXPECT_EQ(Broken(), "");
  Change(kWorkloads, "default", "w", "/status/conditions/2/status", "False");
  EXPECT_EQ(Broken(), "finished-undone");
}

TEST_F(RuleTest, DetectsMorePodsThanAdmitted) {
  PutJob("j", false, 1);
  PutWorkload("w", "j", "1", true);
  PutPod("j-1", "j");
  EXPECT_EQ(Broken(), "");
  PutPod("j-2", "j");
  EXPECT_EQ(Broken(), "too-many-pods");
}

TEST_F(RuleTest, AllowsAJobThatAUserWidenedUpToItsParallelism) {
  PutJob("j", false, 1);
  PutWorkload("w", "j", "1", true);
  actor_ = Invariants::Actor::kStory;
  Change(kJobs, "default", "j", "/spec/parallelism", 2);
  actor_ = Invariants::Actor::kPrograms;
  PutPod("j-1", "j");
  PutPod("j-2", "j");
  EXPECT_EQ(Broken(), "");
  for (const char* name : {"j-3", "j-4", "j-5"}) PutPod(name, "j");
  EXPECT_EQ(Broken(), "too-many-pods");
}

TEST_F(RuleTest, DetectsAJobStartedWiderThanAdmitted) {
  PutJob("j", true);
  Change(kJobs, "default", "j", "/spec/parallelism", 3);
  PutWorkload("w", "j", "1", true);
  Change(kJobs, "default", "j", "/spec/suspend", false);
  EXPECT_EQ(Broken(), "started-too-wide");
}

TEST_F(RuleTest, CompletionsBoundTheWidthOfAJob) {
  PutJob("j", true);
  Change(kJobs, "default", "j", "/spec/parallelism", 3);
  Change(kJobs, "default", "j", "/spec/completions", 1);
  PutWorkload("w", "j", "1", true);
  Change(kJobs, "default", "j", "/spec/suspend", false);
  EXPECT_EQ(Broken(), "");
}

TEST_F(RuleTest, SucceededCompletionsReduceTheWidthOfAJob) {
  PutJob("j", true);
  Change(kJobs, "default", "j", "/spec/parallelism", 2);
  Change(kJobs, "default", "j", "/spec/completions", 3);
  Change(kJobs, "default", "j", "/status/succeeded", 2);
  PutWorkload("w", "j", "1", true);
  Change(kJobs, "default", "j", "/spec/suspend", false);
  EXPECT_EQ(Broken(), "");
}

TEST_F(RuleTest, CountsUsageFromRequestsNotFromTheAdmission) {
  PutWorkload("a", "j", "3", true);
  PutWaiting("b", "2", 0, 1);
  GiveQuota("b", "1");
  EXPECT_EQ(Broken(), "quota-exceeded");
}

// A slice of four pods, one of them reclaimable, shrinks to one pod and takes that one back.
TEST_F(RuleTest, AllowsAReservationOnPodsThatWereJustReclaimable) {
  PutWaiting("slice", "1", 0, 1);
  Change(kWorkloads, "default", "slice", "/metadata/annotations",
         {{"kueue.x-k8s.io/elastic-job", "true"}});
  Change(kWorkloads, "default", "slice", "/spec/podSets/0/count", 4);
  Json admission = AdmissionOf("4");
  admission["podSetAssignments"][0]["count"] = 4;
  Change(kWorkloads, "default", "slice", "/status",
         {{"conditions", {Condition("QuotaReserved", true)}}, {"admission", admission}});
  Change(kWorkloads, "default", "slice", "/status/reclaimablePods",
         {{{"name", "main"}, {"count", 1}}});
  Change(kWorkloads, "default", "slice", "/spec/podSets/0/count", 1);
  Change(kWorkloads, "default", "slice", "/status/reclaimablePods", Json::array());
  PutWaiting("other", "4", 0, 1);
  GiveQuota("other", "4");
  EXPECT_EQ(Broken(), "");
  Delete(kWorkloads, "default", "other");
  now_ += seconds(3);
  PutWaiting("other", "4", 0, 1);
  GiveQuota("other", "4");
  EXPECT_EQ(Broken(), "quota-exceeded");
}

TEST_F(RuleTest, DetectsAnAdmissionWithOtherAmountsThanRequested) {
  PutWorkload("w", "j", "1", true);
  EXPECT_EQ(Broken(), "");
  Change(kWorkloads, "default", "w", std::string(kAssigned) + "/resourceUsage/cpu", "500m");
  EXPECT_EQ(Broken(), "wrong-usage");
}

TEST_F(RuleTest, AllowsAmountsThatALimitRangeAdds) {
  Put("limitranges", "default", "defaults",
      {{"spec", {{"limits", {{{"max", {{"memory", "2"}}}}}}}}});
  PutWorkload("w", "j", "1", true);
  Change(kWorkloads, "default", "w", std::string(kAssigned) + "/flavors/memory", "f");
  Change(kWorkloads, "default", "w", std::string(kAssigned) + "/resourceUsage/memory", "2");
  EXPECT_EQ(Broken(), "");
  Change(kWorkloads, "default", "w", std::string(kAssigned) + "/resourceUsage/cpu", "500m");
  EXPECT_EQ(Broken(), "wrong-usage");
}

// ---- Order.

TEST_F(RuleTest, DetectsAWorkloadAdmittedBeforeAStrictHead) {
  Change(kQueues, "", "cq", "/spec/queueingStrategy", "StrictFIFO");
  PutWaiting("head", "9", 0, 1);
  now_ += seconds(3);
  PutWaiting("small", "1", 0, 2);
  GiveQuotaAndSettle("small", "1");
  EXPECT_EQ(Broken(), "") << "the head may have come too late";
  now_ += seconds(3);
  PutWaiting("small2", "1", 0, 2);
  GiveQuotaAndSettle("small2", "1");
  EXPECT_EQ(Broken(), "strict-order");
  EXPECT_THAT(invariants_.violation()->text, HasSubstr("default/head"));
}

TEST_F(RuleTest, AllowsAStrictHeadToBeWrittenJustAfterTheNextOne) {
  Change(kQueues, "", "cq", "/spec/queueingStrategy", "StrictFIFO");
  PutWaiting("head", "1", 0, 1);
  now_ += seconds(6);
  PutWaiting("small", "1", 0, 2);
  GiveQuota("small", "1");
  now_ += std::chrono::milliseconds(2);
  GiveQuotaAndSettle("head", "1");
  EXPECT_EQ(Broken(), "");
}

TEST_F(RuleTest, QueueWithDeadlinesMustKeepOnlyPriorities) {
  Change(kQueues, "", "cq", "/spec/queueingStrategy", "StrictFIFO");
  Change(kQueues, "", "cq", "/metadata/annotations", {{"berth.dev/deadlines", "10s"}});
  PutWaiting("older", "1", 0, 1);
  PutWaiting("younger", "1", 0, 2);
  now_ += seconds(6);
  GiveQuotaAndSettle("younger", "1");
  EXPECT_EQ(Broken(), "") << "the younger one may have the nearer deadline";
  PutWaiting("urgent", "1", 10, 3);
  PutWaiting("patient", "1", 0, 4);
  now_ += seconds(6);
  GiveQuotaAndSettle("patient", "1");
  EXPECT_EQ(Broken(), "strict-order");
}

TEST_F(RuleTest, DetectsAHigherPriorityPassedOverForEqualAmounts) {
  PutWaiting("urgent", "2", 10, 2);
  PutWaiting("wide", "3", 100, 1);
  PutWaiting("small", "1", 0, 1);
  PutWaiting("same", "2", 0, 1);
  now_ += seconds(6);
  GiveQuotaAndSettle("small", "1");
  EXPECT_EQ(Broken(), "") << "what it got is too little for the others";
  GiveQuotaAndSettle("same", "2");
  EXPECT_EQ(Broken(), "priority-order");
  EXPECT_THAT(invariants_.violation()->text, HasSubstr("default/urgent"));
}

TEST_F(RuleTest, AllowsAParkedWorkloadToMissPodsThatJustBecameReclaimable) {
  PutWorkload("running", "job-running", "2", true);
  PutWaiting("urgent", "1", 10, 1);
  PutWaiting("same", "1", 0, 1);
  now_ += seconds(6);
  Change(kWorkloads, "default", "running", "/status/reclaimablePods",
         {{{"name", "main"}, {"count", 1}}});
  now_ += seconds(1);
  GiveQuotaAndSettle("same", "1");
  EXPECT_EQ(Broken(), "");
}

TEST_F(RuleTest, WorkloadThatALimitRangeEnlargesIsNotComparedByPriority) {
  PutWaiting("urgent", "2", 10, 2);
  PutWaiting("same", "2", 0, 1);
  Put("limitranges", "default", "defaults",
      {{"spec", {{"limits", {{{"defaultRequest", {{"example.com/licence", "1"}}}}}}}}});
  now_ += seconds(6);
  GiveQuotaAndSettle("same", "2");
  EXPECT_EQ(Broken(), "");
}

TEST_F(RuleTest, MisconfiguredHeadDoesNotBlockAStrictQueue) {
  Change(kQueues, "", "cq", "/spec/queueingStrategy", "StrictFIFO");
  PutWaiting("head", "9", 0, 1);
  Json condition = Condition("QuotaReserved", false);
  condition["reason"] = "Misconfigured";
  Change(kWorkloads, "default", "head", "/status/conditions/-", condition);
  now_ += seconds(6);
  PutWaiting("small", "1", 0, 2);
  GiveQuotaAndSettle("small", "1");
  EXPECT_EQ(Broken(), "");
}

// ---- Victims. The preemptor waits in cq; cq and cq2 have 4 CPUs each.

struct VictimRow {
  const char* name;
  const char* reason;
  Json policy;  // the policy of cq
  const char* victims_queue;
  const char* victims_cpu;
  int victims_priority;  // the preemptor's is 10
  const char* broken;
};

class VictimTest : public RuleTest, public ::testing::WithParamInterface<VictimRow> {};

TEST_P(VictimTest, UnlawfulVictimIsDetected) {
  const VictimRow& row = GetParam();
  Json spec = QueueSpec("4");
  spec["cohortName"] = "team";
  Put(kQueues, "", "cq2", {{"spec", spec}});
  spec["preemption"] = row.policy;
  Put(kQueues, "", "cq", {{"spec", spec}});
  PutWaiting("preemptor", "4", 10, 1);
  PutWaiting("victim", row.victims_cpu, row.victims_priority, 0);
  now_ += seconds(5);
  GiveQuota("victim", row.victims_cpu);
  Change(kWorkloads, "default", "victim", "/status/admission/clusterQueue", row.victims_queue);
  EXPECT_EQ(Broken(), "");
  Json condition = Condition("Preempted", true);
  condition["reason"] = row.reason;
  condition["message"] =
      "Preempted to accommodate a workload (UID: uid-of-preemptor, JobUID: x) due to …";
  Change(kWorkloads, "default", "victim", "/status/conditions/-", condition);
  EXPECT_EQ(Broken(), row.broken);
}

constexpr char kUnlawful[] = "unlawful-victim";
const Json kWithinLower{{"withinClusterQueue", "LowerPriority"}};
const Json kReclaimAny{{"reclaimWithinCohort", "Any"}};
const Json kReclaimLower{{"reclaimWithinCohort", "LowerPriority"}};
const Json kBorrow{
    {"reclaimWithinCohort", "Any"},
    {"borrowWithinCohort", {{"policy", "LowerPriority"}, {"maxPriorityThreshold", 5}}}};

INSTANTIATE_TEST_SUITE_P(
    Rows, VictimTest,
    ::testing::Values(
        VictimRow{"Within", "InClusterQueue", kWithinLower, "cq", "1", 1, ""},
        VictimRow{"WithinNever", "InClusterQueue", Json::object(), "cq", "1", 1, kUnlawful},
        VictimRow{"WithinEqual", "InClusterQueue", kWithinLower, "cq", "1", 10, kUnlawful},
        VictimRow{"SliceEqual", "TimeSliceExpired", Json::object(), "cq", "1", 10, ""},
        VictimRow{"SliceLower", "TimeSliceExpired", Json::object(), "cq", "1", 1, kUnlawful},
        VictimRow{"SliceElsewhere", "TimeSliceExpired", Json::object(), "cq2", "1", 10, kUnlawful},
        VictimRow{"WithinElsewhere", "InClusterQueue", kWithinLower, "cq2", "1", 1, kUnlawful},
        VictimRow{"Reclaim", "InCohortReclamation", kReclaimAny, "cq2", "5", 99, ""},
        VictimRow{"ReclaimNever", "InCohortReclamation", kWithinLower, "cq2", "5", 1, kUnlawful},
        VictimRow{"ReclaimItsOwn", "InCohortReclamation", kReclaimAny, "cq2", "4", 1, kUnlawful},
        VictimRow{"ReclaimHigher", "InCohortReclamation", kReclaimLower, "cq2", "5", 10, kUnlawful},
        VictimRow{"ReclaimHere", "InCohortReclamation", kReclaimAny, "cq", "5", 1, kUnlawful},
        VictimRow{"Fair", "InCohortFairSharing", kReclaimAny, "cq2", "5", 99, ""},
        VictimRow{"FairItsOwn", "InCohortFairSharing", kReclaimAny, "cq2", "4", 1, kUnlawful},
        VictimRow{"Borrow", "InCohortReclaimWhileBorrowing", kBorrow, "cq2", "5", 5, ""},
        VictimRow{"BorrowNever", "InCohortReclaimWhileBorrowing", kReclaimAny, "cq2", "5", 1,
                  kUnlawful},
        VictimRow{"BorrowAbove", "InCohortReclaimWhileBorrowing", kBorrow, "cq2", "5", 6,
                  kUnlawful}),
    [](const auto& row) { return row.param.name; });

// ---- Transient states.

TEST_F(RuleTest, DetectsAJobThatRunsWithoutAdmission) {
  PutJob("j", false, 1);
  PutWorkload("w", "j", "", false);
  Change(kWorkloads, "default", "w", "/spec/active", false);
  LookForLong();
  EXPECT_EQ(Broken(), "runs-unadmitted");
}

TEST_F(RuleTest, DetectsAStoppedJobWithAChangedTemplate) {
  PutJob("j", true);
  standing_.OnJobMade(invariants_.truth().jobs().at({"default", "j"}));
  Change(kJobs, "default", "j", "/spec/template/spec/nodeSelector", {{"pool", "other"}});
  LookForLong();
  EXPECT_EQ(Broken(), "template-changed");
}

TEST_F(RuleTest, DetectsAFinishedJobWithAnUnfinishedWorkload) {
  PutJob("j", true);
  Change(kJobs, "default", "j", "/status/conditions", Json::array({Condition("Complete", true)}));
  PutWorkload("w", "j", "", false);
  Change(kWorkloads, "default", "w", "/spec/active", false);
  LookForLong();
  EXPECT_EQ(Broken(), "not-finished");
}

TEST_F(RuleTest, DetectsARequestOfAnInactiveWorkload) {
  PutWorkload("w", "j", "", false);
  Change(kWorkloads, "default", "w", "/spec/active", false);
  Put("provisioningrequests.autoscaling.x-k8s.io", "default", "w-prov-1",
      {{"metadata",
        {{"ownerReferences",
          {{{"kind", "Workload"}, {"name", "w"}, {"uid", "uid-of-w"}, {"controller", true}}}}}}});
  LookForLong();
  EXPECT_EQ(Broken(), "leaked");
}

TEST_F(RuleTest, DetectsAWorkloadThatWaitsBesideFreeQuota) {
  PutWaiting("w", "4", 0, 1);
  LookForLong();
  EXPECT_EQ(Broken(), "waits-for-nothing");
}

TEST_F(RuleTest, AllowsAWorkloadToWaitWhileItAvoidsItsFlavors) {
  PutWaiting("w", "4", 0, 1);
  PutWaiting("v", "4", 0, 2);
  Change(kQueues, "", "cq", "/status/pendingWorkloads", 2);
  Change("localqueues.kueue.x-k8s.io", "default", "q", "/status", {{"pendingWorkloads", 2}});
  constexpr char kAnnotations[] = "/metadata/annotations";
  Change(kWorkloads, "default", "w", kAnnotations, {{"berth.dev/avoided-flavors", "f"}});
  Change(kWorkloads, "default", "v", kAnnotations, {{"berth.dev/reactive-avoided-flavors", "f"}});
  LookForLong();
  EXPECT_EQ(Broken(), "");
}

TEST_F(RuleTest, DetectsAWrongPendingCount) {
  PutWaiting("w", "5", 0, 1);
  Change(kQueues, "", "cq", "/status/pendingWorkloads", 7);
  LookForLong();
  EXPECT_EQ(Broken(), "wrong-count");
}

TEST_F(RuleTest, DetectsAWaitingWorkloadWithoutAReason) {
  PutWaiting("w", "50", 0, 1);
  standing_.LookAtRest(admission::Scheduler(admission::SchedulerConfig{}));
  EXPECT_EQ(Broken(), "unexplained");
}

TEST_F(RuleTest, DetectsAReasonWithoutAnExplanation) {
  PutWaiting("w", "50", 0, 1);
  Json reserved = Condition("QuotaReserved", false);
  reserved["reason"] = "ExceedsMaxQuota";
  Change(kWorkloads, "default", "w", "/status/conditions", Json::array({reserved}));
  standing_.LookAtRest(admission::Scheduler(admission::SchedulerConfig{}));
  EXPECT_EQ(Broken(), "unexplained");
}

TEST_F(RuleTest, DetectsASchedulerStateThatDiffersFromTheObjects) {
  admission::Scheduler core{admission::SchedulerConfig{}};
  api::ClusterQueue queue;
  queue.meta.name = "cq";
  core.Apply(queue);
  PutWaiting("w", "3", 0, 1);
  GiveQuota("w", "3");
  Change(kQueues, "", "cq", "/status",
         {{"reservingWorkloads", 1},
          {"flavorsReservation",
           {{{"name", "f"}, {"resources", {{{"name", "cpu"}, {"total", "3"}}}}}}}});
  Change("localqueues.kueue.x-k8s.io", "default", "q", "/status",
         (*store_->GetLatest({kQueues, "", "cq"})->json())["status"]);
  LookForLong();
  EXPECT_EQ(Broken(), "") << "without a core to ask";
  LookForLong(&core);
  EXPECT_EQ(Broken(), "core-differs");
}

// ---- At the end of an episode.

Story ShortStory() {
  Story story;
  story.seed = 7;
  story.setup = {"node n cpu=64 label=pool=f", "flavor f label=pool=f", "cluster-queue cq f/cpu=2",
                 "cluster-queue cq2 f/cpu=2", "local-queue q -> cq"};
  story.events = {{seconds(1), "job a queue=q cpu=2 runs=20s"}};
  story.length = seconds(10);
  return story;
}

std::string RuleBrokenIn(const Story& story,
                         std::function<Fault(const kube::ApiRequest&)> saboteur = nullptr) {
  const Outcome outcome = Play(story, {.saboteur = std::move(saboteur)});
  return outcome.violation ? outcome.violation->rule : "";
}

// Prevents the removal of cq2's finalizer.
Fault KeepTheFinalizer(const kube::ApiRequest& request) {
  const bool concerned = request.method != "GET" &&
                         request.path.find("/clusterqueues/cq2") != std::string::npos &&
                         request.path.find("/status") == std::string::npos;
  const bool adds =
      request.body != nullptr && request.body->dump().find("-in-use") != std::string::npos;
  return concerned && !adds ? Fault::kServerError : Fault::kNone;
}

TEST(EpisodeRuleTest, DetectsAnObjectStuckInDeletion) {
  Story story = ShortStory();
  EXPECT_EQ(RuleBrokenIn(story), "");
  story.events.push_back({seconds(5), "delete clusterqueue cq2"});
  EXPECT_EQ(RuleBrokenIn(story), "");
  EXPECT_EQ(RuleBrokenIn(story, KeepTheFinalizer), "stuck");
}

TEST(EpisodeRuleTest, DetectsAnObjectLeftAtTheEnd) {
  EXPECT_EQ(RuleBrokenIn(ShortStory(), KeepTheFinalizer), "left-over");
}

TEST(EpisodeRuleTest, DetectsAWriteInTheQuietPeriod) {
  Story story = ShortStory();
  story.events[0].line += " ttl=600";  // the Job is deleted ten minutes after its end
  EXPECT_EQ(RuleBrokenIn(story), "restless");
}

// The status of cq2 is refused until the controllers restart: their first list came before.
TEST(EpisodeRuleTest, DetectsAWriteAfterARestart) {
  const auto lists = std::make_shared<int>(0);
  const auto refuse = [lists](const kube::ApiRequest& request) {
    const auto has = [&](const char* part) { return request.path.find(part) != std::string::npos; };
    if (request.method == "GET" && has("/clusterqueues") && !has("watch=")) ++*lists;
    const bool concerned = request.method != "GET" && has("/clusterqueues/cq2/status");
    return concerned && *lists < 1 ? Fault::kServerError : Fault::kNone;
  };
  EXPECT_EQ(RuleBrokenIn(ShortStory(), refuse), "restart-writes");
}

// ---- The lists of rules.

std::string TextOf(const std::string& name) {
  std::ifstream file(std::string(BERTH_SOURCE_FOLDER) + "/tests/faults/" + name);
  EXPECT_TRUE(file) << name;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// "//   quota-exceeded  quota is …" → quota-exceeded
std::string RuleOf(const std::string& line) {
  constexpr std::string_view kBefore = "//   ";
  if (line.rfind(kBefore, 0) != 0) return "";
  const std::string name =
      line.substr(kBefore.size(), line.find(' ', kBefore.size()) - kBefore.size());
  const bool is_name = name.find('-') != std::string::npos || name == "stuck" || name == "leaked" ||
                       name == "restless";
  return is_name && name.find_first_not_of("abcdefghijklmnopqrstuvwxyz-") == std::string::npos
             ? name
             : "";
}

TEST(RulesTest, EveryRuleIsBrokenByATest) {
  const std::string tests = TextOf("faults_test.cc") + TextOf("rules_test.cc") +
                            TextOf("fair_order_test.cc") + TextOf("play_rules_test.cc") +
                            TextOf("policy_rules_test.cc");
  std::set<std::string> rules;
  for (const char* header :
       {"invariants.h", "fair_order.h", "order_law.h", "standing.h", "episode.h", "pod_play.h",
        "jobset_play.h", "dask_play.h", "policy_play.h"}) {
    std::istringstream lines(TextOf(header));
    for (std::string line; std::getline(lines, line);) {
      if (const std::string rule = RuleOf(line); !rule.empty()) rules.insert(rule);
    }
  }
  EXPECT_GE(rules.size(), 38U);
  for (const std::string& rule : rules) {
    EXPECT_NE(tests.find('"' + rule + '"'), std::string::npos) << rule << " is broken by no test";
  }
}

}  // namespace
}  // namespace berth::sim

int main(int argc, char** argv) {
  berth::ConfigureLog(berth::LogLevel::kError);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
