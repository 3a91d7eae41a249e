// Goal: numbers and states of an eviction: backoff, limits, check states, immediate requeueing.
// Method: one plan per row (admission/lifecycle); whole lives are in lifecycle/.
#include <gtest/gtest.h>

#include "admission/lifecycle/workload_lifecycle.h"
#include "api/condition.h"
#include "api/provisioning_labels.h"
#include "api/reasons.h"
#include "integrations/release.h"
#include "tests/support/core_fixture.h"

namespace berth::admission {
namespace {

using namespace std::chrono_literals;

constexpr WallTime kNow{1'767'225'600s};

api::Workload Reserved(const std::vector<std::string>& checks) {
  api::Workload workload = support::MakeJob("w", "lq", 1, {{"gpu", 1}});
  workload.meta.creation_timestamp = kNow;
  ReserveQuota(workload.status, {"cq", {}}, checks, 1, kNow);
  return workload;
}

WorkloadSituation SituationOf(const api::Workload& workload,
                              const std::vector<std::string>& checks) {
  WorkloadSituation situation;
  situation.workload = &workload;
  situation.local_queue = {.name = "lq", .exists = true, .active = true};
  situation.cluster_queue = {.name = "cq", .exists = true, .active = true};
  situation.required_checks = checks;
  return situation;
}

std::string ReasonOf(const api::WorkloadStatus& status, const char* type) {
  const api::Condition* condition = api::FindCondition(status.conditions, type);
  if (condition == nullptr) return "";
  return (condition->status == api::ConditionStatus::kTrue ? "" : "not ") + condition->reason;
}

// The n-th backoff is min(base × 2^(n-1), max).
TEST(EvictionTest, BackoffOfUnreadyPodsDoublesUpToItsMaximum) {
  struct Row {
    std::int32_t before;
    std::chrono::seconds base;
    std::chrono::seconds max;
    std::chrono::seconds delay;
  };
  const Row rows[] = {
      {0, 60s, 3600s, 60s},
      {1, 60s, 3600s, 120s},
      {2, 60s, 3600s, 240s},
      {5, 60s, 3600s, 1920s},
      {6, 60s, 3600s, 3600s},
      {60, 60s, 3600s, 3600s},
      {2147483646, 60s, 3600s, 3600s},
      {0, 10s, 5s, 5s},
      {3, 1s, 3600s, 8s},
      {9, 0s, 3600s, 0s},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.before);
    api::Workload workload = Reserved({});
    if (row.before > 0) workload.status.requeue_state = {row.before, {}};
    WorkloadSituation situation = SituationOf(workload, {});
    situation.pods_ready = {.timeout = 300s, .backoff_base = row.base, .backoff_max = row.max};
    const WorkloadPlan plan = PlanWorkload(situation, kNow + 300s);
    ASSERT_TRUE(plan.status.has_value());
    EXPECT_EQ(ReasonOf(*plan.status, api::kEvicted), "PodsReadyTimeout");
    ASSERT_TRUE(plan.status->requeue_state.has_value());
    EXPECT_EQ(plan.status->requeue_state->count, row.before + 1);
    EXPECT_EQ(plan.status->requeue_state->requeue_at, kNow + 300s + row.delay);
  }
}

TEST(EvictionTest, StandingNodesAreNotEvictedForUnreadyPods) {
  api::Workload workload = Reserved({});
  workload.meta.labels[api::kPrewarmLabel] = "office-hours";
  WorkloadSituation situation = SituationOf(workload, {});
  situation.pods_ready = {.timeout = 300s};
  const WorkloadPlan plan = PlanWorkload(situation, kNow + 300s);
  EXPECT_EQ(plan.status ? ReasonOf(*plan.status, api::kEvicted) : "", "");
}

TEST(EvictionTest, RequeuesBeyondTheLimitDeactivate) {
  for (const std::int32_t before : {0, 1, 2, 3}) {
    SCOPED_TRACE(before);
    api::Workload workload = Reserved({});
    workload.status.requeue_state = {before, {}};
    WorkloadSituation situation = SituationOf(workload, {});
    situation.pods_ready = {.timeout = 300s, .backoff_limit_count = 2};
    const WorkloadPlan plan = PlanWorkload(situation, kNow + 300s);
    const bool beyond = before >= 2;
    EXPECT_EQ(ReasonOf(*plan.status, api::kDeactivationTarget),
              beyond ? "RequeuingLimitExceeded" : "");
    EXPECT_EQ(ReasonOf(*plan.status, api::kEvicted), beyond ? "" : "PodsReadyTimeout");
  }
}

TEST(EvictionTest, StrongestStateOfTwoChecksDecides) {
  using api::CheckState;
  struct Row {
    const char* name;
    CheckState a;
    CheckState b;
    bool admitted;
    const char* evicted;
    const char* target;
  };
  const Row rows[] = {
      {"open", CheckState::kPending, CheckState::kReady, false, "", ""},
      {"ready", CheckState::kReady, CheckState::kReady, true, "", ""},
      {"one wants to be tried again", CheckState::kReady, CheckState::kRetry, false,
       "AdmissionCheck", ""},
      {"one says no", CheckState::kRejected, CheckState::kPending, false, "", "AdmissionCheck"},
      {"no is stronger", CheckState::kRetry, CheckState::kRejected, false, "", "AdmissionCheck"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    api::Workload workload = Reserved({"a", "b"});
    workload.status.admission_checks[0].state = row.a;
    workload.status.admission_checks[1].state = row.b;
    const WorkloadPlan plan = PlanWorkload(SituationOf(workload, {"a", "b"}), kNow + 1s);
    const api::WorkloadStatus& status = plan.status ? *plan.status : workload.status;
    EXPECT_EQ(ReasonOf(status, api::kAdmitted),
              row.admitted ? "Admitted" : "not UnsatisfiedAdmissionChecks");
    EXPECT_EQ(ReasonOf(status, api::kEvicted), row.evicted);
    EXPECT_EQ(ReasonOf(status, api::kDeactivationTarget), row.target);
  }
}

TEST(EvictionTest, TheLongestDelayOfTheChecksCounts) {
  api::Workload workload = Reserved({"a", "b"});
  for (api::AdmissionCheckState& check : workload.status.admission_checks) {
    check.state = api::CheckState::kRetry;
    check.requeue_after_seconds = check.name == "a" ? 30 : 90;
  }
  const WorkloadPlan plan = PlanWorkload(SituationOf(workload, {"a", "b"}), kNow);
  EXPECT_EQ(plan.status->requeue_state, (api::RequeueState{0, kNow + 90s}));
}

TEST(EvictionTest, PreemptedAndFailedOverWorkloadsRequeueAtOnce) {
  struct Row {
    const char* evicted;
    const char* requeued;
  };
  const Row rows[] = {
      {"Preempted", "Preempted"},
      {"NodeFailures", "NodeFailures"},
      {"PodsReadyTimeout", "not PodsReadyTimeout"},
      {"AdmissionCheck", "not AdmissionCheck"},
      {"ClusterQueueStopped", "not ClusterQueueStopped"},
      {"LocalQueueStopped", "not LocalQueueStopped"},
      {"Deactivated", "not Deactivated"},
      {"DeactivatedDueToMaximumExecutionTimeExceeded",
       "not DeactivatedDueToMaximumExecutionTimeExceeded"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.evicted);
    api::Workload workload = Reserved({});
    Evict(workload.status, {row.evicted, "m", ""}, 1, kNow + 10s);
    const api::WorkloadStatus status = integrations::StatusAfterRelease(workload, kNow + 40s);
    EXPECT_EQ(ReasonOf(status, api::kRequeued), row.requeued);
    EXPECT_EQ(ReasonOf(status, api::kQuotaReserved), "not PendingEvaluation");
    EXPECT_EQ(ReasonOf(status, api::kAdmitted), "not NoReservation");
    EXPECT_FALSE(status.admission.has_value());
    EXPECT_EQ(status.accumulated_past_execution_time_seconds, 40);
  }
}

TEST(EvictionTest, CountsEvictionsByReasonAndCause) {
  api::WorkloadStatus status;
  Evict(status, {"Preempted", "m", "InClusterQueue"}, 1, kNow);
  Evict(status, {"Preempted", "m", "InClusterQueue"}, 1, kNow);
  Evict(status, {"Preempted", "m", "InCohortReclamation"}, 1, kNow);
  Evict(status, {"AdmissionCheck", "m", ""}, 1, kNow);
  EXPECT_EQ(status.evictions,
            (std::vector<api::EvictionCount>{{"Preempted", "InClusterQueue", 2},
                                             {"Preempted", "InCohortReclamation", 1},
                                             {"AdmissionCheck", "", 1}}));
}

}  // namespace
}  // namespace berth::admission
