// Goal: no more requests of a lane are open than the limit, and the next ones are made in the order
// of the queue. Method: tables, the small world of world.h, and 500 Workloads before an autoscaler
// that serves one open request a loop, at random.
#include "provisioning/flow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "tests/provisioning/world.h"

namespace berth::provisioning {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing::World;

const Lane kLane{.provisioning_class = "queued-provisioning.gke.io", .flavors = "gpu"};

FlowPlace Place(int priority, int second, const std::string& uid) {
  return {.precedence = -priority, .queued = WallTime(std::chrono::seconds(second)), .uid = uid};
}
api::ObjectKey Key(const std::string& name) { return {"default", name}; }

TEST(FlowTest, OrdersByPriorityThenAgeThenUid) {
  EXPECT_LT(Place(5, 9, "z"), Place(1, 1, "a"));
  EXPECT_LT(Place(1, 1, "z"), Place(1, 2, "a"));
  EXPECT_LT(Place(1, 1, "a"), Place(1, 1, "b"));
}

TEST(FlowTest, RoomGoesToTheFirstInTheQueue) {
  Flow flow;
  const FlowWait wait{kLane, 2};
  EXPECT_TRUE(flow.MayAsk(wait, Place(0, 1, "a")));
  flow.SetOpen("x", {{kLane, 2}});
  EXPECT_FALSE(flow.MayAsk(wait, Place(0, 1, "a")));
  EXPECT_TRUE(flow.MayAsk({kLane, 0}, Place(0, 1, "a"))) << "no limit";
  EXPECT_TRUE(flow.MayAsk({Lane{"other", "gpu"}, 2}, Place(0, 1, "a"))) << "another lane";
  flow.SetWait(Place(0, 1, "a"), Key("a"), wait);
  flow.SetWait(Place(7, 3, "c"), Key("c"), wait);
  flow.SetWait(Place(0, 2, "b"), Key("b"), wait);
  EXPECT_THAT(flow.TakeReady(), IsEmpty());
  flow.SetOpen("x", {{kLane, 1}});
  EXPECT_TRUE(flow.MayAsk(wait, Place(7, 3, "c")));
  EXPECT_FALSE(flow.MayAsk(wait, Place(0, 1, "a"))) << "c is before";
  EXPECT_THAT(flow.TakeReady(), ElementsAre(Key("c")));
  EXPECT_THAT(flow.TakeReady(), IsEmpty()) << "told once";
  flow.Drop("x");
  EXPECT_THAT(flow.TakeReady(), ElementsAre(Key("c"), Key("a")));
  flow.SetWait(Place(7, 3, "c"), Key("c"), std::nullopt);
  EXPECT_THAT(flow.TakeReady(), ElementsAre(Key("a"), Key("b"))) << "c gave its room up";
}

// Plays the driver with the worlds of some Workloads.
struct Driver {
  void Look(World& world) {
    OpenRequests open;
    for (const auto& request : world.requests)
      ++open[LaneOf(request.provisioning_class_name, {"gpu"})];
    flow.SetOpen(world.workload.meta.uid, open);
    world.flow = &flow;
    world.Settle();
    open.clear();
    for (const auto& request : world.requests)
      ++open[LaneOf(request.provisioning_class_name, {"gpu"})];
    flow.SetOpen(world.workload.meta.uid, open);
    flow.SetWait(FlowPlaceOf(world.workload), world.workload.meta.key(), world.last.waits);
  }
  Flow flow;
};

World Job(const std::string& name, int priority) {
  World world;
  world.workload.meta.name = name;
  world.workload.meta.uid = name;
  world.workload.spec.priority = priority;
  world.policy = api::ProvisioningPolicy{.meta = {.name = "p"}};
  world.policy->max_in_flight = 1;
  return world;
}

TEST(FlowTest, AWorkloadWithoutRoomWaitsWithItsQuota) {
  Driver driver;
  World first = Job("first", 0);
  World second = Job("second", 0);
  World third = Job("third", 9);
  driver.Look(first);
  driver.Look(second);
  driver.Look(third);
  EXPECT_THAT(first.requests, SizeIs(1));
  EXPECT_THAT(second.requests, IsEmpty());
  EXPECT_EQ(second.check().state, api::CheckState::kPending);
  EXPECT_EQ(second.check().message,
            "Waiting for one of 1 open requests of class queued-provisioning.gke.io and flavor gpu "
            "(maxInFlight of the policy)");
  const int writes = second.check_writes;
  driver.Look(second);
  EXPECT_EQ(second.check_writes, writes) << "waiting writes nothing";
  first.requests.clear();
  first.workload.spec.active = false;
  driver.Look(first);
  EXPECT_THAT(driver.flow.TakeReady(), ElementsAre(Key("third")));
  driver.Look(second);
  EXPECT_THAT(second.requests, IsEmpty()) << "third is before";
  driver.Look(third);
  EXPECT_THAT(third.requests, SizeIs(1));
}

TEST(FlowTest, ARaceStaysWithinTheLimit) {
  Driver driver;
  World world = Job("race", 0);
  api::ProvisioningStep step{.name = "gpu"};
  step.zones = {"a", "b"};
  world.policy->steps = {step};
  world.policy->race.emplace().width = 2;
  driver.Look(world);
  world.Pass(600);
  driver.Look(world);
  EXPECT_THAT(world.requests, SizeIs(1));
  world.policy->max_in_flight = 2;
  driver.Look(world);
  EXPECT_THAT(world.requests, SizeIs(2));
}

// Returns the loops that it took, and checks the order.
int Serve(std::int32_t limit, std::uint64_t seed) {
  constexpr int kJobs = 500;
  Random random(seed);
  Flow flow;
  std::map<FlowPlace, std::string> left;  // arrived, not served
  std::vector<FlowPlace> open;
  int arrived = 0;
  int served = 0;
  int loops = 0;
  const auto ask = [&](const FlowPlace& place) {
    const FlowWait wait{kLane, limit};
    if (!flow.MayAsk(wait, place)) return flow.SetWait(place, Key(place.uid), wait);
    flow.SetWait(place, Key(place.uid), std::nullopt);
    flow.SetOpen(place.uid, {{kLane, 1}});
    for (const auto& [other, uid] : left) {
      const bool waits = std::find(open.begin(), open.end(), other) == open.end();
      EXPECT_FALSE(waits && other < place) << uid << " is before " << place.uid;
    }
    open.push_back(place);
  };
  for (; served < kJobs; ++loops) {
    for (int come = 0; come < 5 && arrived < kJobs; ++come, ++arrived) {
      const std::string uid = std::to_string(arrived);
      const FlowPlace place = Place(static_cast<int>(random.Below(3)), loops, uid);
      left[place] = uid;
      ask(place);
    }
    for (auto ready = flow.TakeReady(); !ready.empty(); ready = flow.TakeReady()) {
      for (const api::ObjectKey& key : ready) {
        const auto place = std::find_if(
            left.begin(), left.end(), [&key](const auto& each) { return each.second == key.name; });
        ask(place->first);
      }
    }
    EXPECT_LE(static_cast<std::int32_t>(open.size()), limit > 0 ? limit : kJobs);
    if (open.empty()) continue;
    const auto at = static_cast<std::ptrdiff_t>(random.Below(open.size()));
    const FlowPlace taken = open[static_cast<std::size_t>(at)];
    open.erase(open.begin() + at);
    flow.SetOpen(taken.uid, {});
    left.erase(taken);
    ++served;
  }
  EXPECT_THAT(left, IsEmpty());
  return loops;
}

TEST(FlowTest, FiveHundredWorkloadsAreServedInOrderAndAsFastAsWithoutALimit) {
  const int without = Serve(0, 7);
  EXPECT_LE(Serve(8, 7), without * 10 / 9);
}

}  // namespace
}  // namespace berth::provisioning
