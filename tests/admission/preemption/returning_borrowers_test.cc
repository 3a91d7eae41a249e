// Goal: a borrower that was preempted for an owner of the quota does not return between the owner's
// workloads, to be preempted again. Method: worlds of two queues, cycle by cycle, with the rule and
// without it.
#include <chrono>
#include <memory>

#include <gtest/gtest.h>

#include "api/reasons.h"
#include "tests/support/core_fixture.h"

namespace berth::admission {
namespace {

using api::PreemptionPolicy;
using support::KeyOf;
using support::MakeJob;
using support::MakeOrgQueue;
using support::TableWorld;

class ReturningBorrowers : public ::testing::Test {
 protected:
  // `v` borrowed quota of `owner`, and was preempted for `first`, which runs on all of it.
  static std::unique_ptr<TableWorld> AfterReclaim(bool own) {
    SchedulerConfig config;
    config.own_rules.owners_before_borrowers = own;
    const std::vector<api::ClusterQueue> queues = {MakeOrgQueue("owner", 4, PreemptionPolicy::kAny),
                                                   MakeOrgQueue("borrower", 0)};
    auto made = std::make_unique<TableWorld>(std::vector<std::string>{"f"}, queues, config);
    TableWorld& world = *made;
    world.Apply(MakeJob("v", "borrower", 1, {{"gpu", 1}}));
    EXPECT_EQ(world.Cycle(), "v Admitted");
    world.Apply(MakeJob("first", "owner", 4, {{"gpu", 1}}));
    EXPECT_EQ(world.Cycle(), "first Preempting");
    world.ReleaseEvicted();
    world.AdmitAll();
    return made;
  }
};

TEST_F(ReturningBorrowers, OwnersNextWorkloadIsAdmittedBeforeTheBorrower) {
  for (const bool own : {true, false}) {
    SCOPED_TRACE(own);
    const auto made = AfterReclaim(own);
    TableWorld& world = *made;
    world.Apply(MakeJob("second", "owner", 3, {{"gpu", 1}}));
    world.Apply(MakeJob("third", "owner", 1, {{"gpu", 1}}));
    world.Finish(KeyOf("first"));
    world.WakeUp();
    world.WakeUp();
    if (!own) {
      EXPECT_EQ(world.Cycle(), "second Admitted, v Admitted");
      EXPECT_EQ(world.Cycle(), "third Preempting") << "v again";
      continue;
    }
    EXPECT_EQ(world.Cycle(), "second Admitted, v Skipped");
    EXPECT_EQ(world.MessageOf("v"),
              "The workload would borrow quota, and workloads of the queues that own the quota go "
              "first");
    EXPECT_EQ(world.Cycle(), "third Admitted, v Skipped");
  }
}

TEST_F(ReturningBorrowers, NoOtherBorrowerIsAdmittedBeforeTheOwnersNextWorkload) {
  SchedulerConfig config;
  const std::vector<api::ClusterQueue> queues = {MakeOrgQueue("owner", 4, PreemptionPolicy::kAny),
                                                 MakeOrgQueue("borrower", 0),
                                                 MakeOrgQueue("other", 0)};
  TableWorld world({"f"}, queues, config);
  world.Apply(MakeJob("v", "borrower", 1, {{"gpu", 1}}));
  EXPECT_EQ(world.Cycle(), "v Admitted");
  world.Apply(MakeJob("first", "owner", 4, {{"gpu", 1}}));
  EXPECT_EQ(world.Cycle(), "first Preempting");
  world.ReleaseEvicted();
  world.AdmitAll();
  world.Apply(MakeJob("second", "owner", 3, {{"gpu", 1}}));
  world.Apply(MakeJob("third", "owner", 1, {{"gpu", 1}}));
  world.Apply(MakeJob("newcomer", "other", 1, {{"gpu", 1}}));
  world.Finish(KeyOf("first"));
  world.WakeUp();
  EXPECT_EQ(world.Cycle(), "second Admitted, v Skipped, newcomer Skipped");
}

TEST_F(ReturningBorrowers, BorrowerIsAdmittedBesideTheOwnersLastWorkload) {
  const auto made = AfterReclaim(true);
  TableWorld& world = *made;
  world.Apply(MakeJob("second", "owner", 3, {{"gpu", 1}}));
  world.Finish(KeyOf("first"));
  world.WakeUp();
  EXPECT_EQ(world.Cycle(), "second Admitted, v Admitted") << "no workload waits behind `second`";
}

TEST_F(ReturningBorrowers, BorrowerIsAdmittedWhenTheOwnersWorkloadsDoNotFit) {
  const auto made = AfterReclaim(true);
  TableWorld& world = *made;
  world.Apply(MakeJob("wide", "owner", 5, {{"gpu", 1}}));
  world.Apply(MakeJob("wider", "owner", 6, {{"gpu", 1}}));
  world.Finish(KeyOf("first"));
  world.WakeUp();
  EXPECT_EQ(world.Cycle(), "wide NoFit, v Skipped");
  EXPECT_EQ(world.Cycle(), "wider NoFit, v Admitted");
}

TEST(SpareThePreempted, SparesTheEqualCandidateThatWasPreemptedBefore) {
  for (const bool own : {true, false}) {
    SCOPED_TRACE(own);
    SchedulerConfig config;
    config.own_rules.spare_the_preempted = own;
    TableWorld world(
        {"f"}, {MakeOrgQueue("owner", 2, PreemptionPolicy::kAny), MakeOrgQueue("borrower", 0)},
        config);
    api::Workload returned = MakeJob("returned", "borrower", 1, {{"gpu", 1}});
    returned.meta.uid = "a";  // Kueue's choice
    api::Workload fresh = MakeJob("fresh", "borrower", 1, {{"gpu", 1}});
    fresh.meta.uid = "b";
    world.Apply(returned);
    EXPECT_EQ(world.AdmitAll(), "returned");
    world.Apply(MakeJob("first", "owner", 2, {{"gpu", 1}}));
    EXPECT_EQ(world.Cycle(), "first Preempting");
    world.ReleaseEvicted();
    EXPECT_EQ(world.AdmitAll(), "first");
    world.Finish(KeyOf("first"));
    world.Apply(fresh);
    world.WakeUp();
    EXPECT_EQ(world.AdmitAll(), "returned, fresh");
    for (const char* name : {"returned", "fresh"}) {  // the API stores whole seconds
      api::Workload stored = *world.Find(KeyOf(name));
      for (api::Condition& condition : stored.status.conditions) {
        condition.last_transition_time =
            std::chrono::floor<std::chrono::seconds>(condition.last_transition_time);
      }
      world.Apply(stored);
    }
    world.Apply(MakeJob("second", "owner", 1, {{"gpu", 1}}));
    EXPECT_EQ(world.Cycle(), "second Preempting");
    EXPECT_EQ(world.VictimsOf("second"),
              own ? "fresh(InCohortReclamation)" : "returned(InCohortReclamation)");
  }
}

}  // namespace
}  // namespace berth::admission
