// Goal: every decision of the Job controller, one Job at a time.
// Method: each test writes a Job and its pods and reads the plan; no clock, no API.
#include "local/cluster/jobs/job_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rfc3339.h"
#include "local/cluster/jobs/job_tally.h"
#include "local/cluster/objects/fields.h"

namespace berth::local::cluster {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const WallTime kNow = *ParseTime("2026-11-20T08:00:00Z");

Json MakeJob(const Json& spec) {
  Json job = Json::parse(R"({"apiVersion": "batch/v1", "kind": "Job",
      "metadata": {"name": "j", "namespace": "default", "uid": "job-uid"},
      "spec": {"parallelism": 1, "completions": 1, "backoffLimit": 6, "suspend": false,
               "template": {"metadata": {"labels": {"app": "x"}},
                            "spec": {"containers": [{"name": "c", "image": "i"}],
                                     "restartPolicy": "Never"}}},
      "status": {}})");
  if (spec.is_object()) job["spec"].merge_patch(spec);
  return job;
}

struct PodOptions {
  std::string phase = "Running";
  bool tracked = true;
  bool deleting = false;
  int index = -1;
  int exit_code = 1;
  int restarts = 0;
  std::string finished_at = "2026-11-20T07:59:59Z";
};

Object MakePod(const std::string& name, const PodOptions& options) {
  Json pod = {{"metadata", {{"name", name}, {"namespace", "default"}, {"uid", name + "-uid"}}},
              {"spec", {{"nodeName", "n"}}},
              {"status", {{"phase", options.phase}}}};
  pod["metadata"]["creationTimestamp"] = "2026-11-20T07:00:00Z";
  if (options.tracked) {
    pod["metadata"]["finalizers"] = Json::array({std::string(kJobTrackingFinalizer)});
  }
  if (options.deleting) pod["metadata"]["deletionTimestamp"] = "2026-11-20T07:59:30Z";
  if (options.index >= 0) {
    pod["metadata"]["annotations"][std::string(kCompletionIndexKey)] =
        std::to_string(options.index);
  }
  Json container = {{"name", "c"}, {"restartCount", options.restarts}};
  if (options.phase == "Failed" || options.phase == "Succeeded") {
    container["state"]["terminated"] = {
        {"exitCode", options.phase == "Failed" ? options.exit_code : 0},
        {"finishedAt", options.finished_at}};
  }
  pod["status"]["containerStatuses"] = Json::array({container});
  return std::make_shared<const Json>(std::move(pod));
}

JobView MakeView(Json job, const std::vector<Object>& pods) {
  JobView view;
  view.job = std::make_shared<const Json>(std::move(job));
  for (const Object& pod : pods) view.pods.push_back(ViewPod(pod));
  return view;
}

std::string StatusOf(const JobPlan& plan, const std::string& type) {
  if (!plan.status) return "no status";
  const Json job = {{"status", *plan.status}};
  const Json* condition = FindCondition(job, type);
  if (condition == nullptr) return "none";
  return StringAt(*condition, {"status"}) + "/" + StringAt(*condition, {"reason"});
}

TEST(JobPlanTest, FirstSyncSetsTheStartTimeAndCreatesPods) {
  const JobPlan plan = PlanJob(MakeView(MakeJob({}), {}), kNow);
  ASSERT_THAT(plan.create, SizeIs(1));
  const Json& pod = plan.create[0];
  EXPECT_EQ(pod["metadata"]["generateName"], "j-");
  EXPECT_EQ(pod["metadata"]["labels"]["app"], "x");
  EXPECT_EQ(pod["metadata"]["ownerReferences"][0]["uid"], "job-uid");
  EXPECT_TRUE(HasFinalizer(pod, kJobTrackingFinalizer));
  EXPECT_EQ(*plan.status, Json::parse(R"({"startTime": "2026-11-20T08:00:00Z", "active": 1,
      "ready": 0, "terminating": 0, "uncountedTerminatedPods": {}})"));
}

