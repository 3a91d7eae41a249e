// Goal: the check of reactive capacity lets pods start, tells why their nodes do not come, and
// moves the Workload on after its limits of time and of evictions; each decision comes to rest.
// Method: a small world that performs decisions; the test plays queue, scheduler and cloud.
#include "provisioning/reactive.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/labels.h"
#include "api/reasons.h"
#include "tests/provisioning/reactive_world.h"

namespace berth::provisioning {
namespace {

using api::CheckState;
using api::ConditionStatus;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(ReactiveTest, PodsMayStartAtOnce) {
  ReactiveWorld world;
  world.Settle();
  EXPECT_EQ(world.check().state, CheckState::kPending) << "without quota nothing is decided";
  world.Start();
  EXPECT_EQ(world.check().message, "the pods may start: nodes come for pending pods");
  EXPECT_THAT(world.check().pod_set_updates, IsEmpty());
  EXPECT_THAT(world.events, ElementsAre(HasSubstr("from Pending to Ready")));
}

TEST(ReactiveTest, InactiveCheckStaysPending) {
  ReactiveWorld world;
  world.active = false;
  world.GiveQuota("low");
  world.Settle();
  EXPECT_EQ(world.check().state, CheckState::kPending);
  EXPECT_EQ(world.check().message, "the check is not active");
}

TEST(ReactiveTest, MessageNamesTheCauseWhilePodsWait) {
  ReactiveWorld world;
  world.Start();
  world.NoRoom(0);
  world.Settle();
  EXPECT_EQ(world.last.next_wake, std::chrono::seconds(10));
  const int writes = world.writes;
  world.PassAndSettle(9);
  EXPECT_EQ(world.writes, writes) << "short waits write nothing";
  world.PassAndSettle(1);
  EXPECT_EQ(world.check().message, "pods wait for nodes (NodesDidNotCome): no node has come");
  EXPECT_EQ(world.last.next_wake, std::chrono::minutes(1)) << "Events come later than pods";
  EXPECT_THAT(world.events, Contains(HasSubstr("CapacityAdvice: nodes: NodesDidNotCome")));
  world.PassAndSettle(100);
  EXPECT_EQ(world.writes, writes + 1) << "the same cause is told once";
  world.Bind(0);
  world.Bind(1);
  world.PassAndSettle(1);
  EXPECT_EQ(world.check().message, "the pods may start: nodes come for pending pods");
  EXPECT_EQ(world.last.next_wake, std::nullopt);
}

TEST(ReactiveTest, WithoutAPolicyPodsWaitForFifteenMinutes) {
  ReactiveWorld world;
  world.Start();
  world.NoRoom(1);
  world.PassAndSettle(899);
  EXPECT_EQ(world.check().state, CheckState::kReady);
  world.PassAndSettle(1);
  EXPECT_EQ(world.check().state, CheckState::kRetry);
  EXPECT_EQ(world.check().message,
            "No step is left after step config: no nodes within 900 s: 0/1 nodes are available");
  EXPECT_EQ(world.check().requeue_after_seconds, 1800);
  EXPECT_EQ(world.avoided(), "");
}

TEST(ReactiveTest, StepWithoutNodesIsFollowedByTheNextFlavor) {
  ReactiveWorld world;
  world.UseChain();
  world.Start("low");
  world.NoRoom(0);
  world.PassAndSettle(300);
  EXPECT_EQ(world.check().state, CheckState::kRetry);
  EXPECT_THAT(world.check().message, HasSubstr("Going on with step demand after step low"));
  EXPECT_EQ(world.check().requeue_after_seconds, 0);
  EXPECT_EQ(world.avoided(), "low");
  world.Requeue();
  world.Start("demand");
  EXPECT_EQ(world.avoided(), "low") << "also while the job runs";
  world.NoRoom(0);
  world.PassAndSettle(899);
  EXPECT_EQ(world.check().state, CheckState::kReady);
  world.PassAndSettle(1);
  EXPECT_EQ(world.check().state, CheckState::kRetry);
  EXPECT_EQ(world.check().requeue_after_seconds, 1800) << "the cycle begins again";
  EXPECT_EQ(world.avoided(), "");
}

TEST(ReactiveTest, EvictionsCountAndTheLastOneLeadsToTheNextStep) {
  ReactiveWorld world;
  world.UseChain();
  world.Start("low");
  world.Bind(0);
  world.Bind(1);
  world.PassAndSettle(500);
  world.TakeNodeBack(1);
  world.Settle();
  EXPECT_EQ(world.check().state, CheckState::kRetry);
  EXPECT_EQ(world.check().requeue_after_seconds, 0) << "nodes came: nothing to wait for";
  EXPECT_EQ(world.check().message,
            "Retrying after step low: pod p1-1 lost node node-1 (DeletionByTaintManager)");
  EXPECT_EQ(world.avoided(), "");
  world.Requeue();
  world.Start("low");  // in the same second
  EXPECT_EQ(world.check().state, CheckState::kReady) << "the failed pod of before counts once";
  world.Bind(0);
  world.Bind(1);
  world.PassAndSettle(500);
  world.TakeNodeBack(0);
  world.Settle();
  EXPECT_THAT(world.check().message, HasSubstr("Going on with step demand"));
  EXPECT_EQ(world.avoided(), "low");
  EXPECT_EQ(world.memory.at("nodes").steps.at("low").attempts, 2);
}

TEST(ReactiveTest, PodsEndedForOtherReasonsDoNotCount) {
  for (const char* reason : {"PreemptionByScheduler", "finished", "Reject"}) {
    ReactiveWorld world;
    world.UseChain();
    if (std::string(reason) == "Reject") {
      world.policy->on_revoked = api::ProvisioningPolicy::OnRevoked::kReject;
    }
    world.Start("low");
    world.Bind(0);
    world.Bind(1);
    world.Pass(5);
    world.TakeNodeBack(0, reason);
    if (std::string(reason) == "finished") world.PodAt(0).phase = "Succeeded";
    world.Settle();
    EXPECT_EQ(world.check().state, CheckState::kReady) << reason;
  }
}

TEST(ReactiveTest, StoredFailureIsNotAppliedAfterAnotherEviction) {
  ReactiveWorld world;
  world.UseChain();
  world.Start("low");
  world.NoRoom(0);
  world.Pass(300);
  world.last = DecideReactive(world.Observe(), world.now);
  ASSERT_TRUE(world.last.memory);
  world.memory = world.last.memory->memory;  // written; then the Workload is preempted
  world.workload.status.admission.reset();
  world.check() = {.name = "nodes"};
  world.SetCondition(api::kQuotaReserved, ConditionStatus::kFalse);
  world.pods.clear();
  world.Pass(1);
  world.Start("demand");
  EXPECT_EQ(world.check().state, CheckState::kReady);
}

TEST(ReactiveTest, WorkloadsShareOutcomesOfSteps) {
  ReactiveWorld first;
  first.UseChain();
  first.stock.emplace();
  first.Start("low");
  first.NoRoom(0);
  first.PassAndSettle(300);
  ReactiveWorld second;
  second.UseChain();
  second.workload.meta.uid = "second";
  second.now = first.now;
  second.stock = first.stock;
  second.Settle();
  EXPECT_EQ(second.avoided(), "low") << "before it has quota";
  EXPECT_EQ(second.last.next_wake, std::chrono::minutes(15));
  second.GiveQuota("low");
  second.Settle();
  EXPECT_EQ(second.check().state, CheckState::kRetry);
  EXPECT_THAT(second.check().message,
              HasSubstr("passed over: step low (OutOfStockRecently): rests until"));
  second.Requeue();
  second.PassAndSettle(15 * 60);
  EXPECT_EQ(second.avoided(), "") << "the rest is over";
  second.Start("low");
  second.Bind(0);
  second.Bind(1);
  second.PassAndSettle(1);
  const auto& known = second.stock->Of(kReactiveClass);
  ASSERT_EQ(known.size(), 1U);
  EXPECT_EQ(known.front().outcomes.back().result, api::StockResult::kGranted);
  EXPECT_EQ(known.front().strikes, 0);
}

TEST(ReactiveTest, WorkloadThatNeverFitsIsRejected) {
  ReactiveWorld world;
  world.UseChain();
  for (api::ProvisioningStep& step : world.policy->steps) {
    step.pool = api::ProvisioningPool{"pool", 1, {{"nvidia.com/gpu", 1}}};
  }
  world.GiveQuota("low");
  world.Settle();
  EXPECT_EQ(world.check().state, CheckState::kRejected);
  EXPECT_THAT(world.check().message, HasSubstr("needs 2 nodes, pool pool has at most 1"));
}

TEST(ReactiveTest, PolicyProtectsPodsAndReportsAnEarlyExpiry) {
  api::KarpenterNodePool pool;
  pool.meta.name = "g4";
  pool.expire_after = std::chrono::hours(2);
  for (const bool protects : {true, false}) {
    ReactiveWorld world;
    world.UseChain();
    world.policy->protect_pods = protects;
    world.pools = {pool};
    world.job_deadline = 3 * 3600;
    world.Start("low");
    const std::string told =
        "NodePool g4 replaces its nodes after 7200 s, the job may run for 10800 s";
    EXPECT_THAT(world.check().message, HasSubstr(told));
    if (protects) {
      ASSERT_EQ(world.check().pod_set_updates.size(), 1U);
      EXPECT_EQ(world.check().pod_set_updates[0].annotations,
                (api::StringMap{{api::kDoNotDisruptAnnotation, "true"},
                                {api::kSafeToEvictAnnotation, "false"}}));
      EXPECT_THAT(world.events, Contains("NodesExpireEarly: " + told));
    } else {
      EXPECT_THAT(world.check().pod_set_updates, IsEmpty());
      EXPECT_THAT(world.events, Contains("Warning NodesExpireEarly: " + told));
    }
  }
}

TEST(ReactiveTest, EarlyExpiryOfALaterNodePoolIsReportedOnce) {
  ReactiveWorld world;
  world.UseChain();
  world.job_deadline = 3 * 3600;
  world.Start("low");
  world.Bind(0);
  world.Bind(1);
  world.PassAndSettle(5);
  EXPECT_THAT(world.check().message, Not(HasSubstr("replaces its nodes")));
  world.pools.emplace_back().meta.name = "g4";
  world.pools[0].expire_after = std::chrono::hours(2);
  world.PassAndSettle(5);
  world.PassAndSettle(5);
  EXPECT_THAT(world.check().message, HasSubstr("NodePool g4 replaces its nodes after 7200 s"));
  world.pools.clear();  // does what a restart does, until the NodePools are read
  world.PassAndSettle(5);
  world.pools.emplace_back().meta.name = "g4";
  world.pools[0].expire_after = std::chrono::hours(2);
  world.PassAndSettle(5);
  EXPECT_EQ(std::count_if(world.events.begin(), world.events.end(),
                          [](const auto& each) { return each.starts_with("NodesExpireEarly"); }),
            1);
}

TEST(ReactiveTest, PoolThatMovesUnprotectedPodsIsReported) {
  enum class Protection { kNone, kPolicy, kPods, kBudget };
  for (const Protection by :
       {Protection::kNone, Protection::kPolicy, Protection::kPods, Protection::kBudget}) {
    ReactiveWorld world;
    world.UseChain();
    world.policy->protect_pods = by == Protection::kPolicy;
    if (by == Protection::kPods) {
      for (api::PodSet& pods : world.workload.spec.pod_sets) {
        pods.pod_template.annotations[api::kDoNotDisruptAnnotation] = "true";
      }
    }
    world.pools.emplace_back().meta.name = "g4";
    world.pools[0].budgets = {{.nodes = by == Protection::kBudget ? "0" : "10%"}};
    world.Start("low");
    world.Bind(0);
    world.Bind(1);
    world.PassAndSettle(5);
    const std::string told =
        "NodePool g4 may end pods to empty nodes that are little used (disruption budget: 10 %)";
    const bool is_told = by == Protection::kNone;
    EXPECT_EQ(world.check().message.find(told) != std::string::npos, is_told);
    EXPECT_EQ(std::count(world.events.begin(), world.events.end(),
                         "Warning NodesMayBeDisrupted: " + told),
              is_told ? 1 : 0);
  }
}

TEST(ReactiveTest, AFinishedWorkloadIsLeftAlone) {
  ReactiveWorld world;
  world.UseChain();
  world.Start("low");
  world.NoRoom(0);
  world.SetCondition(api::kFinished, ConditionStatus::kTrue);
  const int writes = world.writes;
  world.PassAndSettle(10000);
  EXPECT_EQ(world.writes, writes);
  EXPECT_THAT(world.memory, IsEmpty());
}

// low is expected to take two hours, and is passed over for ten minutes' gain.
ReactiveWorld SlowWorld() {
  ReactiveWorld world;
  world.UseChain();
  world.policy->steps.front().min_eta_gain_seconds = 600;
  world.stock.emplace();
  api::ProvisioningRequestConfig config;
  config.provisioning_class_name = kReactiveClass;
  const auto key = StockKeyOf(world.workload, config, "low", {"low"});
  for (int at = 0; at < 10; ++at) {
    StockLesson lesson{.provisioning_class = kReactiveClass, .key = *key};
    lesson.outcome = {.id = std::to_string(at),
                      .asked_at = world.now - std::chrono::hours(2),
                      .wait_seconds = 7200,
                      .pods = 2,
                      .result = api::StockResult::kGranted};
    lesson.at = world.now;
    world.stock->Record(lesson);
  }
  return world;
}

TEST(ReactiveTest, AStepThatIsExpectedToWaitLongIsPassedOver) {
  ReactiveWorld world = SlowWorld();
  world.GiveQuota("low");
  world.Settle();
  EXPECT_EQ(world.avoided(), "low");
  EXPECT_THAT(world.check().message,
              HasSubstr("passed over: step low (SlowerThanNext): is expected to wait"));
  world.Requeue();
  world.Start("demand");
  EXPECT_EQ(world.check().state, CheckState::kReady);
}

TEST(ReactiveTest, StepIsPassedOverNoLongerThanTheGain) {
  ReactiveWorld world = SlowWorld();
  world.GiveQuota("low");
  world.Settle();
  ASSERT_EQ(world.avoided(), "low");
  world.Requeue();
  world.PassAndSettle(2 * 3600);  // no quota of the quick step is free
  EXPECT_EQ(world.avoided(), "");
  world.Start("low");
  EXPECT_EQ(world.check().state, CheckState::kReady);
}

TEST(ReactiveTest, SlowStepIsUsedIfNoOtherIsLeft) {
  ReactiveWorld world = SlowWorld();
  world.memory["nodes"].steps["demand"].over = true;
  world.Start("low");
  EXPECT_EQ(world.avoided(), "demand");
}

TEST(ReactiveTest, JobDoesNotStartWithoutItsNodePool) {
  ReactiveWorld world;
  world.UseChain();
  world.has_karpenter = true;
  world.flavors["low"].node_labels = {{api::kKarpenterNodePoolLabel, "gone"}};
  world.GiveQuota("low");
  world.Settle();
  EXPECT_EQ(world.check().state, CheckState::kPending);
  EXPECT_EQ(world.check().message,
            "nodes cannot come (NodePoolNotFound): there is no NodePool gone");
  EXPECT_THAT(world.events, ElementsAre(HasSubstr("CapacityAdvice: nodes: NodePoolNotFound")));
  world.PassAndSettle(299);
  EXPECT_EQ(world.check().state, CheckState::kPending);
  world.PassAndSettle(1);
  EXPECT_EQ(world.check().state, CheckState::kRetry);
  EXPECT_THAT(world.check().message, HasSubstr("there is no NodePool gone"));
  world.Requeue();
  world.Start("demand");
}

// Nodes that Karpenter did not make may serve such pods.
TEST(ReactiveTest, LimitOfAnUnselectedNodePoolHoldsNoJob) {
  ReactiveWorld world;
  world.has_karpenter = true;
  api::KarpenterNodePool pool{.meta = {.name = "g4"}};
  pool.limits = {{"nvidia.com/gpu", 0}};
  world.pools = {pool};
  world.GiveQuota("low");
  world.Settle();
  EXPECT_EQ(world.check().state, CheckState::kReady);
}

// On a node that stands there may be room: the job starts, and is told if there is none.
TEST(ReactiveTest, ALimitHoldsAJobOnlyWhileNoNodeStands) {
  ReactiveWorld world;
  world.has_karpenter = true;
  api::KarpenterNodePool pool{.meta = {.name = "g4"}};
  pool.limits = {{"nvidia.com/gpu", 0}};
  world.pools = {pool};
  world.flavors["low"].node_labels = {{api::kKarpenterNodePoolLabel, "g4"}};
  world.GiveQuota("low");
  world.Settle();
  EXPECT_EQ(world.check().state, CheckState::kPending);
  EXPECT_THAT(world.check().message, HasSubstr("nodes cannot come (NodePoolLimitReached)"));
  api::KarpenterNodeClaim claim{.meta = {.name = "g4-1"}};
  claim.meta.labels = {{api::kKarpenterNodePoolLabel, "g4"}};
  world.claims = {claim};
  world.Settle();
  EXPECT_EQ(world.check().state, CheckState::kReady);
}

}  // namespace
}  // namespace berth::provisioning
