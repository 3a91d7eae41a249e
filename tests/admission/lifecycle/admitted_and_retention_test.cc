// Goal: the message of Admitted=False, gates, and the retention of finished Workloads.
// Method: tables of status and situation; the plan's condition, events and times.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "admission/lifecycle/status_edit.h"
#include "admission/lifecycle/workload_lifecycle.h"
#include "api/labels.h"
#include "api/reasons.h"

namespace berth::admission {
namespace {

using namespace std::chrono_literals;
using api::CheckState;
using api::ConditionStatus;

constexpr WallTime kNow{1'767'225'600s};

TEST(AdmittedCondition, PodsReadyIsWrittenTogetherWithAdmitted) {
  struct Row {
    const char* name;
    bool admitted;
    bool has_owner;
    const char* reason_before;  // the reason of PodsReady; null: there is no such condition
    const char* reason;
  };
  const std::vector<Row> rows = {
      {"a job's", true, true, nullptr, "WaitForStart"},
      {"not admitted", false, true, nullptr, nullptr},
      {"nobody's", true, false, nullptr, nullptr},
      {"a second admission", true, true, "WaitForRecovery", "WaitForRecovery"},
  };
  for (const Row& row : rows) {
    api::WorkloadStatus status;
    api::ObjectMeta meta;
    meta.generation = 3;
    if (row.has_owner) meta.owner_references.push_back({.kind = "Job", .name = "j"});
    const auto set = [&status](const char* type, ConditionStatus value, const char* reason) {
      SetStatusCondition(status, type, value, reason, "", 1, kNow);
    };
    set(api::kAdmitted, row.admitted ? ConditionStatus::kTrue : ConditionStatus::kFalse, "r");
    if (row.reason_before != nullptr) {
      set(api::kPodsReady, ConditionStatus::kFalse, row.reason_before);
    }
    AwaitPods(status, meta, kNow);
    const api::Condition* ready = api::FindCondition(status.conditions, api::kPodsReady);
    ASSERT_EQ(ready != nullptr, row.reason != nullptr) << row.name;
    if (ready == nullptr) continue;
    EXPECT_EQ(ready->status, ConditionStatus::kFalse) << row.name;
    EXPECT_EQ(ready->reason, row.reason) << row.name;
    EXPECT_EQ(&status.conditions.back(), ready) << row.name << ": behind Admitted";
    EXPECT_EQ(ready->observed_generation, row.reason_before == nullptr ? 3 : 1) << row.name;
  }
}

TEST(AdmittedCondition, NamesTheMissingRequirement) {
  struct Row {
    const char* name;
    bool reserved;
    std::vector<CheckState> checks;
    bool topology_pending;
    ConditionStatus status;
    std::string reason;
    std::string message;
  };
  const ConditionStatus no = ConditionStatus::kFalse;
  const std::vector<Row> rows = {
      {"nothing", false, {}, false, no, "NoReservation", "The workload has no reservation"},
      {"checks before quota",
       false,
       {CheckState::kReady},
       false,
       no,
       "NoReservation",
       "The workload has no reservation"},
      {"open check",
       true,
       {CheckState::kReady, CheckState::kPending},
       false,
       no,
       "UnsatisfiedAdmissionChecks",
       "The workload has not all checks ready"},
      {"refused check",
       true,
       {CheckState::kRejected},
       false,
       no,
       "UnsatisfiedAdmissionChecks",
       "The workload has not all checks ready"},
      {"topology",
       true,
       {CheckState::kReady},
       true,
       no,
       "PendingDelayedTopologyRequests",
       "There are pending delayed topology requests"},
      {"all there",
       true,
       {CheckState::kReady},
       false,
       ConditionStatus::kTrue,
       "Admitted",
       "The workload is admitted"},
  };
  for (const Row& row : rows) {
    api::WorkloadStatus status;
    SetStatusCondition(status, api::kQuotaReserved, row.reserved ? ConditionStatus::kTrue : no,
                       "QuotaReserved", "", 1, kNow);
    if (row.reserved) {
      status.admission.emplace().pod_set_assignments.emplace_back();
      if (row.topology_pending) {
        status.admission->pod_set_assignments[0].delayed_topology_request = "Pending";
      }
    }
    for (const CheckState state : row.checks) {
      status.admission_checks.push_back({.name = "check", .state = state});
    }
    EXPECT_TRUE(SyncAdmittedCondition(status, 1, kNow)) << row.name;
    const api::Condition* admitted = api::FindCondition(status.conditions, api::kAdmitted);
    ASSERT_NE(admitted, nullptr) << row.name;
    EXPECT_EQ(admitted->status, row.status) << row.name;
    EXPECT_EQ(admitted->reason, row.reason) << row.name;
    EXPECT_EQ(admitted->message, row.message) << row.name;
    EXPECT_FALSE(SyncAdmittedCondition(status, 1, kNow + 5s)) << row.name << ": no news";
  }
}

TEST(AdmittedCondition, StaysTrueWhenACheckBecomesPending) {
  api::WorkloadStatus status;
  ReserveQuota(status, {"cq", {}}, {}, 1, kNow);
  status.admission_checks.push_back({.name = "late", .state = CheckState::kPending});
  EXPECT_FALSE(SyncAdmittedCondition(status, 1, kNow));
  EXPECT_TRUE(api::IsTrue(status.conditions, api::kAdmitted));
}

TEST(Retention, FinishedWorkloadsAreDeletedAfterTheirRetention) {
  struct Row {
    std::optional<Duration> keep;
    Duration age;
    bool removed;
    std::optional<Duration> look_again;
  };
  const std::vector<Row> rows = {{std::nullopt, 1000h, false, std::nullopt},
                                 {10min, 0s, false, 10min},
                                 {10min, 599s, false, 1s},
                                 {10min, 10min, true, std::nullopt},
                                 {Duration::zero(), 0s, true, std::nullopt}};
  for (const Row& row : rows) {
    api::Workload workload;
    api::SetCondition(workload.status.conditions, {.type = api::kFinished,
                                                   .status = ConditionStatus::kTrue,
                                                   .reason = "Succeeded",
                                                   .last_transition_time = kNow - row.age});
    WorkloadSituation situation;
    situation.workload = &workload;
    situation.keep_finished = row.keep;
    const WorkloadPlan plan = PlanWorkload(situation, kNow);
    EXPECT_EQ(plan.remove, row.removed);
    EXPECT_EQ(plan.look_again, row.look_again);
    EXPECT_EQ(plan.events.size(), row.removed ? 1U : 0U);
    EXPECT_FALSE(plan.status.has_value());
  }
}

TEST(Gates, AdmissionGateAnnotationHoldsTheWorkloadUntilItsRemoval) {
  api::Workload workload;
  workload.spec.queue_name = "lq";
  WorkloadSituation situation;
  situation.workload = &workload;
  situation.local_queue = {.name = "lq", .exists = true, .active = true};
  situation.cluster_queue = {.name = "cq", .exists = true, .active = true};
  const auto step = [&] {
    const WorkloadPlan plan = PlanWorkload(situation, kNow);
    if (plan.status) workload.status = *plan.status;
    return plan.events.empty() ? std::string() : plan.events[0].reason;
  };
  const auto reason = [&] {
    return api::FindCondition(workload.status.conditions, api::kQuotaReserved)->reason;
  };
  workload.meta.annotations[api::kAdmissionGatedByAnnotation] = "a.io/x,b.io/y";
  EXPECT_EQ(step(), "AdmissionGated");
  EXPECT_EQ(reason(), "AdmissionGated");
  EXPECT_EQ(step(), "") << "said once";
  workload.meta.annotations[api::kAdmissionGatedByAnnotation] = "b.io/y";
  EXPECT_EQ(step(), "") << "still gated";
  workload.meta.annotations.clear();
  EXPECT_EQ(step(), "") << "the scheduler's loop says so";
  EXPECT_EQ(reason(), "PendingEvaluation");
  EXPECT_EQ(step(), "");
}

TEST(Orphans, WorkloadWithoutItsOwnerIsFinishedAndLosesItsFinalizer) {
  const WallTime now{std::chrono::seconds(1000)};
  api::Workload workload;
  workload.meta.labels = {{api::kJobUidLabel, "u"}};
  workload.meta.finalizers = {api::kResourceInUseFinalizer};
  ReserveQuota(workload.status, {"cq", {}}, {}, 3, now);
  WorkloadSituation situation;
  situation.workload = &workload;
  WorkloadPlan plan = PlanWorkload(situation, now);
  ASSERT_TRUE(plan.finish.has_value());
  EXPECT_EQ(plan.finish->reason, "OwnerNotFound");
  EXPECT_FALSE(plan.status || plan.deactivate || plan.remove);
  workload.status.conditions.push_back(*plan.finish);
  EXPECT_TRUE(PlanWorkload(situation, now).remove_finalizer);
  workload.meta.finalizers.clear();
  plan = PlanWorkload(situation, now);
  EXPECT_FALSE(plan.finish || plan.remove_finalizer);

  // A Workload without an owner never loses one; a Workload with its owner has not lost it.
  workload.status = {};
  workload.meta.labels.clear();
  EXPECT_FALSE(PlanWorkload(situation, now).finish);
  workload.meta.labels = {{api::kJobUidLabel, "u"}};
  workload.meta.owner_references.emplace_back();
  EXPECT_FALSE(PlanWorkload(situation, now).finish);
}

TEST(Claims, ProblemOfDeviceClaimsIsReportedAsMisconfigured) {
  const WallTime now{std::chrono::seconds(1000)};
  api::Workload workload;
  workload.spec.pod_sets.emplace_back().pod_template.spec.resource_claims = true;
  WorkloadSituation situation;
  situation.workload = &workload;
  situation.local_queue.exists = situation.cluster_queue.exists = true;
  situation.cluster_queue.active = true;
  EXPECT_FALSE(PlanWorkload(situation, now).status.has_value());  // they are counted
  situation.pod_problem = "no such class";
  situation.local_queue.exists = false;  // the other problem is reported later
  const WorkloadPlan plan = PlanWorkload(situation, now);
  ASSERT_TRUE(plan.status.has_value());
  const auto* reserved = api::FindCondition(plan.status->conditions, api::kQuotaReserved);
  ASSERT_NE(reserved, nullptr);
  EXPECT_EQ(reserved->reason, "Misconfigured");
  EXPECT_EQ(reserved->message, "no such class");
}

}  // namespace
}  // namespace berth::admission