TEST(JobPlanTest, SuspendedJobGetsConditionAndNoStartTime) {
  const JobPlan plan = PlanJob(MakeView(MakeJob({{"suspend", true}}), {}), kNow);
  EXPECT_THAT(plan.create, IsEmpty());
  EXPECT_EQ(StatusOf(plan, "Suspended"), "True/JobSuspended");
  EXPECT_FALSE(plan.status->contains("startTime"));
  EXPECT_THAT(plan.events,
              ElementsAre(PlannedEvent{EventType::kNormal, "Suspended", "Job suspended"}));
}

TEST(JobPlanTest, SuspendingDiscardsPodsWithoutCountingThem) {
  Json job = MakeJob({{"suspend", true}});
  job["status"]["startTime"] = "2026-11-20T07:00:00Z";
  const JobPlan plan = PlanJob(MakeView(job, {MakePod("a", {})}), kNow);
  EXPECT_THAT(plan.discard, ElementsAre(0));
  EXPECT_THAT(plan.release, IsEmpty());
  EXPECT_FALSE(plan.status->contains("startTime"));
  EXPECT_FALSE(plan.status->contains("failed"));
  EXPECT_EQ((*plan.status)["terminating"], 1);
}

TEST(JobPlanTest, ResumedJobGetsANewStartTime) {
  Json job = MakeJob({{"activeDeadlineSeconds", 10}});
  SetCondition(job["status"], {"Suspended", "True", "JobSuspended", "Job suspended"}, kNow);
  const JobPlan plan = PlanJob(MakeView(job, {}), kNow);
  EXPECT_EQ(StatusOf(plan, "Suspended"), "False/JobResumed");
  EXPECT_EQ((*plan.status)["startTime"], "2026-11-20T08:00:00Z");
  EXPECT_THAT(plan.create, SizeIs(1));
  EXPECT_EQ(plan.look_again, kNow + std::chrono::seconds(10));
}

TEST(JobPlanTest, SuccessIsCountedInTwoPhases) {
  Json job = MakeJob({});
  job["status"]["startTime"] = "2026-11-20T07:00:00Z";
  JobPlan plan = PlanJob(MakeView(job, {MakePod("a", {.phase = "Succeeded"})}), kNow);
  EXPECT_EQ((*plan.status)["uncountedTerminatedPods"]["succeeded"], Json::array({"a-uid"}));
  EXPECT_EQ(StatusOf(plan, "SuccessCriteriaMet"), "True/CompletionsReached");
  EXPECT_EQ(StatusOf(plan, "Complete"), "none");
  EXPECT_THAT(plan.release, ElementsAre(0));
  // A crash before the finalizer went: the same plan, without counting again.
  job["status"] = *plan.status;
  plan = PlanJob(MakeView(job, {MakePod("a", {.phase = "Succeeded"})}), kNow);
  EXPECT_FALSE(plan.status);
  EXPECT_THAT(plan.release, ElementsAre(0));
  plan = PlanJob(MakeView(job, {MakePod("a", {.phase = "Succeeded", .tracked = false})}), kNow);
  EXPECT_EQ((*plan.status)["succeeded"], 1);
  EXPECT_EQ((*plan.status)["uncountedTerminatedPods"], Json::object());
  EXPECT_EQ(StatusOf(plan, "Complete"), "True/CompletionsReached");
  EXPECT_EQ((*plan.status)["completionTime"], "2026-11-20T08:00:00Z");
  EXPECT_THAT(plan.events,
              ElementsAre(PlannedEvent{EventType::kNormal, "Completed", "Job completed"}));
}

TEST(JobPlanTest, FailureWaitsBeforeTheNextPod) {
  Json job = MakeJob({});
  job["status"]["startTime"] = "2026-11-20T07:00:00Z";
  const JobPlan plan = PlanJob(MakeView(job, {MakePod("a", {.phase = "Failed"})}), kNow);
  EXPECT_THAT(plan.create, IsEmpty());
  EXPECT_EQ(plan.look_again, *ParseTime("2026-11-20T08:00:09Z"));
  const JobPlan later =
      PlanJob(MakeView(job, {MakePod("a", {.phase = "Failed"}), MakePod("b", {.phase = "Failed"})}),
              *ParseTime("2026-11-20T08:00:20Z"));
  EXPECT_THAT(later.create, SizeIs(1)) << "20 s after the second failure";
}

