// Goal: a chain of cohorts may have any depth; no walk along the chain uses the stack. (Kueue walks
// its tree by recursion on Go's growing stacks, without a bound of depth:
// pkg/cache/scheduler/resource_node.go, pkg/scheduler/fair_sharing_iterator.go.) Method: a chain of
// cohorts, a queue below the last and one beside the first; their admissions, classical and fair,
// on a stack with less than 40 bytes per level.
#include <cstddef>
#include <functional>

#include <gtest/gtest.h>
#include <pthread.h>

#include "admission/quota/quota_tree.h"
#include "tests/support/core_fixture.h"

namespace berth::admission {
namespace {

using support::MakeCohort;
using support::MakeJob;
using support::MakeQueue;
using support::TableWorld;

constexpr int kDepth = 50'000;
constexpr int kFairDepth = 8'000;  // shares cost the square of the depth
constexpr std::size_t kStack = std::size_t{256} * 1024;

void OnASmallStack(const std::function<void()>& work) {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, kStack), 0);
  const auto run = [](void* given) -> void* {
    const std::function<void()>& to_do = **static_cast<const std::function<void()>**>(given);
    to_do();
    return nullptr;
  };
  const std::function<void()>* given = &work;
  pthread_t thread{};
  ASSERT_EQ(pthread_create(&thread, &attributes, run, static_cast<void*>(&given)), 0);
  EXPECT_EQ(pthread_join(thread, nullptr), 0);
  EXPECT_EQ(pthread_attr_destroy(&attributes), 0);
}

TEST(DeepCohorts, QuotaPassesThroughAllLevels) {
  OnASmallStack([] {
    QuotaTree tree;
    const NodeId leaf = tree.AddNode(QuotaTree::Kind::kLeaf);
    NodeId top = leaf;
    for (int i = 0; i < kDepth; ++i) {
      const NodeId above = tree.AddNode(QuotaTree::Kind::kCohort);
      tree.SetParent(top, above);
      top = above;
    }
    tree.SetQuotas(leaf, {{0, 3, std::nullopt, 1}});
    tree.SetQuotas(top, {{0, 10, std::nullopt, std::nullopt}});
    EXPECT_EQ(tree.Height(top), kDepth);
    EXPECT_EQ(tree.Potential(leaf, 0), 13);
    EXPECT_EQ(tree.Available(leaf, 0), 13);
    tree.AddUsage(leaf, {{0, 5}});
    EXPECT_EQ(tree.Available(leaf, 0), 8);
    EXPECT_EQ(tree.AmountsOf(top, 0).usage, 3);
    tree.SetQuotas(tree.parent(leaf), {{0, 0, 4, std::nullopt}});
    EXPECT_EQ(tree.Potential(leaf, 0), 2 + 1 + 4) << "a limit on the way";
    EXPECT_EQ(tree.Available(leaf, 0), 2);
  });
}

// Cohort c0 is below c1, and so on up to the root; queue "deep" is in c0, "high" in the root.
class DeepWorld : public testing::TestWithParam<bool> {
 protected:
  DeepWorld() : world_({"f"}, {}, Config(GetParam())) {
    const int depth = GetParam() ? kFairDepth : kDepth;
    for (int i = 0; i + 1 < depth; ++i) {
      world_.ControlPlane::Apply(MakeCohort(Name(i), Name(i + 1)));
    }
    Add("deep", Name(0), 2);
    Add("high", Name(depth - 1), 2);
  }
  static SchedulerConfig Config(bool fair) {
    SchedulerConfig config;
    if (fair) config.fair_sharing.emplace();
    return config;
  }
  static std::string Name(int level) { return "c" + std::to_string(level); }
  void Add(const std::string& name, const std::string& cohort, api::Amount quota) {
    api::ClusterQueue queue = MakeQueue(name, cohort, {{"f", {{"gpu", quota}}}});
    queue.spec.preemption.reclaim_within_cohort = api::PreemptionPolicy::kAny;
    world_.ControlPlane::Apply(queue);
    world_.ControlPlane::Apply(support::MakeLocalQueue(name, name));
  }
  TableWorld world_;
};

TEST_P(DeepWorld, QueuesGetTheirQuota) {
  OnASmallStack([this] {
    world_.Apply(MakeJob("a", "deep", 2, {{"gpu", 1}}));
    world_.Apply(MakeJob("b", "high", 2, {{"gpu", 1}}));
    EXPECT_EQ(world_.Cycle(), "a Admitted, b Admitted");
    world_.Apply(MakeJob("c", "deep", 3, {{"gpu", 1}}));
    EXPECT_EQ(world_.Cycle(), GetParam() ? "c NoCandidates" : "c NoFit") << "it would borrow";
    world_.Apply(MakeJob("d", "deep", 5, {{"gpu", 1}}));
    EXPECT_EQ(world_.Cycle(), "d NoFit") << "there is not so much in the whole tree";
  });
}

class DeepClassicalWorld : public DeepWorld {};

TEST_P(DeepClassicalWorld, OwnerReclaimsBorrowedQuota) {
  OnASmallStack([this] {
    world_.Apply(MakeJob("a", "deep", 4, {{"gpu", 1}}));
    EXPECT_EQ(world_.Cycle(), "a Admitted");
    world_.Apply(MakeJob("b", "high", 2, {{"gpu", 1}}));
    EXPECT_EQ(world_.Cycle(), "b Preempting");
    EXPECT_EQ(world_.VictimsOf("b"), "a(InCohortReclamation)");
  });
}

// Each cohort of the chain was the root once and is a target; the last root wakes them all.
TEST_P(DeepClassicalWorld, TreeIsWokenOnce) {
  OnASmallStack([this] {
    world_.Apply(MakeJob("a", "deep", 3, {{"gpu", 1}}));
    world_.Apply(MakeJob("b", "deep", 3, {{"gpu", 1}}));
    EXPECT_EQ(world_.Cycle(), "a Admitted");
    EXPECT_EQ(world_.Cycle(), "b NoFit");
    EXPECT_FALSE(world_.HasHeads());
    EXPECT_EQ(world_.scheduler().RunWakeUps(world_.now()).count, 1);
    EXPECT_TRUE(world_.HasHeads());
    EXPECT_EQ(world_.scheduler().RunWakeUps(world_.now()).count, 0);
  });
}

INSTANTIATE_TEST_SUITE_P(DeepCohorts, DeepClassicalWorld, testing::Values(false));
INSTANTIATE_TEST_SUITE_P(DeepCohorts, DeepWorld, testing::Values(false, true),
                         [](const auto& row) { return row.param ? "fair" : "classical"; });

}  // namespace
}  // namespace berth::admission
