// Goal: the order of workloads in a ClusterQueue. Method: rows for the queue-order instant, for the
// priority, and for pairs.
#include "queue/ordering.h"

#include <gtest/gtest.h>

#include "api/condition.h"
#include "api/labels.h"
#include "api/reasons.h"

namespace berth::queue {
namespace {

using namespace std::chrono_literals;

constexpr WallTime kCreated{1'000s};
constexpr WallTime kLater{2'000s};

api::Condition Condition(const char* type, bool value, const char* reason) {
  return {.type = type,
          .status = value ? api::ConditionStatus::kTrue : api::ConditionStatus::kFalse,
          .reason = reason,
          .last_transition_time = kLater};
}

TEST(OrderingTest, OrderTimeIsTheCreationOrTheEviction) {
  struct Row {
    const char* name;
    std::vector<api::Condition> conditions;
    OrderingOptions options;
    WallTime since;
  };
  const OrderingOptions creation{.pods_ready_requeuing = RequeuingTimestamp::kCreation};
  const OrderingOptions unsorted{.priority_sorting_within_cohort = false};
  const Row rows[] = {
      {"its creation", {}, {}, kCreated},
      {"pods were not ready: the eviction",
       {Condition(api::kEvicted, true, api::kPodsReadyTimeout)},
       {},
       kLater},
      {"unless the creation is asked for",
       {Condition(api::kEvicted, true, api::kPodsReadyTimeout)},
       creation,
       kCreated},
      {"a check failed: the eviction",
       {Condition(api::kEvicted, true, api::kAdmissionCheckReason)},
       {},
       kLater},
      {"a check failed, whatever is asked for pods",
       {Condition(api::kEvicted, true, api::kAdmissionCheckReason)},
       creation,
       kLater},
      {"an eviction that is over does not count",
       {Condition(api::kEvicted, false, api::kPodsReadyTimeout)},
       {},
       kCreated},
      {"preempted: its creation", {Condition(api::kEvicted, true, "Preempted")}, {}, kCreated},
      {"preempted by a borrower, without sorting by priority: just behind it",
       {Condition(api::kEvicted, true, "Preempted"),
        Condition(api::kPreempted, true, api::kInCohortReclaimWhileBorrowing)},
       unsorted,
       kLater + 1ms},
      {"the same with sorting by priority: its creation",
       {Condition(api::kPreempted, true, api::kInCohortReclaimWhileBorrowing)},
       {},
       kCreated},
      {"preempted for another reason, without sorting",
       {Condition(api::kPreempted, true, api::kInClusterQueue)},
       unsorted,
       kCreated},
      {"stopped queue: its creation",
       {Condition(api::kEvicted, true, api::kClusterQueueStopped)},
       {},
       kCreated},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    api::Workload workload;
    workload.meta.creation_timestamp = kCreated;
    workload.status.conditions = row.conditions;
    EXPECT_EQ(QueueOrderTime(workload, row.options), row.since);
  }
}

TEST(OrderingTest, AProvisioningPolicyKeepsThePlaceInTheQueue) {
  api::Workload workload;
  workload.meta.creation_timestamp = kCreated;
  workload.meta.annotations = {{api::kProvisioningMemoryAnnotation, "{}"}};
  workload.status.conditions = {Condition(api::kEvicted, true, api::kAdmissionCheckReason)};
  EXPECT_EQ(QueueOrderTime(workload, {}), kCreated);
  workload.status.conditions = {Condition(api::kEvicted, true, api::kPodsReadyTimeout)};
  EXPECT_EQ(QueueOrderTime(workload, {}), kLater) << "the eviction of no check";
}

TEST(OrderingTest, TheEffectivePriorityIsThePriorityPlusAValidBoost) {
  struct Row {
    const char* name;
    std::optional<std::int32_t> priority;
    const char* boost;
    bool counts;
    std::int64_t effective;
  };
  const Row rows[] = {
      {"none is 0", {}, "", false, 0},
      {"its own", 7, "", true, 7},
      {"negative", -7, "", true, -7},
      {"a boost that does not count", 7, "5", false, 7},
      {"a boost", 7, "5", true, 12},
      {"a negative boost", 7, "-5", true, 2},
      {"a boost without a priority", {}, "5", true, 5},
      {"nonsense is no boost", 7, "much", true, 7},
      {"the largest boost", 2147483647, "2147483647", true, 4294967294},
      {"more than 32 bits is no boost", 7, "2147483648", true, 7},
      {"less than 32 bits is no boost", -7, "-9223372036854775808", true, -7},
      {"beyond 32 bits", 2'147'483'647, "1", true, 2'147'483'648},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    api::Workload workload;
    workload.spec.priority = row.priority;
    if (*row.boost != '\0') {
      workload.meta.annotations[api::kPriorityBoostAnnotation] = row.boost;
    }
    EXPECT_EQ(EffectivePriority(workload, {.priority_boost = row.counts}), row.effective);
  }
}

TEST(OrderingTest, OrdersByPriorityThenTimeThenUid) {
  const std::string a = "a";
  const std::string b = "b";
  struct Row {
    const char* name;
    OrderKey first;
    OrderKey second;
  };
  const Row rows[] = {
      {"priority before age", {2, kLater, &b}, {1, kCreated, &a}},
      {"age before UID", {1, kCreated, &b}, {1, kLater, &a}},
      {"UID last", {1, kCreated, &a}, {1, kCreated, &b}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_TRUE(Before(row.first, row.second));
    EXPECT_FALSE(Before(row.second, row.first));
    EXPECT_FALSE(Before(row.first, row.first));
  }
}

}  // namespace
}  // namespace berth::queue