TEST(JobPlanTest, DisruptedPodIsReplacedAtOnce) {
  Json job = MakeJob({});
  job["status"]["startTime"] = "2026-11-20T07:00:00Z";
  Json lost = *MakePod("a", {.phase = "Failed"});
  SetCondition(lost["status"], {"DisruptionTarget", "True", "NodeLost", ""}, kNow);
  const JobPlan plan =
      PlanJob(MakeView(job, {std::make_shared<const Json>(std::move(lost))}), kNow);
  EXPECT_THAT(plan.create, SizeIs(1));
  EXPECT_EQ((*plan.status)["uncountedTerminatedPods"]["failed"], Json::array({"a-uid"}));
}

TEST(JobPlanTest, BackoffLimitEndsTheJob) {
  Json job = MakeJob({{"backoffLimit", 0}, {"parallelism", 2}, {"completions", 2}});
  job["status"]["startTime"] = "2026-11-20T07:00:00Z";
  JobPlan plan =
      PlanJob(MakeView(job, {MakePod("a", {.phase = "Failed"}), MakePod("b", {})}), kNow);
  EXPECT_EQ(StatusOf(plan, "FailureTarget"), "True/BackoffLimitExceeded");
  EXPECT_EQ(StatusOf(plan, "Failed"), "none");
  EXPECT_THAT(plan.remove, ElementsAre(1));
  job["status"] = *plan.status;
  plan = PlanJob(MakeView(job, {MakePod("a", {.phase = "Failed", .tracked = false})}), kNow);
  EXPECT_EQ(StatusOf(plan, "Failed"), "True/BackoffLimitExceeded");
  EXPECT_EQ((*plan.status)["failed"], 2) << "what was still running counts as failed";
  EXPECT_THAT(plan.events,
              ElementsAre(PlannedEvent{EventType::kWarning, "BackoffLimitExceeded",
                                       "Job has reached the specified backoff limit"}));
}

TEST(JobPlanTest, TerminalConditionWaitsForTerminatingPods) {
  Json job = MakeJob({{"backoffLimit", 0}});
  job["status"]["startTime"] = "2026-11-20T07:00:00Z";
  SetCondition(job["status"], {"FailureTarget", "True", "BackoffLimitExceeded", "m"}, kNow);
  const JobPlan plan =
      PlanJob(MakeView(job, {MakePod("a", {.tracked = false, .deleting = true})}), kNow);
  EXPECT_EQ(StatusOf(plan, "Failed"), "none");
  EXPECT_EQ((*plan.status)["terminating"], 1);
}

TEST(JobPlanTest, DeadlineEndsTheJob) {
  Json job = MakeJob({{"activeDeadlineSeconds", 60}});
  job["status"]["startTime"] = "2026-11-20T07:59:00Z";
  const JobPlan plan = PlanJob(MakeView(job, {MakePod("a", {})}), kNow);
  EXPECT_EQ(StatusOf(plan, "FailureTarget"), "True/DeadlineExceeded");
  EXPECT_THAT(plan.remove, ElementsAre(0));
}

// Added to a time, so many seconds would overflow into the past.
TEST(JobPlanTest, AnEndlessDeadlineDoesNotEndTheJob) {
  for (const std::int64_t seconds : {INT64_MAX, INT64_MAX / 1'000'000, INT64_MAX - 1}) {
    Json job = MakeJob({{"activeDeadlineSeconds", seconds}});
    job["status"]["startTime"] = "2026-11-20T07:59:00Z";
    const JobPlan plan = PlanJob(MakeView(job, {MakePod("a", {})}), kNow);
    EXPECT_EQ(StatusOf(plan, "FailureTarget"), "none") << seconds;
    EXPECT_THAT(plan.remove, ElementsAre()) << seconds;
  }
}

