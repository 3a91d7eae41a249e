// Goal: a changed LimitRange reaches the workloads that it concerns, and no others.
// Method: one queue; a workload that is assumed, parked or forgotten when the LimitRange comes.
#include <memory>

#include <gtest/gtest.h>

#include "tests/support/core_fixture.h"

namespace berth::admission {
namespace {

using support::KeyOf;
using support::MakeJob;
using support::MakeQueue;
using support::TableWorld;

class ReconsiderTest : public ::testing::Test {
 protected:
  ReconsiderTest() : world_({"f"}, {MakeQueue("a", "", {{"f", {{"gpu", 4}}}})}) {}

  void LimitTo(const std::string& type, api::Amount most) {
    api::LimitRange range;
    range.meta.namespace_name = KeyOf("w").namespace_name;
    range.meta.name = "limits";
    range.items = {{.type = type, .max = {{"gpu", most}}}};
    world_.scheduler().pod_defaults().Set(range);
  }
  std::shared_ptr<const api::Workload> Object(const std::string& name) const {
    return std::make_shared<const api::Workload>(*world_.Find(KeyOf(name)));
  }
  void Reconsider(const std::string& name) {
    world_.scheduler().Reconsider(Object(name), world_.now());
  }
  bool HasQuota(const std::string& name) const {
    const auto id = world_.scheduler().workloads().Find(KeyOf(name));
    return id && world_.scheduler().state().reservation(*id) != nullptr;
  }
  bool IsQueued(const std::string& name) const {
    const auto id = world_.scheduler().workloads().Find(KeyOf(name));
    return id && world_.scheduler().queues().PlaceOf(*id) != queue::Destination::kNone;
  }
  bool IsParked(const std::string& name) const {
    const auto id = world_.scheduler().workloads().Find(KeyOf(name));
    return id && world_.scheduler().queues().PlaceOf(*id) == queue::Destination::kInadmissible;
  }

  TableWorld world_;
};

TEST_F(ReconsiderTest, AnAssumedWorkloadKeepsItsQuota) {
  world_.Apply(MakeJob("w", "a", 1, {{"gpu", 2}}));
  ASSERT_EQ(world_.Decide().decisions.size(), 1U);  // decided, not written
  ASSERT_TRUE(HasQuota("w"));
  LimitTo("Pod", 1);
  Reconsider("w");
  EXPECT_TRUE(HasQuota("w"));
  world_.scheduler().ApplyWorkload(Object("w"), world_.now());  // an old event
  EXPECT_TRUE(HasQuota("w"));
}

TEST_F(ReconsiderTest, WorkloadWithoutANewProblemStaysParked) {
  world_.Apply(MakeJob("w", "a", 1, {{"gpu", 9}}));
  while (world_.HasHeads()) world_.Cycle();
  ASSERT_TRUE(IsParked("w"));
  LimitTo("Pod", 9'000'000);
  Reconsider("w");
  EXPECT_TRUE(IsParked("w")) << "neither its pods nor whether they may be made have changed";
  LimitTo("Pod", 1);
  Reconsider("w");
  EXPECT_TRUE(IsQueued("w")) << "the workload waits and is not tried";
  LimitTo("Pod", 9'000'000);
  Reconsider("w");
  EXPECT_TRUE(IsQueued("w"));
  EXPECT_TRUE(IsParked("w")) << "one of its shape got nothing here, so it is parked on arrival";
}

// Kueue's nominate requeues such a head with the generic reason: a StrictFIFO queue waits for a
// head whose pods would be refused, a BestEffortFIFO queue parks the head.
TEST(RefusedPods, WorkloadWithAPodProblemIsNotTried) {
  for (const bool strict : {true, false}) {
    api::ClusterQueue queue = MakeQueue("a", "", {{"f", {{"gpu", 4}}}});
    if (strict) queue.spec.queueing_strategy = api::QueueingStrategy::kStrictFifo;
    TableWorld world({"f"}, {queue});
    api::LimitRange range;
    range.meta.namespace_name = "default";
    range.meta.name = "limits";
    range.items = {{.type = "Pod", .max = {{"gpu", 2}}}};
    world.scheduler().pod_defaults().Set(range);
    world.Apply(MakeJob("w", "a", 1, {{"gpu", 3}}, 5));
    world.Apply(MakeJob("x", "a", 1, {{"gpu", 1}}));
    EXPECT_EQ(world.Cycle(), "") << "w is the head";
    EXPECT_EQ(world.last().refused_parked, strict ? 0 : 1)
        << "1: the next head has its turn at once";
    EXPECT_EQ(world.HasHeads(), true);
    EXPECT_EQ(world.Cycle(), strict ? "" : "x Admitted");
    range.items[0].max["gpu"] = 3;
    world.scheduler().pod_defaults().Set(range);
    world.scheduler().Reconsider(std::make_shared<const api::Workload>(*world.Find(KeyOf("w"))),
                                 world.now());
    EXPECT_EQ(world.Cycle(), "w Admitted") << "strict " << strict;
  }
}

TEST_F(ReconsiderTest, ForgottenWorkloadIsNotAddedAgain) {
  world_.Apply(MakeJob("w", "a", 1, {{"gpu", 9}}));
  world_.scheduler().Forget<api::Workload>(KeyOf("w"));
  LimitTo("Container", 9'000'000);
  Reconsider("w");
  EXPECT_FALSE(world_.scheduler().workloads().Find(KeyOf("w")).has_value());
}

}  // namespace
}  // namespace berth::admission
