// Goal: a workload leaves the room to a parked workload of its queue that precedes it and fits now;
// a parked workload that does not fit, or has no right to the room, holds nothing back, and nobody
// waits for ever. A borrower leaves the room to a parked workload of the owner likewise. Method:
// tables of a parked workload whose room comes free before the wake-up, worlds cycle by cycle, with
// the rules and without them.
#include <string>

#include <gtest/gtest.h>

#include "admission/cycle/cycle_parked.h"
#include "tests/support/core_fixture.h"

namespace berth::admission {
namespace {

using api::PreemptionPolicy;
using support::KeyOf;
using support::MakeJob;
using support::MakeQueue;
using support::TableWorld;

api::ClusterQueue MakeFourGpus() {
  api::ClusterQueue queue = MakeQueue("q", "", {{"f", {{"gpu", 4}}}});
  queue.spec.preemption.within_cluster_queue = PreemptionPolicy::kLowerPriority;
  return queue;
}

// "running" ends while "parked" waits for its 4 GPUs; "late" comes before the wake-up.
struct ParkedRow {
  const char* name;
  api::QueueingStrategy strategy = api::QueueingStrategy::kBestEffortFifo;
  int parked = 4;    // GPUs that "parked" asks for
  int still_on = 0;  // GPUs of another workload, which goes on
  int priority = 0;  // the priority of "late"; "parked" has 1
  bool hashing = true;
  std::string cycle;
  std::string after_wake_up;
};

class ParkedFirst : public ::testing::TestWithParam<ParkedRow> {};

TEST_P(ParkedFirst, RoomIsLeftToTheParkedWorkloadThatFits) {
  const ParkedRow& row = GetParam();
  SchedulerConfig config;
  config.gates.scheduling_equivalence_hashing = row.hashing;
  api::ClusterQueue queue = MakeFourGpus();
  queue.spec.queueing_strategy = row.strategy;
  TableWorld world({"f"}, {queue}, config);
  if (row.still_on > 0) world.Apply(MakeJob("still-on", "q", row.still_on, {{"gpu", 1}}, 1));
  world.Apply(MakeJob("running", "q", 4 - row.still_on, {{"gpu", 1}}, 1));
  world.AdmitAll();
  world.Apply(MakeJob("parked", "q", row.parked, {{"gpu", 1}}, 1));
  world.Cycle();
  world.Finish(KeyOf("running"));
  world.Apply(MakeJob("late", "q", 1, {{"gpu", 1}}, row.priority));
  EXPECT_EQ(world.Cycle(), row.cycle);
  world.WakeUp();
  EXPECT_EQ(world.Cycle(), row.after_wake_up);
}

INSTANTIATE_TEST_SUITE_P(All, ParkedFirst,
                         ::testing::Values(ParkedRow{.name = "ItFits",
                                                     .cycle = "late Skipped",
                                                     .after_wake_up = "parked Admitted"},
                                           ParkedRow{.name = "ItFitsNowhere",
                                                     .parked = 5,
                                                     .cycle = "late Admitted",
                                                     .after_wake_up = "parked NoFit"},
                                           ParkedRow{.name = "ItLacksRoomStill",
                                                     .still_on = 1,
                                                     .cycle = "late Admitted",
                                                     .after_wake_up = "parked NoCandidates"},
                                           ParkedRow{.name = "TheLateOneHasAHigherPriority",
                                                     .priority = 2,
                                                     .cycle = "late Admitted",
                                                     .after_wake_up = "parked NoCandidates"},
                                           ParkedRow{.name = "NothingIsParkedInAStrictQueue",
                                                     .strategy = api::QueueingStrategy::kStrictFifo,
                                                     .cycle = "parked Admitted",
                                                     .after_wake_up = "late NoCandidates"},
                                           ParkedRow{.name = "ShapesAreNotCompared",
                                                     .hashing = false,
                                                     .cycle = "late Admitted",
                                                     .after_wake_up = "parked Preempting"}),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(ParkedFirstStory, TheParkedWorkloadPreemptsTheLateOneWithoutTheRule) {
  for (const bool own : {true, false}) {
    SCOPED_TRACE(own);
    SchedulerConfig config;
    config.own_rules.parked_first = own;
    TableWorld world({"f"}, {MakeFourGpus()}, config);
    world.Apply(MakeJob("running", "q", 4, {{"gpu", 1}}, 1));
    world.AdmitAll();
    world.Apply(MakeJob("parked", "q", 4, {{"gpu", 1}}, 1));
    world.Cycle();
    world.Finish(KeyOf("running"));
    world.Apply(MakeJob("late", "q", 1, {{"gpu", 1}}));
    world.Cycle();
    if (own) {
      EXPECT_EQ(world.MessageOf("late"),
                "Workload fits, but a workload before it in the queue fits, too, and is about to "
                "be tried again");
    }
    world.WakeUp();
    EXPECT_EQ(world.Cycle(), own ? "parked Admitted" : "parked Preempting");
  }
}

// Queues a, b and d of one cohort have 4 GPUs each, and use them. "running-a" ends while "parked"
// of a waits; "wide" of b, which would borrow, comes before the wake-up.
struct BorrowerRow {
  const char* name;
  PreemptionPolicy reclaims = PreemptionPolicy::kAny;  // queue a
  int parked = 4;                                      // GPUs
  int priority = 0;                                    // the priority of "wide"; "parked" has 1
  bool spare = false;                                  // whether "running-d" ends, too
  bool own = true;
  std::string cycle;
  std::string after_wake_up;
};

class ParkedOwner : public ::testing::TestWithParam<BorrowerRow> {};

TEST_P(ParkedOwner, BorrowerWaitsIfItWouldReclaim) {
  const BorrowerRow& row = GetParam();
  SchedulerConfig config;
  config.own_rules.owners_before_borrowers = row.own;
  api::ClusterQueue owner = MakeQueue("a", "c", {{"f", {{"gpu", 4}}}});
  owner.spec.preemption.reclaim_within_cohort = row.reclaims;
  TableWorld world({"f"},
                   {owner, MakeQueue("b", "c", {{"f", {{"gpu", 4}}}}),
                    MakeQueue("d", "c", {{"f", {{"gpu", 4}}}})},
                   config);
  for (const std::string queue : {"a", "b", "d"}) {
    world.Apply(MakeJob("running-" + queue, queue, 4, {{"gpu", 1}}, 1));
  }
  world.AdmitAll();
  world.Apply(MakeJob("parked", "a", row.parked, {{"gpu", 1}}, 1));
  world.Cycle();
  world.Finish(KeyOf("running-a"));
  if (row.spare) world.Finish(KeyOf("running-d"));
  world.Apply(MakeJob("wide", "b", 4, {{"gpu", 1}}, row.priority));
  EXPECT_EQ(world.Cycle(), row.cycle);
  if (row.cycle == "wide Skipped") {
    EXPECT_EQ(world.MessageOf("wide"),
              "The workload would borrow quota, and workloads of the queues that own the quota go "
              "first");
  }
  world.WakeUp();
  EXPECT_EQ(world.Cycle(), row.after_wake_up);
}

INSTANTIATE_TEST_SUITE_P(
    All, ParkedOwner,
    ::testing::Values(BorrowerRow{.name = "ItFits",
                                  .cycle = "wide Skipped",
                                  .after_wake_up = "parked Admitted, wide Skipped"},
                      BorrowerRow{.name = "WithoutTheRule",
                                  .own = false,
                                  .cycle = "wide Admitted",
                                  .after_wake_up = "parked Preempting"},
                      BorrowerRow{.name = "ItIsLargerThanItsQuota",
                                  .parked = 5,
                                  .cycle = "wide Admitted",
                                  .after_wake_up = "parked NoFit"},
                      BorrowerRow{.name = "ThereIsRoomForBoth",
                                  .spare = true,
                                  .cycle = "wide Admitted",
                                  .after_wake_up = "parked Admitted"},
                      BorrowerRow{.name = "ItsQueueDoesNotReclaim",
                                  .reclaims = PreemptionPolicy::kNever,
                                  .cycle = "wide Admitted",
                                  .after_wake_up = "parked NoCandidates"},
                      BorrowerRow{.name = "TheBorrowerHasAHigherPriority",
                                  .reclaims = PreemptionPolicy::kLowerPriority,
                                  .priority = 2,
                                  .cycle = "wide Admitted",
                                  .after_wake_up = "parked NoCandidates"},
                      BorrowerRow{.name = "TheBorrowerHasALowerPriority",
                                  .reclaims = PreemptionPolicy::kLowerPriority,
                                  .cycle = "wide Skipped",
                                  .after_wake_up = "parked Admitted, wide Skipped"}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(ParkedFirstStory, WorkloadsOfTheShapeWaitWithTheFirst) {
  TableWorld world({"f"}, {MakeFourGpus()});
  world.Apply(MakeJob("running", "q", 4, {{"gpu", 1}}, 1));
  world.AdmitAll();
  world.Apply(MakeJob("parked", "q", 3, {{"gpu", 1}}, 1));
  world.Cycle();
  world.Finish(KeyOf("running"));
  world.Apply(MakeJob("late-1", "q", 1, {{"gpu", 1}}));
  world.Apply(MakeJob("late-2", "q", 1, {{"gpu", 1}}));
  EXPECT_EQ(world.Cycle(), "late-1 Skipped");
  EXPECT_FALSE(world.HasHeads());
  EXPECT_EQ(world.WakeUp(), 3);
  EXPECT_EQ(world.AdmitAll(), "parked, late-1");
}

TEST(ParkedFirstStory, AQueueHoldsBackABoundedNumberOfWorkloads) {
  TableWorld world({"f"}, {MakeFourGpus()});
  world.Apply(MakeJob("running", "q", 4, {{"gpu", 1}}, 1));
  world.AdmitAll();
  world.Apply(MakeJob("parked", "q", 4, {{"gpu", 1}}, 1));
  world.Cycle();
  world.Finish(KeyOf("running"));
  for (int number = 0; number <= CycleParked::kMostHeld; ++number) {
    world.Apply(MakeJob("late", "q", 1, {{"gpu", 1}}, -number));  // a shape of its own
    world.Cycle();
    const bool last = number == CycleParked::kMostHeld;
    ASSERT_EQ(world.Of("late").outcome, last ? Outcome::kAdmitted : Outcome::kSkipped) << number;
    if (!last) world.DeleteWorkload(KeyOf("late"));
  }
}

}  // namespace
}  // namespace berth::admission
