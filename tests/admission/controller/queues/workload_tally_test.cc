// Goal: tallies follow every change of a workload and end at zero. Method: a sequence of states,
// whole-value comparisons.

#include "admission/controller/queues/workload_tally.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/reasons.h"

namespace berth::admission {
namespace {

using Amounts = std::map<std::pair<std::string, api::ResourceName>, api::Amount>;

void Set(api::Workload& workload, const char* type) {
  api::SetCondition(workload.status.conditions,
                    {.type = type, .status = api::ConditionStatus::kTrue});
}

TEST(WorkloadTally, CountsAWorkloadByItsConditions) {
  WorkloadTally tally;
  const api::ObjectKey lq{"team", "lq"};
  api::Workload pending;
  pending.meta.namespace_name = "team";
  pending.spec.queue_name = "lq";
  pending.spec.pod_sets = {{.name = "main", .count = 4}};
  tally.Change(nullptr, &pending);
  EXPECT_EQ(tally.LocalQueue(lq).pending, 1);

  api::Workload reserved = pending;
  Set(reserved, api::kQuotaReserved);
  reserved.status.admission = api::Admission{
      "cq",
      {{.name = "main", .flavors = {{"cpu", "f"}}, .resource_usage = {{"cpu", 4000}}, .count = 4}}};
  const auto touched = tally.Change(&pending, &reserved);
  EXPECT_THAT(touched.cluster_queues, ::testing::ElementsAre("cq"));
  EXPECT_EQ(tally.LocalQueue(lq).pending, 0);
  EXPECT_EQ(tally.ClusterQueue("cq").reserving, 1);
  EXPECT_EQ(tally.ClusterQueue("cq").reservation, (Amounts{{{"f", "cpu"}, 4000}}));
  EXPECT_TRUE(tally.ClusterQueue("cq").usage.empty());

  api::Workload admitted = reserved;
  Set(admitted, api::kAdmitted);
  admitted.status.reclaimable_pods = {{"main", 1}};
  tally.Change(&reserved, &admitted);
  EXPECT_EQ(tally.ClusterQueue("cq").admitted, 1);
  EXPECT_EQ(tally.LocalQueue(lq).usage, (Amounts{{{"f", "cpu"}, 3000}}));

  api::Workload finished = admitted;
  Set(finished, api::kFinished);
  tally.Change(&admitted, &finished);
  EXPECT_EQ(tally.ClusterQueue("cq").reserving, 0);
  EXPECT_TRUE(tally.ClusterQueue("cq").reservation.empty());
  tally.Change(&finished, nullptr);
  EXPECT_EQ(tally.LocalQueue(lq).pending, 0);
}

// Simulation, wrong-count, seed 3132.
TEST(WorkloadTally, ReclaimablePodsReduceAPartialAdmissionOnlyBelowItsCount) {
  api::Workload workload;
  workload.spec.pod_sets = {{.name = "main", .count = 3}};
  workload.status.admission = api::Admission{
      "cq",
      {{.name = "main", .flavors = {{"cpu", "f"}}, .resource_usage = {{"cpu", 4000}}, .count = 2}}};
  Set(workload, api::kQuotaReserved);
  for (const auto& [done, cpu] : {std::pair{1, 4000}, {2, 2000}}) {
    WorkloadTally tally;
    workload.status.reclaimable_pods = {{"main", done}};
    tally.Change(nullptr, &workload);
    EXPECT_EQ(tally.ClusterQueue("cq").reservation, (Amounts{{{"f", "cpu"}, cpu}})) << done;
  }
}

TEST(WorkloadTally, InactiveWorkloadsDoNotWait) {
  WorkloadTally tally;
  api::Workload workload;
  workload.spec.active = false;
  tally.Change(nullptr, &workload);
  EXPECT_EQ(tally.LocalQueue({}).pending, 0);
}

TEST(UsageList, NamesEveryFlavorAndItsBorrowedAmount) {
  const std::vector<api::ResourceGroup> groups = {
      {.covered_resources = {"memory", "cpu"},
       .flavors = {{"b", {{"memory", 10}, {"cpu", 2000}}}, {"a", {{"memory", 1}, {"cpu", 0}}}}}};
  const Amounts amounts{{{"b", "cpu"}, 3000}};
  EXPECT_EQ(UsageList(groups, InCohort::kYes, amounts),
            (std::vector<api::FlavorUsage>{{"b", {{"cpu", 3000, 1000}, {"memory", 0, 0}}},
                                           {"a", {{"cpu", 0, 0}, {"memory", 0, 0}}}}));
  EXPECT_EQ(UsageList(groups, InCohort::kNo, amounts)[0].resources[0].borrowed, 0);
}

}  // namespace
}  // namespace berth::admission
