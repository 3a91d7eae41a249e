// Goal: the share of a queue or cohort, and the order of shares. Method: usage by running
// workloads; shares computed by hand: the usage above the subtree quota, summed over flavors, ×1000
// ÷ the amount that the parent's tree could lend of the resource, the largest of these ÷ the
// weight.
#include "admission/quota/dominant_share.h"

#include <cstdint>

#include <gtest/gtest.h>

#include "tests/support/core_fixture.h"

namespace berth::admission {
namespace {

using support::MakeJob;
using support::MakeQueue;
using support::TableWorld;

TEST(DominantShareTest, ShareIsTheBorrowedPartInThousandthsByWeight) {
  struct Row {
    const char* name;
    Amount nominal_a;
    Amount nominal_b;
    Amount used;  // by a
    std::int64_t weight_nano;
    std::int64_t share;
  };
  constexpr std::int64_t kOne = 1'000'000'000;
  const Row rows[] = {
      {"within its quota", 4, 6, 4, kOne, 0},
      {"3 above of 10", 4, 6, 7, kOne, 300},
      {"twice the weight", 4, 6, 7, 2 * kOne, 150},
      {"half the weight", 4, 6, 7, kOne / 2, 600},
      {"1 above of 3, rounded up", 0, 3, 1, kOne, 334},
      {"weight 0 and nothing borrowed", 4, 6, 4, 0, 0},
      {"weight 0 and something borrowed: infinite", 4, 6, 5, 0, INT64_MAX},
      {"everything", 0, 5, 5, kOne, 1000},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    api::ClusterQueue a = MakeQueue("a", "c", {{"f", {{"gpu", row.nominal_a}}}});
    a.spec.fair_weight_nano = row.weight_nano;
    SchedulerConfig config;
    config.fair_sharing.emplace();
    TableWorld world({"f"}, {a, MakeQueue("b", "c", {{"f", {{"gpu", row.nominal_b}}}})}, config);
    world.Apply(MakeJob("w", "a", 1, {{"gpu", row.used}}));
    ASSERT_EQ(world.AdmitAll(), "w");
    EXPECT_EQ(WeightedShare(world.scheduler().shares().Of(world.NodeOf("a"))), row.share);
    EXPECT_EQ(WeightedShare(world.scheduler().shares().Of(world.NodeOf("b"))), 0);
    EXPECT_EQ(WeightedShare(
                  world.scheduler().shares().Of(*world.scheduler().state().cohorts().Find("c"))),
              0)
        << "a root has nobody to share with";
  }
}

TEST(DominantShareTest, TheLargestResourceCountsOverAllFlavors) {
  // The queue a borrows 1 + 2 of 10 GPUs (f0 4, f1 6), and 8 of 20 memory in f0: 300 and 400.
  TableWorld world(
      {"f0", "f1"},
      {MakeQueue("a", "c",
                 {{"f0", {{"gpu", 0}, {"memory", 0}}}, {"f1", {{"gpu", 0}, {"memory", 0}}}}),
       MakeQueue("b", "c",
                 {{"f0", {{"gpu", 4}, {"memory", 10}}}, {"f1", {{"gpu", 6}, {"memory", 10}}}})});
  world.Apply(MakeJob("x", "a", 1, {{"gpu", 1}, {"memory", 8}}));
  ASSERT_EQ(world.AdmitAll(), "x");
  world.Apply(MakeJob("y", "a", 1, {{"gpu", 2}, {"memory", 3}}));
  ASSERT_EQ(world.AdmitAll(), "y");
  EXPECT_EQ(world.FlavorFor("y", "gpu"), "f1") << "no memory left on f0";
  EXPECT_EQ(WeightedShare(world.scheduler().shares().Of(world.NodeOf("a"))), 550)
      << "(8 + 3) of 20 memory";
  world.Finish(support::KeyOf("x"));
  EXPECT_EQ(WeightedShare(world.scheduler().shares().Of(world.NodeOf("a"))), 200)
      << "2 of 10 GPUs > 3 of 20";
}

TEST(DominantShareTest, CohortHasAShareOfItsParent) {
  // team (quota 2) in company (10 of its own, 2 + 10 in all): a uses 5, 3 above the team's 2.
  TableWorld world({"f"}, {MakeQueue("a", "team", {{"f", {{"gpu", 2}}}})});
  world.Apply(support::MakeCohort("company", "", {{"f", {{"gpu", 10}}}}));
  world.Apply(support::MakeCohort("team", "company"));
  world.Apply(MakeJob("w", "a", 1, {{"gpu", 5}}));
  ASSERT_EQ(world.AdmitAll(), "w");
  const NodeId team = *world.scheduler().state().cohorts().Find("team");
  EXPECT_EQ(WeightedShare(world.scheduler().shares().Of(team)), 250) << "3 of 12";
  EXPECT_EQ(WeightedShare(world.scheduler().shares().Of(world.NodeOf("a"))), 250)
      << "the team could lend 12 as well";
}

TEST(DominantShareTest, ComparesSharesByWeight) {
  struct Row {
    const char* name;
    DominantShare a;
    DominantShare b;
    int order;
  };
  const Row rows[] = {
      {"equal", {1, 100}, {1, 100}, 0},
      {"lower", {1, 100}, {1, 200}, -1},
      {"weight divides", {4, 200}, {1, 100}, -1},
      {"nothing is nothing whatever the weight", {0, 0}, {5, 0}, 0},
      {"infinite is above everything", {0, 1}, {1, 1e9}, 1},
      {"two infinite ones by the undivided number", {0, 10}, {0, 20}, -1},
      {"below every share", DominantShare::Lowest(), {1, 0}, -1},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(Compare(row.a, row.b), row.order);
    EXPECT_EQ(Compare(row.b, row.a), -row.order);
  }
}

// The next head is the one with the lowest share, counted with the head's usage.
TEST(DominantShareTest, TournamentOrdersHeadsByShareThenPriorityThenName) {
  struct Row {
    const char* name;
    std::int64_t weight_a;  // in tenths
    Amount running_a;
    Amount asks_a;
    std::int32_t priority_a;
    Amount asks_b;
    const char* order;
  };
  // a and b have 2 each, lender 8: 12 in all.
  const Row rows[] = {
      {"not borrowing goes before borrowing", 10, 0, 3, 9, 2, "b, a"},
      {"both borrow: a would have 2/12, b 1/12", 10, 0, 4, 9, 3, "b, a"},
      {"with three times the weight a has a third of that", 30, 0, 4, 0, 3, "a, b"},
      {"what runs counts: (3 + 1 - 2) against (3 - 2)", 10, 3, 1, 0, 3, "b, a"},
      {"equal shares: priority", 10, 0, 3, 1, 3, "a, b"},
      {"all equal: by name", 10, 0, 3, 0, 3, "a, b"},
      {"weight 0 borrows last", 0, 0, 3, 9, 6, "b, a"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    api::ClusterQueue a = MakeQueue("qa", "c", {{"f", {{"gpu", 2}}}});
    a.spec.fair_weight_nano = row.weight_a * 100'000'000;
    SchedulerConfig config;
    config.fair_sharing.emplace();
    TableWorld world({"f"},
                     {a, MakeQueue("qb", "c", {{"f", {{"gpu", 2}}}}),
                      MakeQueue("lender", "c", {{"f", {{"gpu", 8}}}})},
                     config);
    if (row.running_a > 0) {
      world.Apply(MakeJob("running", "qa", 1, {{"gpu", row.running_a}}));
      ASSERT_EQ(world.AdmitAll(), "running");
    }
    world.Apply(MakeJob("a", "qa", 1, {{"gpu", row.asks_a}}, row.priority_a));
    world.Apply(MakeJob("b", "qb", 1, {{"gpu", row.asks_b}}));
    EXPECT_EQ(world.AdmitAll(), row.order);
  }
}

}  // namespace
}  // namespace berth::admission
