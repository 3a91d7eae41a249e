// Goal: the formulae of the quota tree, row by row. Method: small trees; expectations by hand from
// the formulae in admission/quota/quota_tree.h, which each row repeats with its numbers.
#include "admission/quota/quota_tree.h"

#include <gtest/gtest.h>

#include "admission/quota/quota_room.h"
#include "tests/support/core_fixture.h"

namespace berth::admission {
namespace {

using Limit = std::optional<Amount>;
constexpr FlavorResourceId kGpu = 0;

struct Leaf {
  Amount nominal = 0;
  Limit borrowing;
  Limit lending;
  Amount used = 0;
};

NodeId AddLeaf(QuotaTree& tree, NodeId parent, const Leaf& leaf) {
  const NodeId node = tree.AddNode(QuotaTree::Kind::kLeaf);
  tree.SetQuotas(node, {{kGpu, leaf.nominal, leaf.borrowing, leaf.lending}});
  tree.SetParent(node, parent);
  tree.AddUsage(node, {{kGpu, leaf.used}});
  return node;
}

// Two queues in a cohort without quota of its own.
TEST(QuotaTreeTest, AvailableAndPotentialFollowBorrowingAndLendingLimits) {
  struct Row {
    const char* name;
    Leaf a;
    Leaf b;
    Amount available;  // to a
    Amount potential;  // the potential of a
  };
  const Row rows[] = {
      {"no limits: 15 - (4 + 2); 15", {10, {}, {}, 4}, {5, {}, {}, 2}, 9, 15},
      {"a borrows at most 2: min(9, 10 - 4 + 2); 10 + 2", {10, 2, {}, 4}, {5, {}, {}, 2}, 8, 12},
      {"b lends at most 1, keeps 4: 11 - 4; 10 + 1", {10, {}, {}, 4}, {5, {}, 1, 2}, 7, 11},
      {"b lends 1 and uses 6, 2 of them from the cohort: 11 - (4 + 2)",
       {10, {}, {}, 4},
       {5, {}, 1, 6},
       5,
       11},
      {"a lends at most 3, keeps 7: (7 - 4) + (8 - 2); 7 + 8",
       {10, {}, 3, 4},
       {5, {}, {}, 2},
       9,
       15},
      {"both limits on a: 0 + min(9 - 4, (10 - 6) - (8 - 6) + 1); min(11, 6 + 9)",
       {10, 1, 4, 8},
       {5, {}, {}, 2},
       3,
       11},
      {"b has taken from a: 15 - 12", {10, {}, {}, 0}, {5, {}, {}, 12}, 3, 15},
      {"borrowing limit 0: min(5, 10 - 10 + 0)", {10, 0, {}, 10}, {5, {}, {}, 0}, 0, 10},
      {"borrowing limit 0 while others borrowed from a: min(15 - 13, 10 - 3 + 0)",
       {10, 0, {}, 3},
       {5, {}, {}, 10},
       2,
       10},
      {"lending limit 0: own quota only for a, b sees none of it: (10 - 4) + (5 - 0); 10 + 5",
       {10, {}, 0, 4},
       {5, {}, {}, 0},
       11,
       15},
      {"a lending limit above the quota keeps nothing: 15 - 6",
       {10, {}, 99, 4},
       {5, {}, {}, 2},
       9,
       15},
      {"quota was cut below usage: 7 - 10, and nobody has less than nothing",
       {2, {}, {}, 5},
       {5, {}, {}, 5},
       0,
       7},
      {"no quota at all", {0, {}, {}, 0}, {0, {}, {}, 0}, 0, 0},
      {"without quota of its own a borrows all: 5 - 0", {0, {}, {}, 0}, {5, {}, {}, 0}, 5, 5},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    QuotaTree tree;
    const NodeId cohort = tree.AddNode(QuotaTree::Kind::kCohort);
    const NodeId a = AddLeaf(tree, cohort, row.a);
    AddLeaf(tree, cohort, row.b);
    EXPECT_EQ(tree.Available(a, kGpu), row.available);
    EXPECT_EQ(tree.Potential(a, kGpu), row.potential);
    EXPECT_TRUE(Fits(tree, a, {{kGpu, row.available}}));
    EXPECT_FALSE(Fits(tree, a, {{kGpu, row.available + 1}}));
  }
}

TEST(QuotaTreeTest, AQueueAloneHasItsNominalQuota) {
  QuotaTree tree;
  const NodeId alone = AddLeaf(tree, kNoQuotaNode, {10, {}, {}, 4});
  EXPECT_EQ(tree.Available(alone, kGpu), 6);
  EXPECT_EQ(tree.Potential(alone, kGpu), 10);
  EXPECT_EQ(tree.Available(alone, kGpu + 1), 0) << "nobody has quota for this one";
  EXPECT_EQ(LowestSubtreeThatFits(tree, alone, kGpu, 99).height, 0) << "there is nobody to lend";
}

//     root (3 of its own) ── middle (2 of its own, borrows 4, lends 1) ── a (5)
//                         └─ b (6)
class ThreeLevels : public ::testing::Test {
 protected:
  ThreeLevels() {
    root = tree.AddNode(QuotaTree::Kind::kCohort);
    middle = tree.AddNode(QuotaTree::Kind::kCohort);
    tree.SetQuotas(root, {{kGpu, 3, {}, {}}});
    tree.SetQuotas(middle, {{kGpu, 2, 4, 1}});
    tree.SetParent(middle, root);
    a = AddLeaf(tree, middle, {.nominal = 5});
    b = AddLeaf(tree, root, {.nominal = 6});
  }
  QuotaTree tree;
  NodeId root = 0, middle = 0, a = 0, b = 0;
};

TEST_F(ThreeLevels, ComputeSubtreeQuotasAndPotentials) {
  EXPECT_EQ(tree.AmountsOf(middle, kGpu).subtree, 7) << "2 + 5";
  EXPECT_EQ(tree.AmountsOf(middle, kGpu).LocalAvailable(), 6) << "7 - 1 stay at home";
  EXPECT_EQ(tree.AmountsOf(root, kGpu).subtree, 10) << "3 + 1 + 6";
  EXPECT_EQ(tree.Potential(middle, kGpu), 11) << "min(7 + 4, 6 + 10)";
  EXPECT_EQ(tree.Potential(a, kGpu), 11) << "0 + 11";
  EXPECT_EQ(tree.Potential(b, kGpu), 10);
  EXPECT_EQ(tree.Height(a), 0);
  EXPECT_EQ(tree.Height(middle), 1);
  EXPECT_EQ(tree.Height(root), 2);
}

TEST_F(ThreeLevels, UsageReachesTheParentOnlyBeyondTheUnlentQuota) {
  struct Row {
    const char* name;
    bool of_a;
    Amount more;  // negative: less
    Amount middle;
    Amount root;
    Amount available_a;
    Amount available_b;
  };
  const Row rows[] = {
      {"a within what the middle keeps: a has (6 - 4) + min(10, 1 - 0 + 4)", true, 4, 4, 0, 7, 10},
      {"b takes 1 of the root", false, 1, 4, 1, 7, 9},
      {"a beyond it by 2: min(10 - 3, 1 - 2 + 4)", true, 4, 8, 3, 3, 7},
      {"a to its limit: min(10 - 6, 1 - 5 + 4)", true, 3, 11, 6, 0, 4},
      {"b takes the rest", false, 4, 11, 10, 0, 0},
      {"a gives 4 back: 5 + 1 borrowed, min(10 - 6, 1 - 1 + 4)", true, -4, 7, 6, 4, 4},
      {"a gives all back", true, -7, 0, 5, 11, 5},
      {"b gives all back", false, -5, 0, 0, 11, 10},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    const NodeId leaf = row.of_a ? a : b;
    if (row.more > 0) tree.AddUsage(leaf, {{kGpu, row.more}});
    if (row.more < 0) tree.RemoveUsage(leaf, {{kGpu, -row.more}});
    EXPECT_EQ(tree.AmountsOf(middle, kGpu).usage, row.middle);
    EXPECT_EQ(tree.AmountsOf(root, kGpu).usage, row.root);
    EXPECT_EQ(tree.Available(a, kGpu), row.available_a);
    EXPECT_EQ(tree.Available(b, kGpu), row.available_b);
  }
}

TEST_F(ThreeLevels, RequestIsChargedToTheLowestSubtreeThatFits) {
  struct Row {
    const char* name;
    Amount used;
    Amount amount;
    std::int32_t height;
    bool below_root;
  };
  const Row rows[] = {
      {"own quota", 0, 5, 0, true},
      {"the middle's: 6 <= 7", 0, 6, 1, true},
      {"all of the middle's", 0, 7, 1, true},
      {"the root's: 8 > 7", 0, 8, 2, false},
      {"more than there is: the root, though it does not fit", 0, 99, 2, false},
      {"with 3 in use own quota has 2", 3, 2, 0, true},
      {"with 3 in use 3 more need the middle's", 3, 3, 1, true},
      {"nothing asked while borrowing: it borrows all the same", 6, 0, 1, true},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    const QuotaTree::Mark mark = tree.Begin();
    tree.AddUsage(a, {{kGpu, row.used}});
    const Lender lender = LowestSubtreeThatFits(tree, a, kGpu, row.amount);
    tree.RollBack(mark);
    EXPECT_EQ(lender.height, row.height);
    EXPECT_EQ(lender.below_root, row.below_root);
  }
}

TEST_F(ThreeLevels, InactiveQueuesDoNotCountInHeights) {
  tree.SetActiveLeaf(a, false);
  EXPECT_EQ(tree.Height(middle), 0);
  EXPECT_EQ(tree.Height(root), 1) << "the middle is a cohort all the same";
}

TEST_F(ThreeLevels, NestedWhatIfsRollBack) {
  tree.AddUsage(a, {{kGpu, 6}});
  const std::uint64_t version = tree.version();
  const QuotaTree::Mark outer = tree.Begin();
  tree.RemoveUsage(a, {{kGpu, 2}});
  const QuotaTree::Mark inner = tree.Begin();
  tree.AddUsage(b, {{kGpu, 9}});
  EXPECT_EQ(tree.AmountsOf(root, kGpu).usage, 9);
  tree.RollBack(inner);
  EXPECT_EQ(tree.AmountsOf(a, kGpu).usage, 4);
  EXPECT_EQ(tree.AmountsOf(b, kGpu).usage, 0);
  tree.RollBack(outer);
  EXPECT_EQ(tree.AmountsOf(a, kGpu).usage, 6);
  EXPECT_EQ(tree.version(), version);
  EXPECT_FALSE(tree.simulating());
}

TEST_F(ThreeLevels, CycleOfCohortsIsReportedUntilItIsBroken) {
  tree.AddUsage(a, {{kGpu, 1}});
  tree.SetParent(root, middle);
  for (const NodeId node : {root, middle, a, b}) EXPECT_TRUE(tree.InCycle(node)) << node;
  tree.AddUsage(a, {{kGpu, 1}});  // its own usage counts
  tree.SetParent(root, kNoQuotaNode);
  for (const NodeId node : {root, middle, a, b}) EXPECT_FALSE(tree.InCycle(node)) << node;
  EXPECT_EQ(tree.AmountsOf(middle, kGpu).usage, 2);
  EXPECT_EQ(tree.Potential(a, kGpu), 11);
}

TEST(QuotaTreeTest, ACohortThatIsItsOwnParentIsACycle) {
  QuotaTree tree;
  const NodeId self = tree.AddNode(QuotaTree::Kind::kCohort);
  tree.SetParent(self, self);
  EXPECT_TRUE(tree.InCycle(self));
}

TEST(QuotaTreeTest, HugeQuotasSaturate) {
  QuotaTree tree;
  const NodeId cohort = tree.AddNode(QuotaTree::Kind::kCohort);
  const NodeId a = AddLeaf(tree, cohort, {INT64_MAX, {}, {}, 5});
  AddLeaf(tree, cohort, {INT64_MAX, {}, {}, 5});
  EXPECT_EQ(tree.AmountsOf(cohort, kGpu).subtree, INT64_MAX);
  EXPECT_EQ(tree.Available(a, kGpu), INT64_MAX - 10);
  tree.AddUsage(a, {{kGpu, INT64_MAX}});
  EXPECT_EQ(tree.Available(a, kGpu), 0);
}

// A saturated sum has lost the remainder; the next change of quota recomputes it.
TEST(QuotaTreeTest, SaturatedUsageIsRecomputed) {
  QuotaTree tree;
  const NodeId cohort = tree.AddNode(QuotaTree::Kind::kCohort);
  const NodeId a = AddLeaf(tree, cohort, {});
  AddLeaf(tree, cohort, {.used = 5});
  tree.AddUsage(a, {{kGpu, INT64_MAX}});
  EXPECT_EQ(tree.AmountsOf(cohort, kGpu).usage, INT64_MAX);
  tree.RemoveUsage(a, {{kGpu, INT64_MAX}});
  tree.SetQuotas(a, {{kGpu, 1, {}, {}}});
  EXPECT_EQ(tree.AmountsOf(cohort, kGpu).usage, 5);
}

// A node has cells for the numbers in use, close or distant, and drops the others.
TEST(QuotaTreeTest, CellsAreFoundAndUnusedOnesAreFreed) {
  QuotaCells cells;
  constexpr FlavorResourceId kCount = 1000;
  for (const FlavorResourceId stride : {1, 7}) {
    for (FlavorResourceId i = 0; i < kCount; ++i) cells.Make(i * stride).usage = i + 1;
    for (FlavorResourceId i = 0; i < kCount; ++i) {
      ASSERT_EQ(cells.Find(i * stride)->usage, i + 1);
    }
    cells.ForEach([](FlavorResourceId, QuotaCell& cell) { cell.usage = 0; });
  }
  for (FlavorResourceId i = 0; i < 100 * kCount; ++i) {
    cells.Make(i).usage = 1;
    cells.Make(i).usage = 0;
  }
  EXPECT_LE(cells.size(), 10U * kCount) << "one at a time was in use";
  EXPECT_EQ(cells.Find(100 * kCount), nullptr);
}

// A cohort exists as soon as an object names it, and goes when no object names it and it has no
// object.
TEST(QuotaTreeTest, ACohortExistsAsLongAsAnObjectNamesIt) {
  support::TableWorld world({"f"}, {support::MakeQueue("a", "team", {{"f", {{"gpu", 4}}}}),
                                    support::MakeQueue("b", "team", {{"f", {{"gpu", 2}}}})});
  const ClusterState& state = world.scheduler().state();
  EXPECT_EQ(state.cohorts().Names(), std::vector<std::string>{"team"});
  EXPECT_EQ(state.tree().Potential(world.NodeOf("a"), kGpu), 6);
  world.Apply(support::MakeCohort("team", "company"));
  world.Apply(support::MakeCohort("company", "", {{"f", {{"gpu", 10}}}}));
  EXPECT_EQ(state.tree().Potential(world.NodeOf("a"), kGpu), 16);
  EXPECT_EQ(PathOf(state, *state.cluster_queues().Find("a")), "/company/team/a");
  world.scheduler().Forget<api::Cohort>("company");
  EXPECT_EQ(state.cohorts().Names(), (std::vector<std::string>{"company", "team"}))
      << "the team still names it";
  EXPECT_EQ(state.tree().Potential(world.NodeOf("a"), kGpu), 6);
  world.scheduler().Forget<api::Cohort>("team");
  EXPECT_EQ(state.cohorts().Names(), std::vector<std::string>{"team"})
      << "its queues still name it";
  world.Apply(support::MakeQueue("a", "", {{"f", {{"gpu", 4}}}}));
  world.Apply(support::MakeQueue("b", "", {{"f", {{"gpu", 2}}}}));
  EXPECT_TRUE(state.cohorts().Names().empty());
}

TEST(QuotaTreeTest, QueuesBelowACycleOfCohortsAreNotUsable) {
  support::TableWorld world({"f"}, {support::MakeQueue("a", "x", {{"f", {{"gpu", 4}}}})});
  const ClusterState& state = world.scheduler().state();
  const ClusterQueueId a = *state.cluster_queues().Find("a");
  world.Apply(support::MakeCohort("x", "y"));
  EXPECT_TRUE(Usable(state, a));
  world.Apply(support::MakeCohort("y", "x"));
  for (const char* cohort : {"x", "y"}) {
    EXPECT_TRUE(state.tree().InCycle(*state.cohorts().Find(cohort))) << cohort;
  }
  EXPECT_FALSE(Usable(state, a));
  world.Apply(support::MakeJob("w", "a", 1, {{"gpu", 1}}));
  EXPECT_EQ(world.Cycle(), "w NotNominated");
  world.Apply(support::MakeCohort("y", ""));
  EXPECT_TRUE(Usable(state, a));
  EXPECT_EQ(world.WakeUp(), 1) << "the workload was parked, and may try again";
  EXPECT_EQ(world.Cycle(), "w Admitted");
}

}  // namespace
}  // namespace berth::admission