TEST(JobPlanTest, RestartsInPlaceCountAgainstTheLimit) {
  Json job = MakeJob({{"backoffLimit", 2}});
  job["spec"]["template"]["spec"]["restartPolicy"] = "OnFailure";
  job["status"]["startTime"] = "2026-11-20T07:59:00Z";
  EXPECT_EQ(
      StatusOf(PlanJob(MakeView(job, {MakePod("a", {.restarts = 2})}), kNow), "FailureTarget"),
      "True/BackoffLimitExceeded");
}

TEST(JobPlanTest, WithoutCompletionsTheFirstSuccessEndsCreation) {
  Json job = MakeJob({{"parallelism", 3}});
  job["spec"].erase("completions");
  job["status"]["startTime"] = "2026-11-20T07:00:00Z";
  EXPECT_THAT(PlanJob(MakeView(job, {}), kNow).create, SizeIs(3));
  const JobPlan plan =
      PlanJob(MakeView(job, {MakePod("a", {.phase = "Succeeded"}), MakePod("b", {})}), kNow);
  EXPECT_THAT(plan.create, IsEmpty());
  EXPECT_EQ(StatusOf(plan, "SuccessCriteriaMet"), "none") << "one pod still runs";
}

TEST(JobPlanTest, IndexedJobFillsTheGapsAndRecordsIndexes) {
  Json job = MakeJob({{"completionMode", "Indexed"}, {"parallelism", 3}, {"completions", 4}});
  job["status"] = {{"startTime", "2026-11-20T07:00:00Z"}, {"completedIndexes", "0"}};
  const JobPlan plan = PlanJob(
      MakeView(job, {MakePod("a", {.phase = "Succeeded", .index = 1}), MakePod("b", {.index = 3})}),
      kNow);
  ASSERT_THAT(plan.create, SizeIs(1));
  const Json& pod = plan.create[0];
  EXPECT_EQ(pod["metadata"]["generateName"], "j-2-");
  EXPECT_EQ(pod["metadata"]["labels"][std::string(kCompletionIndexKey)], "2");
  EXPECT_EQ(pod["spec"]["hostname"], "j-2");
  EXPECT_EQ(pod["spec"]["containers"][0]["env"][0]["name"], "JOB_COMPLETION_INDEX");
  EXPECT_EQ((*plan.status)["completedIndexes"], "0,1");
  EXPECT_EQ((*plan.status)["succeeded"], 2);
}

TEST(JobPlanTest, DuplicateIndexIsDiscarded) {
  Json job = MakeJob({{"completionMode", "Indexed"}, {"parallelism", 2}, {"completions", 2}});
  job["status"]["startTime"] = "2026-11-20T07:00:00Z";
  const JobPlan plan =
      PlanJob(MakeView(job, {MakePod("a", {.index = 0}), MakePod("b", {.index = 0})}), kNow);
  EXPECT_THAT(plan.discard, ElementsAre(1));
  EXPECT_THAT(plan.create, IsEmpty()) << "either creates or deletes";
}

TEST(JobPlanTest, FailedIndexFailsTheJobWhenOtherIndexesAreDone) {
  Json job = MakeJob({{"completionMode", "Indexed"},
                      {"parallelism", 2},
                      {"completions", 2},
                      {"backoffLimitPerIndex", 0}});
  job["status"]["startTime"] = "2026-11-20T07:00:00Z";
  const JobPlan plan = PlanJob(MakeView(job, {MakePod("a", {.phase = "Failed", .index = 0}),
                                              MakePod("b", {.phase = "Succeeded", .index = 1})}),
                               kNow);
  EXPECT_EQ(StatusOf(plan, "FailureTarget"), "True/FailedIndexes");
  EXPECT_EQ((*plan.status)["failedIndexes"], "0");
}

