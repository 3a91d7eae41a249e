// Goal: every step of a Workload's life outside the cycle. Method: a story per test: plan, apply
// the planned status, advance the time; in the end the plan must be empty.

#include "admission/lifecycle/workload_lifecycle.h"

#include <functional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/labels.h"
#include "api/reasons.h"

namespace berth::admission {
namespace {

using namespace std::chrono_literals;
using api::CheckState;
using api::FindCondition;
using api::IsFalse;
using api::IsTrue;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class LifecycleTest : public ::testing::Test {
 protected:
  LifecycleTest() {
    workload_.meta = {
        .namespace_name = "team", .name = "w", .uid = "u", .creation_timestamp = now_};
    workload_.spec.queue_name = "lq";
    situation_.workload = &workload_;
    situation_.local_queue = {.name = "lq", .exists = true, .active = true};
    situation_.cluster_queue = {.name = "cq", .exists = true, .active = true};
    situation_.required_checks.emplace();
  }
  void Reserve(std::vector<std::string> checks = {}) {
    situation_.required_checks = checks;
    ReserveQuota(workload_.status, {"cq", {}}, checks, 1, now_);
  }
  // Plans and performs once; returns the reasons of the events.
  std::vector<std::string> Step() {
    plan_ = PlanWorkload(situation_, now_);
    if (plan_.status) workload_.status = *plan_.status;
    if (plan_.deactivate) workload_.spec.active = false;
    std::vector<std::string> reasons;
    for (const PlannedEvent& event : plan_.events) reasons.push_back(event.reason);
    return reasons;
  }
  bool AtRest() {
    const WorkloadPlan plan = PlanWorkload(situation_, now_);
    return !plan.status && !plan.deactivate && plan.events.empty();
  }
  // Plays integrations/release.h after the pods are gone.
  void Release() {
    auto& conditions = workload_.status.conditions;
    const api::Condition evicted = *FindCondition(conditions, api::kEvicted);
    const bool at_once = evicted.reason == "Preempted";
    SetConditionTo(api::kRequeued, at_once, evicted.reason);
    SetConditionTo(api::kQuotaReserved, false, evicted.reason);
    SetConditionTo(api::kAdmitted, false, api::kNoReservation);
    workload_.status.admission.reset();
  }
  void SetConditionTo(const char* type, bool value, const std::string& reason) {
    api::SetCondition(workload_.status.conditions,
                      {.type = type,
                       .status = value ? api::ConditionStatus::kTrue : api::ConditionStatus::kFalse,
                       .reason = reason,
                       .last_transition_time = now_});
  }
  api::AdmissionCheckState& Check(std::size_t index) {
    return workload_.status.admission_checks.at(index);
  }
  std::string ReasonOf(const char* type) const {
    const api::Condition* condition = FindCondition(workload_.status.conditions, type);
    return condition == nullptr ? "" : condition->reason;
  }
  std::string MessageOf(const char* type) const {
    const api::Condition* condition = FindCondition(workload_.status.conditions, type);
    return condition == nullptr ? "" : condition->message;
  }

  WallTime now_{1'767'225'600s};
  api::Workload workload_;
  WorkloadSituation situation_;
  WorkloadPlan plan_;
};

TEST_F(LifecycleTest, WithoutChecksTheReservationAdmits) {
  Reserve();
  EXPECT_TRUE(IsTrue(workload_.status.conditions, api::kAdmitted));
  EXPECT_TRUE(AtRest());
}

TEST_F(LifecycleTest, ReadyChecksAdmit) {
  Reserve({"a", "b"});
  EXPECT_TRUE(AtRest());
  EXPECT_FALSE(IsTrue(workload_.status.conditions, api::kAdmitted));
  Check(0).state = CheckState::kReady;
  EXPECT_TRUE(AtRest());
  Check(1).state = CheckState::kReady;
  now_ += 90s;
  EXPECT_THAT(Step(), ElementsAre("Admitted"));
  EXPECT_EQ(plan_.events[0].message,
            "Admitted by ClusterQueue cq, wait time since reservation was 90s");
  EXPECT_TRUE(AtRest());
}

TEST_F(LifecycleTest, ChecksFollowTheQueueUntilAdmission) {
  Reserve({"a", "b"});
  Check(0).state = CheckState::kReady;
  situation_.required_checks = {"a", "c"};
  Step();
  ASSERT_EQ(workload_.status.admission_checks.size(), 2U);
  EXPECT_EQ(Check(0).state, CheckState::kReady);
  EXPECT_EQ(Check(1).name, "c");
  Check(1).state = CheckState::kReady;
  Step();
  situation_.required_checks = {"a", "c", "d"};
  EXPECT_TRUE(AtRest()) << "a check that comes later does not stop what runs";
}

// The queue has the checks "f" and "g" for some flavors alone.
TEST_F(LifecycleTest, ChecksOfFlavorsKeepTheirRetriesWithoutReservation) {
  situation_.required_checks = {"a"};
  situation_.queue_checks = {"a", "f", "g"};
  situation_.hear_late_answers = false;
  workload_.status.admission_checks = {{.name = "a", .state = CheckState::kReady},
                                       {.name = "f",
                                        .state = CheckState::kRetry,
                                        .message = "full",
                                        .requeue_after_seconds = 60,
                                        .retry_count = 2},
                                       {.name = "g", .state = CheckState::kReady},
                                       {.name = "gone", .state = CheckState::kReady}};
  Step();
  ASSERT_EQ(workload_.status.admission_checks.size(), 3U);
  EXPECT_EQ(Check(0).state, CheckState::kReady);
  EXPECT_EQ(Check(1).name, "f");
  EXPECT_EQ(Check(1).state, CheckState::kPending);
  EXPECT_EQ(Check(1).message, "");
  EXPECT_EQ(Check(1).requeue_after_seconds, std::nullopt);
  EXPECT_EQ(Check(1).retry_count, 2);
  EXPECT_EQ(Check(2).state, CheckState::kPending) << "said of no flavor";
  EXPECT_TRUE(AtRest());
}

TEST_F(LifecycleTest, RetryEvictsAndRequeuesAfterItsDelay) {
  Reserve({"a"});
  Check(0) = {.name = "a",
              .state = CheckState::kRetry,
              .message = "no capacity",
              .requeue_after_seconds = 60,
              .retry_count = 1};
  EXPECT_THAT(Step(), ElementsAre("EvictedDueToAdmissionCheck"));
  EXPECT_EQ(MessageOf(api::kEvicted),
            "Evicted due to AdmissionCheck in Retry state: \"a\" (no capacity)");
  EXPECT_EQ(Check(0).state, CheckState::kPending);
  EXPECT_EQ(Check(0).message, "Reset to Pending after eviction. Previously: Retry");
  EXPECT_EQ(Check(0).retry_count, 2);
  EXPECT_EQ(workload_.status.evictions,
            (std::vector<api::EvictionCount>{{"AdmissionCheck", "", 1}}));
  EXPECT_TRUE(AtRest()) << "nothing more before the job has stopped";
  Release();
  Step();
  EXPECT_EQ(plan_.look_again, Duration(60s));
  now_ += 60s;
  Step();
  EXPECT_TRUE(IsTrue(workload_.status.conditions, api::kRequeued));
  EXPECT_EQ(ReasonOf(api::kRequeued), "BackoffFinished");
  EXPECT_FALSE(workload_.status.requeue_state.has_value());
  EXPECT_TRUE(AtRest());
}

TEST_F(LifecycleTest, RejectedCheckDeactivatesAnAdmittedWorkload) {
  Reserve({"a"});
  Check(0).state = CheckState::kReady;
  Step();
  Check(0).state = CheckState::kRejected;
  Check(0).message = "capacity revoked";
  Check(0).retry_count = 3;
  EXPECT_THAT(Step(), ElementsAre("AdmissionCheckRejected"));
  EXPECT_EQ(plan_.events[0].message,
            "Deactivated due to AdmissionCheck in Rejected state: \"a\" (capacity revoked)");
  Step();
  EXPECT_FALSE(workload_.spec.active);
  EXPECT_THAT(Step(), ElementsAre("EvictedDueToDeactivatedDueToAdmissionCheck"));
  EXPECT_EQ(MessageOf(api::kEvicted),
            "The workload is deactivated due to AdmissionCheck in Rejected state: \"a\" (capacity "
            "revoked)");
  EXPECT_FALSE(Check(0).retry_count.has_value()) << "who reactivates it has all tries again";
  EXPECT_TRUE(AtRest());
  const std::string cause = MessageOf(api::kEvicted);
  Release();
  Step();
  EXPECT_EQ(ReasonOf(api::kQuotaReserved), "Deactivated");
  EXPECT_EQ(MessageOf(api::kQuotaReserved), "The workload is deactivated");
  EXPECT_EQ(MessageOf(api::kRequeued), cause);
}

// A check's answer to a reservation that is being released, and to a released one.
TEST_F(LifecycleTest, RejectedCheckDeactivatesAnEvictedWorkload) {
  for (const bool released : {false, true}) {
    SCOPED_TRACE(released);
    workload_.spec.active = true;
    workload_.status = {};
    Reserve({"a"});
    Preempt(workload_.status, "InClusterQueue", "make room", 1, now_);
    if (released) Release();
    Check(0).state = CheckState::kRejected;
    EXPECT_THAT(Step(), ElementsAre("AdmissionCheckRejected"));
    Step();
    EXPECT_FALSE(workload_.spec.active);
    EXPECT_THAT(Step(), ElementsAre("EvictedDueToDeactivatedDueToAdmissionCheck"));
    EXPECT_EQ(ReasonOf(api::kRequeued), released ? "DeactivatedDueToAdmissionCheck" : "");
    EXPECT_EQ(Check(0).state, CheckState::kPending);
    EXPECT_TRUE(AtRest());
  }
}

TEST_F(LifecycleTest, RetryAfterAPreemptionDelaysTheRequeue) {
  Reserve({"a"});
  Preempt(workload_.status, "InClusterQueue", "make room", 1, now_);
  Check(0) = {.name = "a",
              .state = CheckState::kRetry,
              .last_transition_time = now_,
              .requeue_after_seconds = 60};
  EXPECT_TRUE(AtRest()) << "it is being stopped already";
  Release();
  now_ += 20s;
  EXPECT_THAT(Step(), IsEmpty());
  EXPECT_TRUE(IsFalse(workload_.status.conditions, api::kRequeued));
  EXPECT_EQ(plan_.look_again, Duration(40s));
  EXPECT_TRUE(AtRest());
  now_ += 40s;
  Step();
  EXPECT_EQ(Check(0).state, CheckState::kPending);
  EXPECT_TRUE(IsFalse(workload_.status.conditions, api::kRequeued)) << "told, so that it is woken";
  Step();
  EXPECT_EQ(ReasonOf(api::kRequeued), "BackoffFinished");
  EXPECT_EQ(workload_.status.evictions.size(), 1U);
  EXPECT_TRUE(AtRest());
}

TEST_F(LifecycleTest, ReactivationRequeuesADeactivatedWorkload) {
  workload_.spec.active = false;
  EXPECT_THAT(Step(), ElementsAre("EvictedDueToDeactivated"));
  EXPECT_EQ(ReasonOf(api::kQuotaReserved), "Deactivated");
  EXPECT_TRUE(AtRest());
  workload_.spec.active = true;
  Step();
  EXPECT_EQ(ReasonOf(api::kRequeued), "Reactivated");
  EXPECT_TRUE(AtRest());
}

// Kueue's WorkloadReconciler evicts no workload twice.
TEST_F(LifecycleTest, DeactivationDuringAnEvictionKeepsTheFirstReason) {
  Reserve();
  situation_.cluster_queue.stop_policy = api::StopPolicy::kHoldAndDrain;
  EXPECT_THAT(Step(), ElementsAre("EvictedDueToClusterQueueStopped"));
  workload_.spec.active = false;
  EXPECT_THAT(Step(), IsEmpty());
  EXPECT_EQ(ReasonOf(api::kEvicted), "ClusterQueueStopped");
  Release();
  Step();
  EXPECT_EQ(ReasonOf(api::kQuotaReserved), "Deactivated");
  EXPECT_TRUE(AtRest());
  workload_.spec.active = true;
  Step();
  EXPECT_TRUE(IsFalse(workload_.status.conditions, api::kRequeued)) << "the queue is stopped";
  situation_.cluster_queue.stop_policy = api::StopPolicy::kNone;
  Step();
  EXPECT_TRUE(IsTrue(workload_.status.conditions, api::kRequeued));
}

TEST_F(LifecycleTest, HoldKeepsAdmittedWorkloadsAndHoldAndDrainEvictsThem) {
  situation_.cluster_queue.stop_policy = api::StopPolicy::kHold;
  Reserve();
  EXPECT_THAT(Step(), IsEmpty());
  situation_.cluster_queue.stop_policy = api::StopPolicy::kHoldAndDrain;
  EXPECT_THAT(Step(), ElementsAre("EvictedDueToClusterQueueStopped"));
  Release();
  situation_.cluster_queue.active = false;
  Step();
  EXPECT_EQ(ReasonOf(api::kQuotaReserved), "Suspended");
  EXPECT_TRUE(IsFalse(workload_.status.conditions, api::kRequeued));
  situation_.cluster_queue = {.name = "cq", .exists = true, .active = true};
  Step();
  EXPECT_EQ(ReasonOf(api::kRequeued), "ClusterQueueRestarted");
}

TEST_F(LifecycleTest, ReadyChecksAdmitBeforeAHoldIsFollowed) {
  const std::vector<std::function<void(QueueFacts&)>> changes = {
      [](QueueFacts& queue) { queue.stop_policy = api::StopPolicy::kHold; },
      [](QueueFacts& queue) { queue.deleting = true; },
      [](QueueFacts& queue) { queue.exists = false; }};
  for (QueueFacts* stopped : {&situation_.cluster_queue, &situation_.local_queue}) {
    for (const auto& change : changes) {
      const QueueFacts before = *stopped;
      workload_.status = {};
      Reserve({"a"});
      Check(0).state = CheckState::kReady;
      change(*stopped);
      EXPECT_THAT(Step(), ElementsAre("Admitted"));
      EXPECT_TRUE(workload_.status.admission.has_value());
      *stopped = before;
    }
  }
}

TEST_F(LifecycleTest, RequeueAtEndsWithoutARequeuedCondition) {
  workload_.status.requeue_state = api::RequeueState{1, now_ + 60s};
  Step();
  EXPECT_EQ(plan_.look_again, Duration(60s));
  EXPECT_EQ(workload_.status.requeue_state, (api::RequeueState{1, now_ + 60s}));
  now_ += 60s;
  Step();
  EXPECT_EQ(workload_.status.requeue_state, (api::RequeueState{1, std::nullopt}));
  EXPECT_EQ(FindCondition(workload_.status.conditions, api::kRequeued), nullptr);
  EXPECT_TRUE(AtRest());
}

TEST_F(LifecycleTest, BackoffEndsBeforeThePodsStop) {
  situation_.pods_ready = {.timeout = 300s, .recovery_timeout = 60s};
  for (const bool hears : {false, true}) {
    situation_.hear_late_answers = hears;
    workload_.status = {};
    workload_.status.requeue_state = api::RequeueState{1, std::nullopt};
    Reserve();
    Step();
    now_ += 300s;
    EXPECT_THAT(Step(), ElementsAre("EvictedDueToPodsReadyTimeout"));
    EXPECT_EQ(workload_.status.requeue_state, (api::RequeueState{2, now_ + 120s}));
    Step();
    EXPECT_EQ(plan_.look_again, Duration(120s));
    now_ += 120s;
    EXPECT_THAT(Step(), IsEmpty());
    EXPECT_EQ(workload_.status.requeue_state, (api::RequeueState{2, std::nullopt}));
    EXPECT_TRUE(IsTrue(workload_.status.conditions, api::kQuotaReserved));
    EXPECT_TRUE(AtRest());
    Release();
    Step();
    EXPECT_EQ(ReasonOf(api::kRequeued), "BackoffFinished");
  }
}

TEST_F(LifecycleTest, HoldOfALocalQueueDropsAReservation) {
  Reserve({"a"});
  situation_.local_queue.stop_policy = api::StopPolicy::kHold;
  EXPECT_THAT(Step(), IsEmpty()) << "nothing ran, so nothing is evicted";
  EXPECT_FALSE(workload_.status.admission.has_value());
  EXPECT_EQ(ReasonOf(api::kQuotaReserved), "Suspended");
  EXPECT_EQ(MessageOf(api::kQuotaReserved), "LocalQueue lq is stopped");
  EXPECT_EQ(ReasonOf(api::kAdmitted), "NoReservation");
  EXPECT_EQ(FindCondition(workload_.status.conditions, api::kEvicted), nullptr);
  situation_.local_queue.stop_policy = api::StopPolicy::kNone;
  EXPECT_EQ(FindCondition(workload_.status.conditions, api::kRequeued), nullptr)
      << "it needs nobody to come back";
}

TEST_F(LifecycleTest, ReservationIsReleasedWhenAQueueIsDeletedOrMissing) {
  struct Row {
    bool local;
    bool exists;
    const char* message;
  };
  for (const Row& row : {Row{true, false, "LocalQueue lq is terminating or missing"},
                         Row{true, true, "LocalQueue lq is terminating or missing"},
                         Row{false, true, "ClusterQueue cq is terminating or missing"}}) {
    workload_.status = {};
    situation_.local_queue = {.name = "lq", .exists = true, .active = true};
    situation_.cluster_queue = {.name = "cq", .exists = true, .active = true};
    Reserve({"a"});
    Check(0).state = CheckState::kPending;
    QueueFacts& queue = row.local ? situation_.local_queue : situation_.cluster_queue;
    queue.exists = row.exists;
    queue.deleting = true;
    Step();
    EXPECT_FALSE(workload_.status.admission.has_value()) << row.message;
    EXPECT_EQ(ReasonOf(api::kQuotaReserved), "Misconfigured");
    EXPECT_EQ(MessageOf(api::kQuotaReserved), row.message);
  }
}

TEST_F(LifecycleTest, ExecutionTimeAddsUpOverAdmissions) {
  workload_.spec.maximum_execution_time_seconds = 100;
  workload_.status.accumulated_past_execution_time_seconds = 40;
  situation_.pods_ready.enabled = false;
  Reserve();
  Step();
  EXPECT_EQ(plan_.look_again, Duration(60s));
  now_ += 60s;
  EXPECT_THAT(Step(), ElementsAre("MaximumExecutionTimeExceeded"));
  Step();
  Step();
  EXPECT_EQ(ReasonOf(api::kEvicted), "DeactivatedDueToMaximumExecutionTimeExceeded");
  EXPECT_EQ(MessageOf(api::kEvicted),
            "The workload is deactivated due to exceeding the maximum execution time");
  EXPECT_THAT(workload_.status.evictions,
              ElementsAre(api::EvictionCount{"Deactivated", "MaximumExecutionTimeExceeded", 1}));

  // Reactivation resets the maximum execution time; a pause does not.
  Release();
  workload_.status.accumulated_past_execution_time_seconds = 100;
  workload_.spec.active = true;
  Step();
  EXPECT_EQ(ReasonOf(api::kRequeued), "Reactivated");
  EXPECT_EQ(workload_.status.accumulated_past_execution_time_seconds, 0);
}

TEST_F(LifecycleTest, DeactivationKeepsTheAccumulatedExecutionTime) {
  workload_.spec.maximum_execution_time_seconds = 100;
  Reserve();
  workload_.spec.active = false;
  EXPECT_THAT(Step(), ElementsAre("EvictedDueToDeactivated"));
  Release();
  workload_.status.accumulated_past_execution_time_seconds = 40;
  workload_.spec.active = true;
  Step();
  EXPECT_EQ(ReasonOf(api::kRequeued), "Reactivated");
  EXPECT_EQ(workload_.status.accumulated_past_execution_time_seconds, 40);
}

TEST_F(LifecycleTest, PodsReadyTimeoutBacksOffAndDeactivatesAtTheLimit) {
  situation_.pods_ready = {.timeout = 300s, .recovery_timeout = 60s, .backoff_limit_count = 2};
  for (const auto delay : {60s, 120s}) {
    Reserve();
    Step();
    EXPECT_EQ(plan_.look_again, Duration(300s));
    now_ += 300s;
    EXPECT_THAT(Step(), ElementsAre("EvictedDueToPodsReadyTimeout"));
    Release();
    Step();
    EXPECT_EQ(plan_.look_again, Duration(delay));
    now_ += delay;
    Step();
    EXPECT_EQ(ReasonOf(api::kRequeued), "BackoffFinished");
  }
  Reserve();
  now_ += 300s;
  Step();
  EXPECT_EQ(ReasonOf(api::kDeactivationTarget), "RequeuingLimitExceeded");
}

TEST_F(LifecycleTest, LostReadinessHasItsOwnTimeout) {
  situation_.pods_ready = {.timeout = 300s, .recovery_timeout = 60s};
  Reserve();
  SetConditionTo(api::kPodsReady, true, "Started");
  now_ += 1h;
  EXPECT_TRUE(AtRest());
  SetConditionTo(api::kPodsReady, false, "WaitForRecovery");
  Step();
  EXPECT_EQ(plan_.look_again, Duration(60s));
  now_ += 60s;
  EXPECT_THAT(Step(), ElementsAre("EvictedDueToPodsReadyTimeout"));
  EXPECT_EQ(workload_.status.evictions[0].underlying_cause, "WaitForRecovery");
}

TEST_F(LifecycleTest, AdmittedWorkloadDropsRemovedChecksAndGetsNoNewOnes) {
  Reserve({"a", "b"});
  Check(0).state = CheckState::kReady;
  Check(1).state = CheckState::kReady;
  Step();
  ASSERT_TRUE(IsTrue(workload_.status.conditions, api::kAdmitted));
  situation_.required_checks = {"b", "new"};
  Step();
  ASSERT_EQ(workload_.status.admission_checks.size(), 1U);
  EXPECT_EQ(workload_.status.admission_checks[0].name, "b");
  EXPECT_TRUE(IsTrue(workload_.status.conditions, api::kAdmitted));
  EXPECT_TRUE(AtRest());
}

TEST_F(LifecycleTest, PodProblemIsReportedAsMisconfigured) {
  situation_.pod_problem = "too large";
  Step();
  EXPECT_EQ(ReasonOf(api::kQuotaReserved), "Misconfigured");
  EXPECT_EQ(MessageOf(api::kQuotaReserved), "too large");
  EXPECT_TRUE(AtRest());
}

TEST_F(LifecycleTest, LostReadinessNeverEvictsWithoutARecoveryTimeout) {
  situation_.pods_ready = {.timeout = 300s, .recovery_timeout = std::nullopt};
  Reserve();
  SetConditionTo(api::kPodsReady, true, "Started");
  now_ += 1h;
  SetConditionTo(api::kPodsReady, false, "WaitForRecovery");
  now_ += 24h;
  EXPECT_TRUE(AtRest());
}

TEST_F(LifecycleTest, MessageNamesTheMissingOrInactiveQueue) {
  situation_.cluster_queue.active = false;
  Step();
  EXPECT_EQ(MessageOf(api::kQuotaReserved), "ClusterQueue cq is inactive");
  situation_.cluster_queue.exists = false;
  Step();
  EXPECT_EQ(ReasonOf(api::kQuotaReserved), "Misconfigured");
  EXPECT_EQ(MessageOf(api::kQuotaReserved), "ClusterQueue cq doesn't exist");
  situation_.local_queue.exists = false;
  Step();
  EXPECT_EQ(MessageOf(api::kQuotaReserved), "LocalQueue lq doesn't exist");
  EXPECT_EQ(ReasonOf(api::kAdmitted), "NoReservation");
  EXPECT_TRUE(AtRest());
}

TEST_F(LifecycleTest, NewReservationKeepsThePreviousEvictionMessage) {
  Reserve();
  Preempt(workload_.status, api::kInCohortReclamation, "Preempted to accommodate x", 1, now_);
  EXPECT_TRUE(IsTrue(workload_.status.conditions, api::kPreempted));
  Release();
  now_ += 5s;
  Reserve();
  EXPECT_TRUE(IsFalse(workload_.status.conditions, api::kEvicted));
  EXPECT_EQ(MessageOf(api::kEvicted), "Previously: Preempted to accommodate x");
  EXPECT_EQ(ReasonOf(api::kPreempted), "QuotaReserved");
}

TEST_F(LifecycleTest, FinishedAndDeletedAreLeftAlone) {
  Reserve({"a"});
  SetConditionTo(api::kFinished, true, "Succeeded");
  Check(0).state = CheckState::kRejected;
  EXPECT_TRUE(AtRest());
  workload_.meta.deletion_timestamp = now_;
  workload_.meta.finalizers = {api::kResourceInUseFinalizer};
  Step();
  EXPECT_TRUE(plan_.remove_finalizer);
  workload_.meta.owner_references.push_back({.kind = "Job", .controller = true});
  Step();
  EXPECT_FALSE(plan_.remove_finalizer) << "the job's controller does it";
}

TEST_F(LifecycleTest, DistinguishesAChangedReasonFromAChangedMessage) {
  api::WorkloadStatus status;
  EXPECT_EQ(SetUnadmitted(status, "WaitingForQuota", "2 more", 1, now_), Difference::kReason);
  EXPECT_EQ(SetUnadmitted(status, "WaitingForQuota", "2 more", 1, now_), Difference::kNone);
  EXPECT_EQ(SetUnadmitted(status, "WaitingForQuota", "1 more", 1, now_), Difference::kMessage);
  EXPECT_EQ(SetUnadmitted(status, "ExceedsMaxQuota", "1 more", 1, now_), Difference::kReason);
}

TEST(QueuedSinceTest, StartsAtTheCreationOrAtTheRequeue) {
  const auto at = [](int seconds) { return WallTime(std::chrono::seconds(seconds)); };
  api::Workload workload;
  workload.meta.creation_timestamp = at(10);
  EXPECT_EQ(QueuedSince(workload), at(10));
  workload.status.conditions = {
      {api::kRequeued, api::ConditionStatus::kFalse, "Preempted", "", at(20), 1}};
  EXPECT_EQ(QueuedSince(workload), at(10)) << "not back yet";
  workload.status.conditions[0].status = api::ConditionStatus::kTrue;
  EXPECT_EQ(QueuedSince(workload), at(20));
}

}  // namespace
}  // namespace berth::admission
