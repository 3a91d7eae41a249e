// Goal: a borrower is not admitted in a cycle after which the next head of a queue that owns the
// quota would preempt the borrower; it is admitted as soon as the owners have tried what is active,
// and never waits for ever. Method: a table of two queues and their workloads, worlds cycle by
// cycle, with the rule and without it.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "admission/cycle/cycle_owners.h"
#include "tests/support/core_fixture.h"

namespace berth::admission {
namespace {

using api::PreemptionPolicy;
using support::MakeCohort;
using support::MakeJob;
using support::MakeOrgQueue;
using support::MakeQueue;
using support::TableWorld;

constexpr int kTooWide = 100;  // more GPUs than any cohort here has

// The queue `owner` with 4 GPUs has a head that does not fit anywhere, and "next" behind the head.
// "b" asks for 4 GPUs, of which its own queue has none.
struct OwnersRow {
  const char* name;
  PreemptionPolicy reclaim = PreemptionPolicy::kAny;
  api::QueueingStrategy strategy = api::QueueingStrategy::kBestEffortFifo;
  int idle = 0;      // GPUs of a queue of the cohort that has no workloads
  int running = 0;   // GPUs that the owner uses
  int of_next = 1;   // GPUs that "next" asks for; 0: there is no such workload
  int priority = 0;  // the priority of "b"
  std::string first_cycle;
  std::string then;  // the second cycle
};

class OwnersBeforeBorrowers : public ::testing::TestWithParam<OwnersRow> {};

TEST_P(OwnersBeforeBorrowers, FirstTwoCyclesFollowTheRule) {
  const OwnersRow& row = GetParam();
  api::ClusterQueue owner = MakeOrgQueue("owner", 4, row.reclaim);
  owner.spec.queueing_strategy = row.strategy;
  TableWorld world({"f"}, {owner, MakeOrgQueue("borrower", 0), MakeOrgQueue("idle", row.idle)});
  if (row.running > 0) {
    world.Apply(MakeJob("running", "owner", row.running, {{"gpu", 1}}));
    ASSERT_EQ(world.AdmitAll(), "running");
  }
  world.Apply(MakeJob("wide", "owner", kTooWide, {{"gpu", 1}}, 2));
  if (row.of_next > 0) world.Apply(MakeJob("next", "owner", row.of_next, {{"gpu", 1}}, 1));
  world.Apply(MakeJob("b", "borrower", 4 - row.running, {{"gpu", 1}}, row.priority));
  EXPECT_EQ(world.Cycle(), row.first_cycle);
  EXPECT_EQ(world.Cycle(), row.then);
}

INSTANTIATE_TEST_SUITE_P(
    All, OwnersBeforeBorrowers,
    ::testing::Values(OwnersRow{.name = "TheNextHeadWouldReclaim",
                                .first_cycle = "wide NoFit, b Skipped",
                                .then = "next Admitted, b Skipped"},
                      OwnersRow{.name = "TheNextHeadDoesNotFitEither",
                                .of_next = kTooWide + 1,
                                .first_cycle = "wide NoFit, b Skipped",
                                .then = "next NoFit, b Admitted"},
                      OwnersRow{.name = "NoWorkloadBehindTheHead",
                                .of_next = 0,
                                .first_cycle = "wide NoFit, b Admitted"},
                      OwnersRow{.name = "QuotaThatNobodyWantsIsEnough",
                                .idle = 4,
                                .first_cycle = "wide NoFit, b Admitted",
                                .then = "next Admitted"},
                      OwnersRow{.name = "QuotaThatNobodyWantsIsTooLittle",
                                .idle = 3,
                                .first_cycle = "wide NoFit, b Skipped",
                                .then = "next Admitted, b Admitted"},
                      OwnersRow{.name = "TheOwnerUsesItsQuota",
                                .idle = 2,
                                .running = 2,
                                .first_cycle = "wide NoFit, b Admitted",
                                .then = "next Admitted"},
                      OwnersRow{.name = "TheOwnerMayNotReclaim",
                                .reclaim = PreemptionPolicy::kNever,
                                .first_cycle = "wide NoFit, b Admitted",
                                .then = "next NoCandidates"},
                      OwnersRow{.name = "TheOwnerMayReclaimFromThisPriority",
                                .reclaim = PreemptionPolicy::kLowerPriority,
                                .first_cycle = "wide NoFit, b Skipped",
                                .then = "next Admitted, b Skipped"},
                      OwnersRow{.name = "TheOwnerMayNotReclaimFromThisPriority",
                                .reclaim = PreemptionPolicy::kLowerPriority,
                                .priority = 2,
                                .first_cycle = "wide NoFit, b Admitted",
                                .then = "next NoCandidates"},
                      OwnersRow{.name = "AStrictQueueTriesNothingBehindItsHead",
                                .strategy = api::QueueingStrategy::kStrictFifo,
                                .first_cycle = "wide NoFit, b Admitted",
                                .then = "wide NoFit"}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(OwnersBeforeBorrowersStory, OwnersNextHeadPreemptsTheBorrowerWithoutTheRule) {
  for (const bool own : {true, false}) {
    SCOPED_TRACE(own);
    SchedulerConfig config;
    config.own_rules.owners_before_borrowers = own;
    TableWorld world(
        {"f"}, {MakeOrgQueue("owner", 4, PreemptionPolicy::kAny), MakeOrgQueue("borrower", 0)},
        config);
    world.Apply(MakeJob("wide", "owner", kTooWide, {{"gpu", 1}}, 2));
    world.Apply(MakeJob("next", "owner", 1, {{"gpu", 1}}));
    world.Apply(MakeJob("b", "borrower", 4, {{"gpu", 1}}));
    if (!own) {
      EXPECT_EQ(world.Cycle(), "wide NoFit, b Admitted");
      EXPECT_EQ(world.Cycle(), "next Preempting");
      EXPECT_EQ(world.VictimsOf("next"), "b(InCohortReclamation)");
      continue;
    }
    EXPECT_EQ(world.Cycle(), "wide NoFit, b Skipped");
    EXPECT_EQ(world.MessageOf("b"),
              "The workload would borrow quota, and workloads of the queues that own the quota go "
              "first");
    EXPECT_EQ(world.AdmitAll(), "next");
  }
}

// Each of two queues borrows what the other one owns, and has a workload that would take its own.
TEST(OwnersBeforeBorrowersStory, QueuesThatBorrowFromEachOtherAreAdmitted) {
  const auto queue = [](const char* name, int cpus, int gpus) {
    api::ClusterQueue made = MakeQueue(name, "org", {{"f", {{"cpu", cpus}, {"gpu", gpus}}}});
    made.spec.preemption.reclaim_within_cohort = PreemptionPolicy::kAny;
    return made;
  };
  TableWorld world({"f"}, {queue("a", 4000, 0), queue("b", 0, 4)});
  world.Apply(MakeJob("a-borrows", "a", 4, {{"gpu", 1}}, 1));
  world.Apply(MakeJob("a-owns", "a", 1, {{"cpu", 1000}}));
  world.Apply(MakeJob("b-borrows", "b", 4, {{"cpu", 1000}}, 1));
  world.Apply(MakeJob("b-owns", "b", 1, {{"gpu", 1}}));
  EXPECT_EQ(world.Cycle(), "a-borrows Admitted, b-borrows Admitted");
}

TEST(OwnersBeforeBorrowersStory, AMemberOfTheCohortThatOwnsTheQuotaReclaimsToo) {
  api::ClusterQueue member = MakeQueue("member", "left", {{"f", {{"gpu", 0}}}});
  member.spec.preemption.reclaim_within_cohort = PreemptionPolicy::kAny;
  for (const char* of : {"left", "right"}) {
    SCOPED_TRACE(of);
    TableWorld world({"f"}, {member, MakeQueue("borrower", "right", {{"f", {{"gpu", 0}}}})});
    for (const std::string name : {"left", "right"}) {
      world.ControlPlane::Apply(MakeCohort(name, "org", {{"f", {{"gpu", name == of ? 4 : 0}}}}));
    }
    world.Apply(MakeJob("wide", "member", kTooWide, {{"gpu", 1}}, 1));
    world.Apply(MakeJob("next", "member", 1, {{"gpu", 1}}));
    world.Apply(MakeJob("b", "borrower", 4, {{"gpu", 1}}));
    const bool left = std::string(of) == "left";
    EXPECT_EQ(world.Cycle(), left ? "wide NoFit, b Skipped" : "wide NoFit, b Admitted")
        << "the queue has an advantage where its cohort lends the quota";
  }
}

TEST(OwnersBeforeBorrowersStory, BorrowerIsAdmittedAfterABoundedNumberOfCycles) {
  TableWorld world({"f"},
                   {MakeOrgQueue("owner", 4, PreemptionPolicy::kAny), MakeOrgQueue("borrower", 0)});
  world.Apply(MakeJob("b", "borrower", 4, {{"gpu", 1}}));
  const auto wide = [&world](int number) {
    world.Apply(
        MakeJob("wide-" + std::to_string(number), "owner", kTooWide + number, {{"gpu", 1}}));
  };
  wide(0);
  for (int cycle = 0; cycle < CycleOwners::kMostCycles; ++cycle) {
    wide(cycle + 1);
    world.Cycle();
    ASSERT_EQ(world.Of("b").outcome, Outcome::kSkipped) << cycle;
  }
  wide(CycleOwners::kMostCycles + 1);
  world.Cycle();
  EXPECT_EQ(world.Of("b").outcome, Outcome::kAdmitted);
}

}  // namespace
}  // namespace berth::admission
