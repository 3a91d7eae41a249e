// Goal: cycles of due trees take the heads that a change may move, and no others.
#include <gtest/gtest.h>

#include "tests/support/core_fixture.h"

namespace berth::admission {
namespace {

using support::KeyOf;
using support::MakeJob;
using support::MakeQueue;
using support::TableWorld;

constexpr auto kDue = TableWorld::Heads::kOfDueTrees;

// Two trees: in "a" p waits for the end of its victim v, and q, which fits, stands behind p.
class DueTreesTest : public ::testing::Test {
 protected:
  DueTreesTest() : world_({"f", "g"}, {Preempting("a", "f"), Preempting("other", "g")}) {
    world_.Apply(MakeJob("v", "a", 3, {{"gpu", 1}}));
    world_.AdmitAll();
    world_.Apply(MakeJob("p", "a", 3, {{"gpu", 1}}, 5));
    world_.Apply(MakeJob("q", "a", 1, {{"gpu", 1}}));
    EXPECT_EQ(world_.Cycle(kDue), "p Preempting");
    while (!world_.Cycle(kDue).empty()) {
    }
  }

  static api::ClusterQueue Preempting(const char* name, const char* flavor) {
    api::ClusterQueue queue = MakeQueue(name, "", {{flavor, {{"gpu", 4}}}});
    queue.spec.preemption.within_cluster_queue = api::PreemptionPolicy::kLowerPriority;
    return queue;
  }

  TableWorld world_;
};

TEST_F(DueTreesTest, AHeadThatWaitsForItsVictimIsAmongAllHeadsAlone) {
  EXPECT_EQ(world_.Cycle(kDue), "");
  EXPECT_EQ(world_.Cycle(), "p Preempting");
}

TEST_F(DueTreesTest, AChangeConcernsItsTreeAlone) {
  world_.Apply(MakeJob("elsewhere", "other", 1, {{"gpu", 1}}));
  EXPECT_EQ(world_.Cycle(kDue), "elsewhere Admitted");
}

TEST_F(DueTreesTest, TheEndOfTheVictimMovesTheHead) {
  world_.ReleaseEvicted();
  EXPECT_EQ(world_.Cycle(kDue), "p Admitted");
}

TEST_F(DueTreesTest, AHeadThatMovesToAnotherQueueMakesBothTreesDue) {
  api::Workload moved = *world_.Find(KeyOf("p"));
  moved.spec.queue_name = "other";
  ++moved.meta.generation;
  world_.Apply(moved);
  EXPECT_EQ(world_.Cycle(kDue), "p Admitted, q Admitted");
}

}  // namespace
}  // namespace berth::admission
