// Goal: the inventory follows nodes: readiness, labels, pods outside assignments, bookings that
// outlive nodes, flavors that share nodes.
#include <gtest/gtest.h>

#include "api/labels.h"
#include "tests/admission/topology/placement_case.h"

namespace berth::admission {
namespace {

constexpr const char* kInventoryLevels = "rack host";
constexpr const char* kOne = "main 1 cpu=1 required=host";
constexpr const char* kNoRoom =
    "main fails: topology \"dc\" doesn't allow to fit any of 1 pod(s). Total nodes: 1; excluded: "
    "resource \"cpu\": 1";

api::Pod PodOn(const std::string& node, const std::string& name, std::int64_t cpu) {
  api::Pod pod;
  pod.meta.namespace_name = "default";
  pod.meta.name = name;
  pod.spec.node_name = node;
  pod.phase = "Running";
  api::Container container;
  container.requests["cpu"] = cpu * 1000;
  pod.spec.containers.push_back(container);
  return pod;
}

TEST(Inventory, NodeThatIsNotReadyHasNoRoomUntilItIsReady) {
  PlacementCase given(kInventoryLevels);
  given.AddNode("r1/n1 cpu=2");
  given.AddUsed("n1 1 cpu=1");
  given.AddNode("r1/n1 cpu=2 notready");
  EXPECT_EQ(given.Place({kOne}),
            "main fails: no topology domains at level: kubernetes.io/hostname");
  given.AddNode("r1/n1 cpu=2");
  EXPECT_EQ(given.Place({"main 2 cpu=1 required=host"}),
            "main fails: topology \"dc\" allows to fit only 1 out of 2 pod(s)")
      << "what is booked on it counts again";
}

TEST(Inventory, ANodeMayMoveToAnotherRack) {
  PlacementCase given(kInventoryLevels);
  given.AddNode("r1/n1 cpu=2");
  given.AddNode("r2/n2 cpu=2");
  EXPECT_EQ(given.Place({"main 4 cpu=1 required=rack"}),
            "main fails: topology \"dc\" allows to fit only 2 out of 4 pod(s)");
  given.AddNode("r1/n2 cpu=2");
  EXPECT_EQ(given.Place({"main 4 cpu=1 required=rack"}), "main: n1=2 n2=2");
}

TEST(Inventory, PodsOutsideAssignmentsTakeRoom) {
  PlacementCase given(kInventoryLevels);
  given.AddNode("r1/n1 cpu=2");
  EXPECT_TRUE(given.placer().SetPod(PodOn("n1", "daemon", 2)).empty()) << "less room wakes nobody";
  EXPECT_EQ(given.Place({kOne}), kNoRoom);
  EXPECT_EQ(given.placer().RemovePod({"default", "daemon"}), std::vector<FlavorId>{given.flavor()});
  EXPECT_EQ(given.Place({kOne}), "main: n1=1");
}

TEST(Inventory, PodsThatCameBeforeTheirNodeCount) {
  PlacementCase given(kInventoryLevels);
  given.placer().SetPod(PodOn("n1", "daemon", 2));
  given.AddNode("r1/n1 cpu=2");
  EXPECT_EQ(given.Place({kOne}), kNoRoom);
}

TEST(Inventory, RunningPodsWithoutATopologyRequestCountOutsideAssignments) {
  const auto counts = [](const auto& change) {
    api::Pod pod = PodOn("n1", "p", 1);
    change(pod);
    return UsesNodeUnplanned(pod);
  };
  EXPECT_TRUE(counts([](api::Pod&) {}));
  EXPECT_FALSE(counts([](api::Pod& pod) { pod.spec.node_name.clear(); }));
  EXPECT_FALSE(counts([](api::Pod& pod) { pod.phase = "Succeeded"; }));
  EXPECT_FALSE(counts([](api::Pod& pod) { pod.phase = "Failed"; }));
  const auto placed = [](api::Pod& pod) {
    pod.meta.annotations[api::kRequiredTopologyAnnotation] = "rack";
  };
  EXPECT_FALSE(counts(placed)) << "its workload's assignment counts";
  EXPECT_FALSE(counts(
      [](api::Pod& pod) { pod.meta.annotations[api::kUnconstrainedTopologyAnnotation] = "true"; }));
  EXPECT_TRUE(counts([](api::Pod& pod) {
    pod.meta.annotations[api::kWorkloadAnnotation] = "workload";
  })) << "its workload has no topology";
  EXPECT_TRUE(counts([&placed](api::Pod& pod) {
    placed(pod);
    pod.meta.deletion_timestamp = WallTime{};
  })) << "its workload may be gone already";
}

TEST(Inventory, EqualNodeIsNoChange) {
  PlacementCase given(kInventoryLevels);
  EXPECT_EQ(given.placer().SetNode(NodeFrom(kInventoryLevels, "r1/n1 cpu=2")).size(), 1U);
  EXPECT_TRUE(given.placer().SetNode(NodeFrom(kInventoryLevels, "r1/n1 cpu=2")).empty());
  EXPECT_EQ(given.placer().SetNode(NodeFrom(kInventoryLevels, "r1/n1 cpu=3")).size(), 1U);
  EXPECT_EQ(given.placer().RemoveNode("n1").size(), 1U);
  EXPECT_TRUE(given.placer().RemoveNode("n1").empty());
}

TEST(Inventory, RemovedNodesRoomLeavesItsRack) {
  PlacementCase given("rack");
  given.AddNode("r1/n1 cpu=2 label=disk:ssd");
  given.AddNode("r1/n2 cpu=2 label=disk:ssd");
  given.placer().RemoveNode("n2");
  EXPECT_EQ(given.Place({"main 4 cpu=1 required=rack select=disk:ssd"}),
            "main fails: topology \"dc\" allows to fit only 2 out of 4 pod(s)");
}

TEST(Inventory, BookingInARackCountsOnceItsNodesArrive) {
  PlacementCase given("rack");
  given.AddUsed("r1 1 cpu=1");
  given.AddNode("r1/n1 cpu=2");
  EXPECT_EQ(given.Place({"main 2 cpu=1 required=rack"}),
            "main fails: topology \"dc\" allows to fit only 1 out of 2 pod(s)");
}

TEST(Inventory, FlavorsThatShareANodeShareItsRoom) {
  PlacementCase given(kInventoryLevels);
  given.AddNode("r1/n1 cpu=2");
  api::ResourceFlavor other;
  other.meta.name = "other";
  other.topology_name = "dc";
  const FlavorId second = given.vocabulary().flavors.Intern("other");
  given.placer().SetFlavor(second, other);
  const std::vector<PlacedPods> booked = {given.placer().Booking(
      PodSetFrom("other 2 cpu=1"), second, {{api::kHostnameLabel}, {{{"n1"}, 2}}})};
  given.placer().Use(booked);
  EXPECT_EQ(given.Place({kOne}), kNoRoom);
  given.placer().Free(booked);
  EXPECT_EQ(given.Place({kOne}), "main: n1=1");
}

TEST(Inventory, BookingsMayComeBeforeTopologies) {
  Vocabulary vocabulary;
  TopologyPlacer placer(vocabulary);
  const FlavorId flavor = vocabulary.flavors.Intern("tas");
  const std::vector<PlacedPods> booked = {
      placer.Booking(PodSetFrom("main 2 cpu=1"), flavor, {{api::kHostnameLabel}, {{{"n1"}, 2}}})};
  placer.Use(booked);
  placer.SetNode(NodeFrom(kInventoryLevels, "r1/n1 cpu=2"));
  api::ResourceFlavor object;
  object.topology_name = "dc";
  placer.SetFlavor(flavor, object);
  EXPECT_EQ(placer.TreeOf(flavor), nullptr);
  api::Topology topology;
  topology.meta.name = "dc";
  topology.levels = {"rack", api::kHostnameLabel};
  placer.SetTopology(topology);
  ASSERT_NE(placer.TreeOf(flavor), nullptr);
  const TopologyTree& tree = *placer.TreeOf(flavor);
  EXPECT_EQ(tree.Used(tree.domain(tree.FindLeaf("n1")).leaf, vocabulary.resources.Find("cpu")),
            2000);
}

TEST(Inventory, WhatIfsRollBackCompletely) {
  PlacementCase given(kInventoryLevels);
  given.AddNode("r1/n1 cpu=2");
  const std::vector<PlacedPods> pods = {given.placer().Booking(
      PodSetFrom("main 2 cpu=1"), given.flavor(), {{api::kHostnameLabel}, {{{"n1"}, 2}}})};
  using Counting = TopologyPlacer::Counting;
  EXPECT_TRUE(given.placer().Fits(pods, Counting::kTogether));
  const auto outer = given.placer().Begin();
  given.placer().Use(pods);
  EXPECT_FALSE(given.placer().Fits(pods, Counting::kTogether));
  EXPECT_EQ(given.Place({kOne}), kNoRoom);
  const auto inner = given.placer().Begin();
  given.placer().Free(pods);
  EXPECT_EQ(given.Place({kOne}), "main: n1=1");
  given.placer().RollBack(inner);
  EXPECT_EQ(given.Place({kOne}), kNoRoom);
  given.placer().RollBack(outer);
  EXPECT_EQ(given.Place({kOne}), "main: n1=1");
}

TEST(Inventory, PodSetsInOneDomainAreCountedTogether) {
  PlacementCase given(kInventoryLevels);
  given.AddNode("r1/n1 cpu=3 pods=3");
  const auto booking = [&given](std::int32_t count) {
    return given.placer().Booking(PodSetFrom("main 1 cpu=1"), given.flavor(),
                                  {{api::kHostnameLabel}, {{{"n1"}, count}}});
  };
  using Counting = TopologyPlacer::Counting;
  EXPECT_TRUE(given.placer().Fits({booking(2), booking(1)}, Counting::kTogether));
  EXPECT_FALSE(given.placer().Fits({booking(2), booking(2)}, Counting::kTogether));
  EXPECT_TRUE(given.placer().Fits({booking(2), booking(2)}, Counting::kEachAlone));
  EXPECT_FALSE(
      given.placer().Fits({given.placer().Booking(PodSetFrom("main 1 cpu=1"), given.flavor(),
                                                  {{api::kHostnameLabel}, {{{"gone"}, 1}}})},
                          Counting::kTogether));
}

TEST(Inventory, RemovedNodesLeaveTheTreeSmall) {
  PlacementCase given(kInventoryLevels);
  given.AddNode("r1/stays cpu=1");
  for (int i = 0; i < 3000; ++i) {
    const std::string name = "spot" + std::to_string(i);
    given.AddNode("r1/" + name + " cpu=1");
    given.placer().RemoveNode(name);
  }
  EXPECT_LT(given.tree().leaf_count(), 1100);
  EXPECT_EQ(given.Place({kOne}), "main: stays=1");
}

}  // namespace
}  // namespace berth::admission
