// Goal: the store of Workloads gives the scheduler what was written, in the order of the writes,
// and knows its Workloads by the scheduler's numbers. Method: one queue of four CPUs and the
// decisions of its scheduler.
#include "simulation/workloads.h"

#include <gtest/gtest.h>

#include "api/condition.h"
#include "api/reasons.h"
#include "simulation/agenda.h"
#include "tests/simulation/day.h"

namespace berth::simulation {
namespace {

constexpr WallTime kNow{std::chrono::seconds(1'800'000'000)};

class WorkloadsTest : public ::testing::Test {
 protected:
  WorkloadsTest() {
    Cluster cluster = EmptyCluster();
    AddQueue(cluster, "a", 4);
    Prepare(cluster);
    for (const auto& each : cluster.namespaces) scheduler_.Apply(each);
    for (const auto& each : cluster.flavors) scheduler_.Apply(each);
    for (const auto& each : cluster.cluster_queues) scheduler_.Apply(each);
    for (const auto& each : cluster.local_queues) scheduler_.Apply(each);
  }

  void Submit(std::size_t number, std::int32_t priority) {
    auto object = std::make_shared<api::Workload>();
    object->meta.name = "w" + std::to_string(number);
    object->meta.uid = object->meta.name;
    object->meta.namespace_name = "team";
    object->meta.creation_timestamp = kNow;
    object->spec.queue_name = "a";
    object->spec.priority = priority;
    api::PodSet pods;
    pods.name = "main";
    pods.count = 1;
    pods.pod_template.spec.containers.emplace_back().requests = {{"cpu", 4000}};
    object->spec.pod_sets = std::vector<api::PodSet>{pods};
    workloads_.Set(number, object, kNow);
  }
  bool Is(std::size_t number, const char* condition) const {
    return api::IsTrue(workloads_.object(number)->status.conditions, condition);
  }

  admission::Driver driver_{admission::DriverOptions{}};
  admission::Scheduler& scheduler_ = driver_.scheduler();
  Workloads workloads_{driver_};
};

TEST_F(WorkloadsTest, APreemptedWorkloadGivesItsQuotaToThePreemptor) {
  Submit(7, 0);
  const admission::CycleResult& first = scheduler_.RunCycle(kNow);
  ASSERT_EQ(first.decisions.size(), 1U);
  ASSERT_TRUE(admission::GivesQuota(first.decisions[0]));
  EXPECT_EQ(workloads_.NumberOf(first.decisions[0].workload), 7U);
  workloads_.Write(7, driver_.WritesOf(first.decisions[0]).front(), kNow);
  EXPECT_TRUE(Is(7, api::kAdmitted));
  workloads_.Deliver(kNow);

  Submit(3, 100);
  const admission::CycleResult& second = scheduler_.RunCycle(kNow);
  ASSERT_EQ(second.decisions.size(), 1U);
  ASSERT_EQ(second.decisions[0].victims.size(), 1U);
  EXPECT_FALSE(admission::GivesQuota(second.decisions[0]));
  const admission::Victim& victim = second.decisions[0].victims[0];
  EXPECT_EQ(workloads_.NumberOf(victim.workload), 7U);
  workloads_.Write(7, driver_.WritesOf(second.decisions[0]).front(), kNow);
  EXPECT_TRUE(Is(7, api::kEvicted));
  EXPECT_TRUE(workloads_.object(7)->status.admission.has_value());
  workloads_.ReleaseEvicted(kNow);
  EXPECT_FALSE(workloads_.object(7)->status.admission.has_value());
  workloads_.Deliver(kNow);

  const admission::CycleResult& third = scheduler_.RunCycle(kNow);
  ASSERT_FALSE(third.decisions.empty());
  EXPECT_EQ(workloads_.NumberOf(third.decisions[0].workload), 3U);
  EXPECT_TRUE(admission::GivesQuota(third.decisions[0]));
}

TEST_F(WorkloadsTest, SchedulerSeesChangesOnlyAfterDelivery) {
  Submit(0, 0);
  const api::ObjectKey key = workloads_.object(0)->meta.key();
  workloads_.Finish(0, kNow);
  EXPECT_TRUE(Is(0, api::kFinished));
  EXPECT_TRUE(scheduler_.HasHeads());
  workloads_.Deliver(kNow);
  EXPECT_FALSE(scheduler_.HasHeads());
  workloads_.Edit(0);
  workloads_.Forget(0);
  EXPECT_EQ(workloads_.object(0), nullptr);
  workloads_.Deliver(kNow);  // nothing is left to deliver
  EXPECT_FALSE(scheduler_.workloads().Find(key).has_value());
}

TEST_F(WorkloadsTest, SecondFinishChangesNothing) {
  Submit(0, 0);
  workloads_.Finish(0, kNow);
  const auto finished = workloads_.object(0);
  workloads_.Finish(0, kNow + std::chrono::hours(1));
  EXPECT_EQ(workloads_.object(0), finished);
  Submit(1, 0);
  workloads_.Finish(1, kNow, /*failed=*/true);
  EXPECT_EQ(workloads_.object(1)->status.conditions.at(0).reason, api::kFailed);
}

TEST(AgendaTest, EntriesAreDueByTimeThenNumber) {
  Agenda<int> agenda;
  EXPECT_EQ(agenda.Next(), std::nullopt);
  agenda.Add(5, 2);
  agenda.Add(3, 9);
  agenda.Add(5, 1);
  agenda.Add(4, 4);
  agenda.Remove(4, 4);
  agenda.Remove(4, 8);
  EXPECT_EQ(agenda.size(), 3U);
  EXPECT_EQ(agenda.Next(), 3);
  EXPECT_EQ(agenda.TakeDue(2), std::nullopt);
  EXPECT_EQ(agenda.TakeDue(5), 9U);
  EXPECT_EQ(agenda.TakeDue(5), 1U);
  EXPECT_EQ(agenda.TakeDue(5), 2U);
  EXPECT_EQ(agenda.TakeDue(5), std::nullopt);
}

}  // namespace
}  // namespace berth::simulation
