// Goal: the victims of classical preemption. Method: running workloads, one preemptor, one cycle;
// expected victims by hand from KEP-83 and KEP-1337, as each row's name explains.
#include <gtest/gtest.h>

#include "tests/support/core_fixture.h"

namespace berth::admission {
namespace {

using api::PreemptionPolicy;
using support::MakeJob;
using support::MakeQueue;
using support::TableWorld;

struct Running {
  const char* name;
  const char* queue;
  std::int32_t priority;
  Amount gpus;
  int later = 0;  // seconds after the one before: reserved that much later
};

struct QueueOf {
  const char* name;
  Amount nominal;
  std::optional<Amount> borrowing = {};
};

// Preemptor "p" in queue a, which has the policies of the row; the other queues never preempt.
struct PreemptionRow {
  const char* name;
  std::vector<QueueOf> queues;  // all in one cohort
  api::QueuePreemption policies;
  std::vector<Running> running;
  std::int32_t priority;
  Amount gpus;
  const char* victims;  // "" with the outcome NoCandidates or NoFit
};

void Check(const PreemptionRow& row) {
  SCOPED_TRACE(row.name);
  std::vector<api::ClusterQueue> queues;
  for (const QueueOf& queue : row.queues) {
    queues.push_back(
        MakeQueue(queue.name, "c", {{"f", {{"gpu", queue.nominal, queue.borrowing}}}}));
  }
  queues[0].spec.preemption = row.policies;
  TableWorld world({"f"}, queues);
  for (const Running& running : row.running) {
    world.Advance(std::chrono::seconds(running.later));
    world.Apply(MakeJob(running.name, running.queue, 1, {{"gpu", running.gpus}}, running.priority));
    ASSERT_EQ(world.AdmitAll(), running.name);
  }
  world.Advance(std::chrono::seconds(10));
  world.Apply(MakeJob("p", "a", 1, {{"gpu", row.gpus}}, row.priority));
  world.Cycle();
  EXPECT_EQ(world.VictimsOf("p"), row.victims);
  EXPECT_EQ(world.Of("p").outcome == Outcome::kPreempting, *row.victims != '\0');
}

constexpr api::QueuePreemption kLower{.within_cluster_queue = PreemptionPolicy::kLowerPriority};
constexpr api::QueuePreemption kLowerOrNewer{.within_cluster_queue =
                                                 PreemptionPolicy::kLowerOrNewerEqualPriority};
constexpr api::QueuePreemption kReclaimAny{.reclaim_within_cohort = PreemptionPolicy::kAny};
constexpr api::QueuePreemption kReclaimLower{.reclaim_within_cohort =
                                                 PreemptionPolicy::kLowerPriority};
constexpr api::QueuePreemption kBoth{.reclaim_within_cohort = PreemptionPolicy::kAny,
                                     .within_cluster_queue = PreemptionPolicy::kLowerPriority};

TEST(PreemptionTest, PolicyAndOrderChooseVictimsWithinTheQueue) {
  const PreemptionRow rows[] = {
      {"Never", {{"a", 4}}, {}, {{"x", "a", 0, 4}}, 9, 1, ""},
      {"lower priority goes", {{"a", 4}}, kLower, {{"x", "a", 0, 4}}, 1, 1, "x(InClusterQueue)"},
      {"equal priority stays", {{"a", 4}}, kLower, {{"x", "a", 1, 4}}, 1, 1, ""},
      {"equal and older stays", {{"a", 4}}, kLowerOrNewer, {{"x", "a", 1, 4}}, 1, 1, ""},
      {"the lowest priority first",
       {{"a", 4}},
       kLower,
       {{"x", "a", 1, 2}, {"y", "a", 0, 2}},
       2,
       2,
       "y(InClusterQueue)"},
      {"of equals the one that reserved last",
       {{"a", 4}},
       kLower,
       {{"x", "a", 0, 2}, {"y", "a", 0, 2, 5}},
       1,
       2,
       "y(InClusterQueue)"},
      {"of equals at one time the lower UID",
       {{"a", 4}},
       kLower,
       {{"x", "a", 0, 2}, {"y", "a", 0, 2}},
       1,
       2,
       "x(InClusterQueue)"},
      {"as many as it takes",
       {{"a", 6}},
       kLower,
       {{"x", "a", 0, 2}, {"y", "a", 1, 2}, {"z", "a", 2, 2}},
       3,
       4,
       "x(InClusterQueue) y(InClusterQueue)"},
      {"x (1) goes first and is put back: z (4) alone makes room for 4",
       {{"a", 5}},
       kLower,
       {{"x", "a", 0, 1}, {"z", "a", 1, 4}},
       3,
       4,
       "z(InClusterQueue)"},
      {"the last one taken is never put back: y (3), z (1), then x (1) for 5",
       {{"a", 5}},
       kLower,
       {{"x", "a", 2, 1}, {"y", "a", 0, 3}, {"z", "a", 1, 1}},
       3,
       5,
       "x(InClusterQueue) y(InClusterQueue) z(InClusterQueue)"},
      {"not even all of lower priority would do",
       {{"a", 4}},
       kLower,
       {{"x", "a", 0, 2}, {"y", "a", 9, 2}},
       3,
       3,
       ""},
  };
  for (const PreemptionRow& row : rows) Check(row);
}

TEST(PreemptionTest, NewerEqualPriorityIsPreemptedIfThePolicyAllowsIt) {
  api::ClusterQueue a = MakeQueue("a", "", {{"f", {{"gpu", 4}}}});
  a.spec.preemption = kLowerOrNewer;
  TableWorld world({"f"}, {a});
  api::Workload newer = MakeJob("newer", "a", 1, {{"gpu", 4}}, 1);
  newer.meta.creation_timestamp = world.now() + std::chrono::seconds(60);
  world.Apply(newer);
  ASSERT_EQ(world.AdmitAll(), "newer");
  world.Apply(MakeJob("p", "a", 1, {{"gpu", 1}}, 1));
  EXPECT_EQ(world.Cycle(), "p Preempting");
  EXPECT_EQ(world.VictimsOf("p"), "newer(InClusterQueue)");
}

TEST(PreemptionTest, PolicyAndQuotaChooseVictimsInTheCohort) {
  const PreemptionRow rows[] = {
      {"a takes its own back from whoever borrowed it, of any priority",
       {{"a", 4}, {"b", 0}},
       kReclaimAny,
       {{"x", "b", 9, 4}},
       0,
       2,
       "x(InCohortReclamation)"},
      {"reclaim of lower priority only",
       {{"a", 4}, {"b", 0}},
       kReclaimLower,
       {{"x", "b", 9, 4}},
       0,
       2,
       ""},
      {"lower priority is reclaimed",
       {{"a", 4}, {"b", 0}},
       kReclaimLower,
       {{"x", "b", 0, 4}},
       1,
       2,
       "x(InCohortReclamation)"},
      {"who keeps within its own quota is safe; d borrows",
       {{"a", 4}, {"b", 4}, {"d", 0}},
       kReclaimAny,
       {{"x", "b", 0, 4}, {"y", "d", 5, 4}},
       9,
       4,
       "y(InCohortReclamation)"},
      {"once b borrows no more the rest of it is safe: 2 + 2 of 2, one is enough to end it",
       {{"a", 4}, {"b", 2}},
       kReclaimAny,
       {{"x", "b", 0, 2}, {"y", "b", 1, 2}},
       9,
       3,
       "x(InCohortReclamation)"},
      {"others before the own queue",
       {{"a", 4}, {"b", 0}},
       kBoth,
       {{"x", "a", 0, 2}, {"y", "b", 5, 2}},
       9,
       2,
       "y(InCohortReclamation)"},
      {"own queue where the others are not enough",
       {{"a", 4}, {"b", 0}},
       kBoth,
       {{"x", "a", 0, 2}, {"y", "b", 5, 2}},
       9,
       4,
       "x(InClusterQueue) y(InCohortReclamation)"},
      {"a preemptor that would borrow reclaims from nobody",
       {{"a", 2}, {"b", 2}},
       kReclaimLower,
       {{"x", "b", 0, 3}},
       9,
       3,
       ""},
      {"nor does one go of its own queue: it could only borrow",
       {{"a", 2}, {"b", 2}},
       kLower,
       {{"x", "a", 0, 4}},
       9,
       3,
       ""},
  };
  for (const PreemptionRow& row : rows) Check(row);
}

TEST(PreemptionTest, BorrowingPreemptorReclaimsUpToTheThreshold) {
  const auto borrow = [](std::optional<std::int32_t> threshold) {
    return api::QueuePreemption{.reclaim_within_cohort = PreemptionPolicy::kLowerPriority,
                                .borrow_within_cohort = PreemptionPolicy::kLowerPriority,
                                .borrow_max_priority_threshold = threshold};
  };
  // 2 + 4 in the cohort; x uses 5 of it, so b borrows 1. p wants 4, which is 2 beyond its own.
  const auto row = [&](const char* name, std::optional<std::int32_t> threshold, std::int32_t of_x,
                       std::int32_t of_p, const char* victims) {
    return PreemptionRow{
        name, {{"a", 2}, {"b", 4}}, borrow(threshold), {{"x", "b", of_x, 5}}, of_p, 4, victims};
  };
  const PreemptionRow rows[] = {
      row("lower priority", {}, 0, 1, "x(InCohortReclaimWhileBorrowing)"),
      row("equal priority", {}, 1, 1, ""),
      row("up to the threshold", 3, 3, 9, "x(InCohortReclaimWhileBorrowing)"),
      row("above the threshold", 3, 4, 9, ""),
  };
  for (const PreemptionRow& each : rows) Check(each);
}

TEST(PreemptionTest, PreemptorThatDoesNotBorrowReclaimsAboveTheThreshold) {
  Check({"threshold 0, x has priority 4; p stays within its 2",
         {{"a", 2}, {"b", 2}},
         {.reclaim_within_cohort = PreemptionPolicy::kLowerPriority,
          .borrow_within_cohort = PreemptionPolicy::kLowerPriority,
          .borrow_max_priority_threshold = 0},
         {{"x", "b", 4, 4}},
         9,
         2,
         "x(InCohortReclamation)"});
}

//     root ── left (3 of its own) ── a (2), l
//          └─ right ── r
//
// p wants 3: more than a has, within the 5 of left. So near, in left, may not go for a borrower,
// and far may, though near has the lower priority.
TEST(PreemptionTest, VictimsOutsideThePreemptorsSubtreeComeFirst) {
  api::ClusterQueue a = MakeQueue("a", "left", {{"f", {{"gpu", 2}}}});
  a.spec.preemption = kReclaimAny;
  TableWorld world({"f"}, {a, MakeQueue("l", "left", {{"f", {{"gpu", 0}}}}),
                           MakeQueue("r", "right", {{"f", {{"gpu", 0}}}})});
  world.Apply(support::MakeCohort("left", "root", {{"f", {{"gpu", 3}}}}));
  world.Apply(support::MakeCohort("right", "root"));
  world.Apply(MakeJob("near", "l", 1, {{"gpu", 2}}, 0));
  world.Apply(MakeJob("far", "r", 1, {{"gpu", 3}}, 5));
  ASSERT_EQ(world.AdmitAll(), "near, far");
  world.Apply(MakeJob("p", "a", 1, {{"gpu", 3}}, 0));
  EXPECT_EQ(world.Cycle(), "p Preempting");
  EXPECT_EQ(world.VictimsOf("p"), "far(InCohortReclamation)");
}

// The same story, but a lends only two of its four: p's request for five takes two that nobody else
// may have, and the other three are within the four of left.
TEST(PreemptionTest, QuotaThatIsNotLentCountsBeforeTheSubtree) {
  api::ClusterQueue a =
      MakeQueue("a", "left", {{"f", {{.resource = "gpu", .nominal = 4, .lending = 2}}}});
  a.spec.preemption = kReclaimAny;
  TableWorld world({"f"}, {a, MakeQueue("l", "left", {{"f", {{"gpu", 2}}}}),
                           MakeQueue("r", "right", {{"f", {{"gpu", 0}}}})});
  world.Apply(support::MakeCohort("left", "root"));
  world.Apply(support::MakeCohort("right", "root"));
  world.Apply(MakeJob("far", "r", 1, {{"gpu", 4}}, 5));
  ASSERT_EQ(world.AdmitAll(), "far");
  world.Apply(MakeJob("p", "a", 1, {{"gpu", 5}}, 0));
  EXPECT_EQ(world.Cycle(), "p Preempting");
  EXPECT_EQ(world.VictimsOf("p"), "far(InCohortReclamation)");
}

TEST(PreemptionTest, VictimThatIsStoppingIsTakenWithoutASecondEviction) {
  api::ClusterQueue a = MakeQueue("a", "", {{"f", {{"gpu", 4}}}});
  a.spec.preemption = kLower;
  TableWorld world({"f"}, {a});
  world.Apply(MakeJob("x", "a", 1, {{"gpu", 2}}, 0));
  world.Apply(MakeJob("y", "a", 1, {{"gpu", 2}}, 1));
  ASSERT_EQ(world.AdmitAll(), "y, x");
  world.Apply(MakeJob("p", "a", 1, {{"gpu", 2}}, 5));
  EXPECT_EQ(world.Cycle(), "p Preempting");
  EXPECT_FALSE(world.Of("p").victims[0].ongoing);
  EXPECT_EQ(world.Cycle(), "p Preempting");
  EXPECT_EQ(world.VictimsOf("p"), "x(InClusterQueue)");
  EXPECT_TRUE(world.Of("p").victims[0].ongoing);
  const api::Workload& x = *world.Find(support::KeyOf("x"));
  EXPECT_EQ(x.status.evictions.size(), 1U);
  EXPECT_EQ(x.status.evictions[0].count, 1);
  world.ReleaseEvicted();
  EXPECT_EQ(world.Cycle(), "p Admitted");
}

TEST(PreemptionTest, SparedCandidateHasACause) {
  api::ClusterQueue a = MakeQueue("a", "", {{"f", {{"gpu", 5}}}});
  a.spec.preemption = kLower;
  TableWorld world({"f"}, {a});
  world.Apply(MakeJob("small", "a", 1, {{"gpu", 1}}, 0));
  world.Apply(MakeJob("large", "a", 1, {{"gpu", 4}}, 1));
  world.AdmitAll();
  world.Apply(MakeJob("p", "a", 1, {{"gpu", 4}}, 5));
  EXPECT_EQ(world.Cycle(), "p Preempting");
  ASSERT_EQ(world.Of("p").spared.size(), 1U);
  EXPECT_EQ(world.Of("p").spared[0].workload,
            *world.scheduler().workloads().Find(support::KeyOf("small")));
  EXPECT_EQ(world.Of("p").spared[0].cause, SparedCandidate::Cause::kNotNeeded);
}

// The quota that a blocked preemptor keeps from later entries of the cycle.
TEST(PreemptionTest, ABlockedPreemptorHoldsItsQuotaUnlessItCanAlwaysReclaim) {
  for (const bool may_reclaim : {false, true}) {
    SCOPED_TRACE(may_reclaim);
    api::ClusterQueue a = MakeQueue("a", "c", {{"f", {{"gpu", 4}}}});
    if (may_reclaim) a.spec.preemption.reclaim_within_cohort = PreemptionPolicy::kAny;
    TableWorld world({"f"}, {a, MakeQueue("b", "c", {{"f", {{"gpu", 0}}}})});
    world.Apply(MakeJob("x", "a", 1, {{"gpu", 2}}, 9));
    ASSERT_EQ(world.AdmitAll(), "x");
    world.Apply(MakeJob("p", "a", 1, {{"gpu", 3}}, 9));  // fits a's quota, but not its rest
    world.Apply(MakeJob("y", "b", 1, {{"gpu", 2}}, 0));
    EXPECT_EQ(world.Cycle(),
              may_reclaim ? "p NoCandidates, y Admitted" : "p NoCandidates, y Skipped");
  }
}

TEST(PreemptionTest, VictimsQuotaIsNotGivenBeforeItStops) {
  api::ClusterQueue a = MakeQueue("a", "c", {{"f", {{"gpu", 8}}}});
  a.spec.preemption = kLower;
  TableWorld world({"f"}, {a, MakeQueue("b", "c", {{"f", {{"gpu", 1}}}}),
                           MakeQueue("d", "c", {{"f", {{"gpu", 1}}}})});
  world.Apply(MakeJob("victim", "a", 1, {{"gpu", 8}}, 0));
  ASSERT_EQ(world.AdmitAll(), "victim");
  // 10 in all, 2 left. p wants 3 of a; the two others 2 each.
  world.Apply(MakeJob("p", "a", 1, {{"gpu", 3}}, 9));
  world.Apply(MakeJob("y", "b", 1, {{"gpu", 2}}, 8));
  world.Apply(MakeJob("z", "d", 1, {{"gpu", 2}}, 7));
  EXPECT_EQ(world.Cycle(), "p Preempting, y Admitted, z Skipped") << "8 + 2 are in use, not 12";
  world.ReleaseEvicted();
  EXPECT_EQ(world.AdmitAll(), "p, z");
}

}  // namespace
}  // namespace berth::admission
