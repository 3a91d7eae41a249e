// Goal: the life of a pod, decision by decision.
// Method: each test moves a PodRun by hand, as processes would, and reads the next step.
#include "local/cluster/kubelet/pod_lifecycle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rfc3339.h"
#include "local/cluster/objects/fields.h"

namespace berth::local::cluster {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const WallTime kLookedAt = *ParseTime("2026-11-20T08:00:00Z");

Json PodWithPolicy(const std::string& policy) {
  Json pod = Json::parse(R"({"metadata": {"name": "p", "uid": "u"},
      "spec": {"containers": [{"name": "main", "image": "i"}]}})");
  pod["spec"]["restartPolicy"] = policy;
  return pod;
}

void Begin(ContainerRun& container) {
  container.state = ContainerRun::State::kRunning;
  container.started_at = kLookedAt;
}

void End(ContainerRun& container, int exit_code) {
  container.state = ContainerRun::State::kEnded;
  container.ended_at = kLookedAt + seconds(1);
  container.exit_code = exit_code;
}

TEST(PodLifecycleTest, PodStartsRunsAndSucceeds) {
  const Json pod = PodWithPolicy("Never");
  PodRun run = NewRun(pod, kLookedAt);
  PodStep step = PlanPod(pod, run, kLookedAt);
  EXPECT_THAT(step.start, ElementsAre(0));
  EXPECT_EQ(step.phase, "Pending");
  Begin(run.containers[0]);
  EXPECT_EQ(PlanPod(pod, run, kLookedAt).phase, "Running");
  End(run.containers[0], 0);
  step = PlanPod(pod, run, kLookedAt);
  EXPECT_EQ(step.phase, "Succeeded");
  EXPECT_TRUE(step.is_over);
}

TEST(PodLifecycleTest, FailureWithRestartPolicyNeverFailsThePod) {
  const Json pod = PodWithPolicy("Never");
  PodRun run = NewRun(pod, kLookedAt);
  End(run.containers[0], 3);
  EXPECT_EQ(PlanPod(pod, run, kLookedAt).phase, "Failed");
}

TEST(PodLifecycleTest, RestartsWithGrowingBackoff) {
  const Json pod = PodWithPolicy("OnFailure");
  PodRun run = NewRun(pod, kLookedAt);
  for (const int backoff : {0, 10, 20, 40, 80, 160, 300, 300}) {
    Begin(run.containers[0]);
    End(run.containers[0], 1);
    const PodStep step = PlanPod(pod, run, kLookedAt);
    EXPECT_THAT(step.restart, ElementsAre(0));
    EXPECT_EQ(step.phase, "Running");
    PrepareRestart(run.containers[0], kLookedAt);
    EXPECT_EQ(*run.containers[0].not_before, kLookedAt + seconds(1 + backoff));
  }
  const PodStep step = PlanPod(pod, run, kLookedAt);
  EXPECT_THAT(step.start, IsEmpty());
  EXPECT_EQ(step.look_again, kLookedAt + seconds(301));
  EXPECT_EQ(run.containers[0].restarts, 8);
  EXPECT_EQ(run.containers[0].waiting_reason, "CrashLoopBackOff");
  End(run.containers[0], 0);
  EXPECT_EQ(PlanPod(pod, run, kLookedAt).phase, "Succeeded");
}

TEST(PodLifecycleTest, InitContainersRunInOrder) {
  Json pod = PodWithPolicy("Never");
  pod["spec"]["initContainers"] = Json::parse(R"([{"name": "a"}, {"name": "b"}])");
  PodRun run = NewRun(pod, kLookedAt);
  EXPECT_THAT(PlanPod(pod, run, kLookedAt).start, ElementsAre(0));
  Begin(run.containers[0]);
  EXPECT_THAT(PlanPod(pod, run, kLookedAt).start, IsEmpty());
  End(run.containers[0], 0);
  EXPECT_THAT(PlanPod(pod, run, kLookedAt).start, ElementsAre(1));
  End(run.containers[1], 1);
  const PodStep step = PlanPod(pod, run, kLookedAt);
  EXPECT_EQ(step.phase, "Failed");
  EXPECT_THAT(step.start, IsEmpty()) << "the main container never starts";
}

TEST(PodLifecycleTest, SidecarsStartFirstAndEndLast) {
  Json pod = PodWithPolicy("Never");
  pod["spec"]["initContainers"] = Json::parse(R"([{"name": "s", "restartPolicy": "Always"}])");
  PodRun run = NewRun(pod, kLookedAt);
  EXPECT_THAT(PlanPod(pod, run, kLookedAt).start, ElementsAre(0));
  Begin(run.containers[0]);
  EXPECT_THAT(PlanPod(pod, run, kLookedAt).start, ElementsAre(1));
  End(run.containers[1], 0);
  PodStep step = PlanPod(pod, run, kLookedAt);
  EXPECT_TRUE(step.kill);
  EXPECT_FALSE(step.is_over);
  End(run.containers[0], 137);
  step = PlanPod(pod, run, kLookedAt);
  EXPECT_EQ(step.phase, "Succeeded");
}