// One pod of index 0 of an Indexed Job with backoffLimitPerIndex 0; the exit code 42 has the rule
// FailIndex, 43 the rule FailJob. The expected tally follows Kubernetes' controller: calculations
// of indexes and counts take a pod in "only if it has a finalizer (meaning it is not counted yet)".
struct TallyRow {
  const char* name;
  PodOptions pod;
  std::int64_t backoff_limit_per_index;
  std::string tally;  // active terminating succeeded failed / succeeded / failed indexes / message?
};

class JobTallyTest : public ::testing::TestWithParam<TallyRow> {};

TEST_P(JobTallyTest, AnUntrackedPodNeverCounts) {
  Json job = MakeJob({{"completionMode", "Indexed"}, {"completions", 2}});
  job["spec"]["backoffLimitPerIndex"] = GetParam().backoff_limit_per_index;
  job["spec"]["podFailurePolicy"]["rules"] = Json::parse(
      R"([{"action": "FailIndex", "onExitCodes": {"operator": "In", "values": [42]}},
          {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [43]}}])");
  PodOptions pod = GetParam().pod;
  pod.index = 0;
  const JobView view = MakeView(job, {MakePod("a", pod)});
  const JobTally tally = CountPods(view, ReadJobSpec(*view.job));
  std::string told;
  for (const std::int64_t count :
       {tally.active, tally.terminating, tally.succeeded, tally.failed}) {
    told += std::to_string(count) + " ";
  }
  told += "/" + FormatIndexes(tally.succeeded_indexes) + "/" + FormatIndexes(tally.failed_indexes) +
          "/" + (tally.failing_pod ? "FailJob" : "");
  EXPECT_EQ(told, GetParam().tally);
  EXPECT_EQ(tally.failures_by_index.contains(0), pod.phase == "Failed" && pod.tracked);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, JobTallyTest,
    ::testing::ValuesIn(std::vector<TallyRow>{
        {"Runs", {}, 0, "1 0 0 0 ///"},
        {"Succeeded", {.phase = "Succeeded"}, 0, "0 0 1 0 /0//"},
        {"Failed", {.phase = "Failed"}, 0, "0 0 0 1 //0/"},
        {"FailedWithinTheLimit", {.phase = "Failed"}, 1, "0 0 0 1 ///"},
        {"FailIndex", {.phase = "Failed", .exit_code = 42}, 9, "0 0 0 1 //0/"},
        {"FailJob", {.phase = "Failed", .exit_code = 43}, 9, "0 0 0 1 ///FailJob"},
        {"DeletedByAUser", {.phase = "Failed", .deleting = true}, 0, "0 0 0 1 //0/"},
        {"Discarded", {.tracked = false, .deleting = true}, 0, "0 1 0 0 ///"},
        {"DiscardedAndFailed",
         {.phase = "Failed", .tracked = false, .deleting = true},
         0,
         "0 0 0 0 ///"},
        {"DiscardedAndFailIndex",
         {.phase = "Failed", .tracked = false, .deleting = true, .exit_code = 42},
         9,
         "0 0 0 0 ///"},
        {"DiscardedAndFailJob",
         {.phase = "Failed", .tracked = false, .deleting = true, .exit_code = 43},
         9,
         "0 0 0 0 ///"},
        {"DiscardedAndSucceeded",
         {.phase = "Succeeded", .tracked = false, .deleting = true},
         0,
         "0 0 0 0 ///"},
    }),
    [](const auto& row) { return std::string(row.param.name); });

TEST(JobPlanTest, DiscardedPodsDelayNoPod) {
  Json job = MakeJob({});
  job["status"]["startTime"] = "2026-11-20T07:00:00Z";
  const Object pod = MakePod("a", {.phase = "Failed", .tracked = false, .deleting = true});
  const JobPlan plan = PlanJob(MakeView(job, {pod}), kNow);
  EXPECT_THAT(plan.create, SizeIs(1));
}

