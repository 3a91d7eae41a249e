// Goal: the check of reactive capacity lets pods start, tells why their nodes do not come, and
// moves the Workload on after its limits of time and of evictions; each decision comes to rest.
// Method: a small world that performs decisions; the test plays queue, scheduler and cloud.
#include "provisioning/reactive.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/labels.h"
#include "api/reasons.h"

namespace berth::provisioning {
namespace {

using api::CheckState;
using api::ConditionStatus;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class ReactiveWorld {
 public:
  ReactiveWorld() {
    workload.meta = {.namespace_name = "default", .name = "job-train", .uid = "wl-uid"};
    api::PodSet main{.name = "main", .count = 2};
    api::Container container;
    container.requests = {{"cpu", 1000}, {"nvidia.com/gpu", 1}};
    main.pod_template.spec.containers = {container};
    workload.spec.pod_sets = {main};
    workload.status.admission_checks = {{.name = "nodes", .last_transition_time = now}};
  }

  // low (300 s, 2 attempts) → demand.
  void UseChain() {
    api::ProvisioningStep low{.name = "low", .flavor = "low"};
    low.max_wait_seconds = 300;
    low.max_attempts = 2;
    policy = api::ProvisioningPolicy{.meta = {.name = "p"},
                                     .steps = {low, {.name = "demand", .flavor = "demand"}}};
    policy->on_revoked = api::ProvisioningPolicy::OnRevoked::kRequeue;
  }

  void SetCondition(const char* type, ConditionStatus status) {
    api::SetCondition(workload.status.conditions,
                      {.type = type, .status = status, .last_transition_time = now});
  }

  void GiveQuota(const std::string& flavor) {
    workload.status.admission = api::Admission{.cluster_queue = "cq"};
    workload.status.admission->pod_set_assignments = {
        {.name = "main", .flavors = {{"nvidia.com/gpu", flavor}}, .count = 2}};
    SetCondition(api::kQuotaReserved, ConditionStatus::kTrue);
    SetCondition(api::kEvicted, ConditionStatus::kFalse);
  }
  // Plays the queue and the Job: the pods start.
  void Start(const std::string& flavor = "low") {
    GiveQuota(flavor);
    Settle();
    ASSERT_EQ(check().state, CheckState::kReady) << check().message;
    SetCondition(api::kAdmitted, ConditionStatus::kTrue);
    ++starts;
    for (int i = 0; i < 2; ++i) {
      api::Pod pod;
      pod.meta = {.namespace_name = "default",
                  .name = "p" + std::to_string(starts) + "-" + std::to_string(i)};
      pod.meta.creation_timestamp = now;
      pod.phase = "Pending";
      pods.push_back(pod);
    }
  }
  // Plays the queue on Retry: after the wait the Workload is evicted, and its pods are deleted.
  void Requeue() {
    ASSERT_EQ(check().state, CheckState::kRetry) << check().message;
    Pass(check().requeue_after_seconds.value_or(0));
    SetCondition(api::kEvicted, ConditionStatus::kTrue);
    SetCondition(api::kAdmitted, ConditionStatus::kFalse);
    const std::int32_t retries = check().retry_count.value_or(0) + 1;
    check() = {.name = "nodes", .last_transition_time = now, .retry_count = retries};
    workload.status.admission.reset();
    SetCondition(api::kQuotaReserved, ConditionStatus::kFalse);
    std::erase_if(pods, [](const api::Pod& pod) { return pod.phase == "Pending"; });
    Settle();
  }

  api::Pod& PodAt(std::size_t at) { return pods[pods.size() - 2 + at]; }
  void NoRoom(std::size_t at) {
    api::SetCondition(PodAt(at).conditions, {.type = "PodScheduled",
                                             .status = ConditionStatus::kFalse,
                                             .reason = "Unschedulable",
                                             .message = "0/1 nodes are available",
                                             .last_transition_time = now});
  }
  void Bind(std::size_t at) {
    PodAt(at).spec.node_name = "node-" + std::to_string(at);
    PodAt(at).phase = "Running";
  }
  void TakeNodeBack(std::size_t at, const char* reason = "DeletionByTaintManager") {
    PodAt(at).phase = "Failed";
    PodAt(at).conditions = {{"DisruptionTarget", ConditionStatus::kTrue, reason, "", now}};
  }

  ReactiveSituation Observe() const {
    ReactiveSituation situation{.workload = &workload};
    situation.checks = {{"nodes", policy ? &*policy : nullptr, active}};
    for (const api::Pod& each : pods) situation.pods.push_back(&each);
    for (const auto& pool : pools) situation.supply.pools.push_back(&pool);
    situation.flavors = &flavors;
    situation.memory = memory;
    situation.stock = stock ? &*stock : nullptr;
    situation.job_deadline = job_deadline;
    return situation;
  }

  void Settle() {
    for (int round = 0; round < 10; ++round) {
      last = DecideReactive(Observe(), now);
      if (!last.lessons.empty()) {
        EXPECT_TRUE(last.actions.empty() && last.checks.empty() && !last.memory);
        for (const StockLesson& lesson : last.lessons) stock->Record(lesson);
        continue;
      }
      if (last.memory) {
        EXPECT_TRUE(last.actions.empty() && last.checks.empty()) << "the memory is written alone";
        memory = last.memory->memory;
        auto& annotations = workload.meta.annotations;
        annotations.erase(api::kReactiveAvoidedFlavorsAnnotation);
        if (!last.memory->avoided_flavors.empty()) {
          annotations[api::kReactiveAvoidedFlavorsAnnotation] = last.memory->avoided_flavors;
        }
        continue;
      }
      if (last.actions.empty() && last.checks.empty()) return;
      for (const Action& action : last.actions) {
        const auto& event = std::get<CheckEvent>(action);
        events.push_back((event.warning ? "Warning " : "") + event.reason + ": " + event.message);
      }
      for (const auto& state : last.checks) check() = state, ++writes;
    }
    ADD_FAILURE() << "does not come to rest";
  }
  void Pass(int seconds) { now += std::chrono::seconds(seconds); }
  void PassAndSettle(int seconds) {
    Pass(seconds);
    Settle();
  }

  api::AdmissionCheckState& check() { return workload.status.admission_checks.front(); }
  std::string avoided() const {
    const std::string* list =
        api::FindValue(workload.meta.annotations, api::kReactiveAvoidedFlavorsAnnotation);
    return list == nullptr ? "" : *list;
  }

  api::Workload workload;
  std::vector<api::Pod> pods;
  std::vector<api::KarpenterNodePool> pools;
  std::optional<api::ProvisioningPolicy> policy;
  bool active = true;
  api::MemoryByCheck memory;
  std::optional<StockMemory> stock;
  std::optional<std::int64_t> job_deadline;
  FlavorsByName flavors;
  WallTime now{std::chrono::seconds(1'700'000'000)};
  Decision last;
  std::vector<std::string> events;
  int writes = 0;
  int starts = 0;
};

TEST(ReactiveTest, PodsMayStartAtOnce) {
  ReactiveWorld world;
  world.Settle();
  EXPECT_EQ(world.check().state, CheckState::kPending) << "without quota nothing is decided";
  world.Start();
  EXPECT_EQ(world.check().message, "the pods may start: nodes come for pending pods");
  EXPECT_THAT(world.check().pod_set_updates, IsEmpty());
  EXPECT_THAT(world.events, ElementsAre(HasSubstr("from Pending to Ready")));
}

TEST(ReactiveTest, ACheckWhosePolicyIsMissingWaits) {
  ReactiveWorld world;
  world.active = false;
  world.GiveQuota("low");
  world.Settle();
  EXPECT_EQ(world.check().state, CheckState::kPending);
  EXPECT_EQ(world.check().message, "the check is not active");
}

TEST(ReactiveTest, TheCauseIsToldWhilePodsWaitAndForgottenAfterwards) {
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

TEST(ReactiveTest, WithoutAPolicyPodsWaitForAQuarterOfAnHour) {
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

TEST(ReactiveTest, AStepThatBringsNoNodesIsLeftForTheNextFlavor) {
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

TEST(ReactiveTest, EvictionsCountAndTheLastOneMovesTheJobOn) {
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

TEST(ReactiveTest, OtherEndsOfPodsDoNotCount) {
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

TEST(ReactiveTest, AnEvictionForAnotherCauseDrawsNoConsequence) {
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

TEST(ReactiveTest, WhatOneWorkloadLearnsTheNextOneKnows) {
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
  EXPECT_THAT(second.check().message, HasSubstr("passed over: step low: rests until"));
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

TEST(ReactiveTest, WhatNeverFitsIsRejected) {
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

TEST(ReactiveTest, APolicyProtectsThePodsAndAnEarlyExpiryIsTold) {
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

TEST(ReactiveTest, AnEarlyExpiryIsToldOnceWhereTheNodePoolIsSeenLater) {
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
  world.pools.clear();  // as after a restart, until the NodePools are read
  world.PassAndSettle(5);
  world.pools.emplace_back().meta.name = "g4";
  world.pools[0].expire_after = std::chrono::hours(2);
  world.PassAndSettle(5);
  EXPECT_EQ(std::count_if(world.events.begin(), world.events.end(),
                          [](const auto& each) { return each.starts_with("NodesExpireEarly"); }),
            1);
}

TEST(ReactiveTest, APoolThatMovesPodsIsToldWhereNothingProtectsThem) {
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

}  // namespace
}  // namespace berth::provisioning