TEST(PodLifecycleTest, DeletionTerminatesWaitsAndKills) {
  Json pod = PodWithPolicy("Always");
  PodRun run = NewRun(pod, kLookedAt);
  Begin(run.containers[0]);
  pod["metadata"]["deletionTimestamp"] = "2026-11-20T08:00:05Z";
  pod["metadata"]["deletionGracePeriodSeconds"] = 5;
  PodStep step = PlanPod(pod, run, kLookedAt);
  EXPECT_TRUE(step.terminate);
  run.stop_asked_at = kLookedAt;
  step = PlanPod(pod, run, kLookedAt + seconds(4));
  EXPECT_FALSE(step.terminate);
  EXPECT_FALSE(step.kill);
  EXPECT_EQ(step.look_again, kLookedAt + seconds(5));
  EXPECT_TRUE(PlanPod(pod, run, kLookedAt + seconds(5)).kill);
  End(run.containers[0], 143);
  step = PlanPod(pod, run, kLookedAt + seconds(5));
  EXPECT_TRUE(step.is_over);
  EXPECT_EQ(step.phase, "Failed");
}

TEST(PodLifecycleTest, PodDeletedBeforeItsStartFails) {
  Json pod = PodWithPolicy("Never");
  pod["metadata"]["deletionTimestamp"] = "2026-11-20T08:00:05Z";
  const PodStep step = PlanPod(pod, NewRun(pod, kLookedAt), kLookedAt);
  EXPECT_THAT(step.start, IsEmpty());
  EXPECT_TRUE(step.is_over);
  EXPECT_EQ(step.phase, "Failed");
}

TEST(PodLifecycleTest, AnEndlessDeadlineDoesNotStopThePod) {
  Json pod = PodWithPolicy("Never");
  pod["spec"]["activeDeadlineSeconds"] = INT64_MAX;
  PodRun run = NewRun(pod, kLookedAt);
  Begin(run.containers[0]);
  EXPECT_EQ(PlanPod(pod, run, kLookedAt + seconds(60)).stop_reason, "");
}

TEST(PodLifecycleTest, PodIsTerminatedAtItsDeadline) {
  Json pod = PodWithPolicy("Never");
  pod["spec"]["activeDeadlineSeconds"] = 60;
  PodRun run = NewRun(pod, kLookedAt);
  Begin(run.containers[0]);
  EXPECT_EQ(PlanPod(pod, run, kLookedAt).look_again, kLookedAt + seconds(60));
  PodStep step = PlanPod(pod, run, kLookedAt + seconds(60));
  EXPECT_TRUE(step.terminate);
  EXPECT_EQ(step.stop_reason, "DeadlineExceeded");
  run.stop_asked_at = kLookedAt + seconds(60);
  run.stop_reason = step.stop_reason;
  End(run.containers[0], 0);
  step = PlanPod(pod, run, kLookedAt + seconds(61));
  EXPECT_EQ(step.phase, "Failed");
  EXPECT_EQ(MakePodStatus(pod, run, step.phase, kLookedAt)["reason"], "DeadlineExceeded");
}

TEST(PodLifecycleTest, DeletedNodeKillsItsPodAtOnce) {
  const Json pod = PodWithPolicy("Never");
  PodRun run = NewRun(pod, kLookedAt);
  Begin(run.containers[0]);
  run.node_is_gone = true;
  EXPECT_TRUE(PlanPod(pod, run, kLookedAt).kill);
}

TEST(PodLifecycleTest, StatusHasTheShapeOfTheKubelets) {
  const Json pod = PodWithPolicy("Never");
  PodRun run = NewRun(pod, kLookedAt);
  Begin(run.containers[0]);
  Json status = MakePodStatus(pod, run, "Running", kLookedAt);
  EXPECT_EQ(status["containerStatuses"][0]["state"]["running"]["startedAt"],
            "2026-11-20T08:00:00Z");
  std::vector<std::string> types;
  for (const Json& condition : status["conditions"]) {
    types.push_back(condition["type"]);
    EXPECT_EQ(condition["status"], "True") << condition;
  }
  EXPECT_THAT(types,
              ElementsAre("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady"));
  End(run.containers[0], 137);
  run.containers[0].signal = 9;
  status = MakePodStatus({{"status", status}}, run, "Failed", kLookedAt);
  const Json& end = status["containerStatuses"][0]["state"]["terminated"];
  EXPECT_EQ(end["exitCode"], 137);
  EXPECT_EQ(end["signal"], 9);
  EXPECT_EQ(end["reason"], "Error");
}

TEST(PodLifecycleTest, LostPodFailsWithADisruptionTarget) {
  Json pod = PodWithPolicy("Never");
  PodRun run = NewRun(pod, kLookedAt);
  Begin(run.containers[0]);
  pod["status"] = MakePodStatus(pod, run, "Running", kLookedAt);
  pod["status"] = MakeLostStatus(pod, "NodeLost", "m", kLookedAt);
  EXPECT_EQ(pod["status"]["phase"], "Failed");
  EXPECT_TRUE(ConditionIs(pod, "DisruptionTarget", "True"));
  EXPECT_EQ(pod["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"], 137);
}

}  // namespace
}  // namespace berth::local::cluster