TEST(JobPlanTest, PodFailurePolicyFailsTheJobOrIgnoresFailures) {
  const Json rules = Json::parse(R"({"rules": [
      {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}},
      {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]})");
  Json job = MakeJob({{"podFailurePolicy", rules}});
  job["status"]["startTime"] = "2026-11-20T07:00:00Z";
  const JobPlan plan =
      PlanJob(MakeView(job, {MakePod("a", {.phase = "Failed", .exit_code = 42})}), kNow);
  const Json judged = {{"status", *plan.status}};
  const Json* target = FindCondition(judged, "FailureTarget");
  ASSERT_NE(target, nullptr);
  EXPECT_EQ((*target)["message"],
            "Container c for pod default/a failed with exit code 42 "
            "matching FailJob rule at index 0");
  Json disrupted = *MakePod("b", {.phase = "Failed", .exit_code = 137});
  SetCondition(disrupted["status"], {"DisruptionTarget", "True", "NodeLost", ""}, kNow);
  const JobPlan ignored = PlanJob(MakeView(job, {std::make_shared<const Json>(disrupted)}), kNow);
  EXPECT_EQ((*ignored.status)["uncountedTerminatedPods"], Json::object());
  EXPECT_THAT(ignored.release, ElementsAre(0)) << "its finalizer goes all the same";
}

TEST(JobPlanTest, SuccessPolicyEndsTheJobEarly) {
  Json job = MakeJob({{"completionMode", "Indexed"},
                      {"parallelism", 3},
                      {"completions", 3},
                      {"successPolicy", {{"rules", {{{"succeededIndexes", "0"}}}}}}});
  job["status"]["startTime"] = "2026-11-20T07:00:00Z";
  const JobPlan plan = PlanJob(
      MakeView(job, {MakePod("a", {.phase = "Succeeded", .index = 0}), MakePod("b", {.index = 1})}),
      kNow);
  EXPECT_EQ(StatusOf(plan, "SuccessCriteriaMet"), "True/SuccessPolicy");
  EXPECT_THAT(plan.remove, ElementsAre(1));
}

TEST(JobPlanTest, ShrinkingDiscardsTheLeastUsefulPod) {
  Json job = MakeJob({{"parallelism", 1}, {"completions", 3}});
  job["status"]["startTime"] = "2026-11-20T07:00:00Z";
  const JobPlan plan =
      PlanJob(MakeView(job, {MakePod("a", {}), MakePod("b", {.phase = "Pending"})}), kNow);
  EXPECT_THAT(plan.discard, ElementsAre(1)) << "pending goes before running";
}

TEST(JobPlanTest, DeletedJobReleasesItsPods) {
  Json job = MakeJob({});
  job["metadata"]["deletionTimestamp"] = "2026-11-20T07:59:00Z";
  const JobPlan plan = PlanJob(MakeView(job, {MakePod("a", {})}), kNow);
  EXPECT_THAT(plan.release, ElementsAre(0));
  EXPECT_THAT(plan.create, IsEmpty());
}

TEST(JobPlanTest, FinishedJobIsDeletedAfterItsTimeToLive) {
  Json job = MakeJob({{"ttlSecondsAfterFinished", 60}});
  SetCondition(job["status"], {"Complete", "True", "r", "m"}, kNow - std::chrono::seconds(59));
  EXPECT_EQ(PlanJob(MakeView(job, {}), kNow).look_again, kNow + std::chrono::seconds(1));
  EXPECT_TRUE(PlanJob(MakeView(job, {}), kNow + std::chrono::seconds(1)).delete_job);
}

TEST(JobPlanTest, IndexesAreParsedAndFormatted) {
  EXPECT_EQ(FormatIndexes(ParseIndexes("0,2-4,6,7")), "0,2-4,6,7");
  EXPECT_EQ(FormatIndexes(ParseIndexes("")), "");
  EXPECT_EQ(FormatIndexes(ParseIndexes("x,1,-3")), "1");
  // An index above every Job's would take for ever to count to.
  EXPECT_EQ(FormatIndexes(ParseIndexes("2,9223372036854775807,5--9223372036854775808,"
                                       "9223372036854775800-9223372036854775807,4-3")),
            "2");
}

}  // namespace
}  // namespace berth::local::cluster
