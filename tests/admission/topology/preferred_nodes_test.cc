// Goal: with the gate TASRespectNodeAffinityPreferred pods go to the nodes that they prefer, as far
// as Kueue's rules let them; without the gate, and where the pods prefer no nodes, preferences
// change nothing. Method: rows of nodes, pod sets and the answers with and without the gate.
//
// Source of the rules: Kueue KEP-2724 and pkg/cache/scheduler/tas_flavor_snapshot.go: the sum of
// the nodes' scores precedes the room in the order of domains, and the best fit is chosen among the
// domains with the highest sum.
#include <gtest/gtest.h>

#include "tests/admission/topology/placement_case.h"

namespace berth::admission {
namespace {

struct PreferenceRow {
  std::string name;
  std::vector<std::string> nodes;
  std::vector<std::string> used;
  std::vector<std::string> pod_sets;
  std::string with_gate;
  std::string without;
};

void PrintTo(const PreferenceRow& row, std::ostream* out) { *out << row.name; }

class PreferenceRule : public testing::TestWithParam<PreferenceRow> {};

TEST_P(PreferenceRule, PlacesPodsByTheRule) {
  for (const bool gate : {true, false}) {
    PlacementCase given("block rack host", {.preferred_nodes = gate});
    for (const std::string& node : GetParam().nodes) given.AddNode(node);
    for (const std::string& used : GetParam().used) given.AddUsed(used);
    const std::string& answer = gate ? GetParam().with_gate : GetParam().without;
    EXPECT_EQ(given.Place(GetParam().pod_sets), answer) << gate;
    EXPECT_EQ(given.Place(GetParam().pod_sets), answer) << "the same once more";
  }
}

// r1: n1 (4), n2 (2); r2: n3 (4), n4 (4). n4 is in zone a.
const std::vector<std::string> kRacks = {"b1/r1/n1 cpu=4", "b1/r1/n2 cpu=2", "b1/r2/n3 cpu=4",
                                         "b1/r2/n4 cpu=4 label=zone:a"};
// Each rack has one node of two; r2's is in zone a, r3's in zone b.
const std::vector<std::string> kSmallRacks = {"b1/r1/n1 cpu=2", "b1/r2/n2 cpu=2 label=zone:a",
                                              "b2/r3/n3 cpu=2 label=zone:b"};

INSTANTIATE_TEST_SUITE_P(
    Nodes, PreferenceRule,
    testing::Values(
        PreferenceRow{"RequiredTakesThePreferredRack",
                      kRacks,
                      {},
                      {"main 5 cpu=1 required=rack prefer=zone:a:1"},
                      "main: n3=1 n4=4",
                      "main: n1=4 n2=1"},
        PreferenceRow{"RequiredTakesAnotherRackWhereThePreferredOneIsFull",
                      kRacks,
                      {"n3 4 cpu=1"},
                      {"main 5 cpu=1 required=rack prefer=zone:a:1"},
                      "main: n1=4 n2=1",
                      "main: n1=4 n2=1"},
        PreferenceRow{
            "TheBestFitIsOneOfThePreferred",
            {"b1/r1/n1 cpu=3", "b1/r2/n2 cpu=9 label=zone:a", "b1/r3/n3 cpu=5 label=zone:a"},
            {},
            {"main 3 cpu=1 required=host prefer=zone:a:1"},
            "main: n3=3",
            "main: n1=3"},
        PreferenceRow{"PreferredLevelClimbsWhereThePreferredRackIsTooSmall",
                      {"b1/r1/n1 cpu=4", "b1/r2/n2 cpu=2 label=zone:a"},
                      {},
                      {"main 3 cpu=1 preferred=rack prefer=zone:a:1"},
                      "main: n1=1 n2=2",
                      "main: n1=3"},
        PreferenceRow{"SeveralDomainsStartWithThePreferred",
                      kSmallRacks,
                      {},
                      {"main 3 cpu=1 preferred=block prefer=zone:b:1"},
                      "main: n1=1 n3=2",
                      "main: n1=2 n2=1"},
        PreferenceRow{"UnconstrainedTakesThePreferredFirst",
                      {"b1/r1/n1 cpu=1", "b1/r1/n2 cpu=9 label=zone:a"},
                      {},
                      {"main 1 cpu=1 unconstrained prefer=zone:a:1"},
                      "main: n2=1",
                      "main: n1=1"},
        PreferenceRow{
            "UnconstrainedTakesTheSmallestOfThePreferred",
            {"b1/r1/n1 cpu=1", "b1/r1/n2 cpu=9 label=zone:a", "b1/r1/n3 cpu=2 label=zone:a"},
            {},
            {"main 1 cpu=1 unconstrained prefer=zone:a:1"},
            "main: n3=1",
            "main: n1=1"},
        PreferenceRow{"UnconstrainedTakesOthersThatAreEnough",
                      kSmallRacks,
                      {"n2 1 cpu=1"},
                      {"main 2 cpu=1 unconstrained prefer=zone:a:1"},
                      "main: n1=2",
                      "main: n1=2"},
        PreferenceRow{"UnconstrainedSpreadsFromThePreferredOn",
                      kSmallRacks,
                      {"n2 1 cpu=1"},
                      {"main 4 cpu=1 unconstrained prefer=zone:b:1"},
                      "main: n1=1 n2=1 n3=2",
                      "main: n1=2 n2=1 n3=1"},
        PreferenceRow{"WeightsAddUp",
                      {"b1/r1/n1 cpu=4 label=zone:a", "b1/r1/n2 cpu=4 label=zone:b label=gen:2"},
                      {},
                      {"main 1 cpu=1 required=host prefer=zone:a:3 prefer=zone:b:2 prefer=gen:2:2"},
                      "main: n2=1",
                      "main: n1=1"},
        PreferenceRow{"ManyNodesOutweighOne",
                      {"b1/r1/n1 cpu=1 label=zone:a", "b1/r1/n2 cpu=1 label=zone:a",
                       "b1/r2/n3 cpu=1 label=zone:b"},
                      {},
                      {"main 1 cpu=1 required=rack prefer=zone:a:2 prefer=zone:b:3"},
                      "main: n1=1",
                      "main: n3=1"},
        PreferenceRow{"NodesWithoutRoomCountForTheirRack",
                      {"b1/r1/n1 cpu=2", "b1/r2/n2 cpu=2", "b1/r2/n3 cpu=1 label=zone:a"},
                      {"n3 1 cpu=1"},
                      {"main 1 cpu=1 required=rack prefer=zone:a:1"},
                      "main: n2=1",
                      "main: n1=1"},
        PreferenceRow{"ExcludedNodesDoNot",
                      {"b1/r1/n1 cpu=2", "b1/r2/n2 cpu=2", "b1/r2/n3 cpu=1 label=zone:a taint=k"},
                      {},
                      {"main 1 cpu=1 required=rack prefer=zone:a:1"},
                      "main: n1=1",
                      "main: n1=1"},
        PreferenceRow{"InsideARackToo",
                      kRacks,
                      {"n1 4 cpu=1"},
                      {"main 2 cpu=1 required=rack prefer=zone:a:1"},
                      "main: n4=2",
                      "main: n2=2"},
        PreferenceRow{"RoomForTheLeaderPrecedes",
                      {"b1/r1/n1 cpu=4 gpu=1", "b1/r2/n2 cpu=4 label=zone:a"},
                      {},
                      {"main 2 cpu=1 required=rack group=g prefer=zone:a:1",
                       "driver 1 gpu=1 required=rack group=g"},
                      "main: n1=2; driver: n1=1",
                      "main: n1=2; driver: n1=1"},
        PreferenceRow{"SlicesStayWhole",
                      {"b1/r1/n1 cpu=4", "b1/r2/n2 cpu=1 label=zone:a", "b1/r2/n3 cpu=2"},
                      {},
                      {"main 2 cpu=1 required=block slice=host:2 prefer=zone:a:1"},
                      "main: n3=2",
                      "main: n3=2"},
        PreferenceRow{"NothingIsPreferred",
                      kRacks,
                      {},
                      {"main 5 cpu=1 required=rack"},
                      "main: n1=4 n2=1",
                      "main: n1=4 n2=1"}),
    [](const auto& row) { return row.param.name; });

// Labels of nodes are known at the lowest level only if that is the host.
TEST(PreferredNodes, HaveNoMeaningAboveTheHost) {
  PlacementCase given("block rack", {.preferred_nodes = true});
  given.AddNode("b1/r1/n1 cpu=2");
  given.AddNode("b1/r2/n2 cpu=3 label=zone:a");
  EXPECT_EQ(given.Place({"main 1 cpu=1 required=rack prefer=zone:a:1"}), "main: b1/r1=1");
}

TEST(PreferredNodes, ANodeThatGetsTheLabelIsPreferred) {
  PlacementCase given("rack host", {.preferred_nodes = true});
  given.AddNode("r1/n1 cpu=2");
  given.AddNode("r2/n2 cpu=3");
  const std::vector<std::string> pods = {"main 1 cpu=1 required=rack prefer=zone:a:1"};
  EXPECT_EQ(given.Place(pods), "main: n1=1");
  given.AddNode("r2/n2 cpu=3 label=zone:a");
  EXPECT_EQ(given.Place(pods), "main: n2=1");
  given.AddNode("r2/n2 cpu=3");
  EXPECT_EQ(given.Place(pods), "main: n1=1");
}

TEST(PreferredNodes, ReplaceAFailedNode) {
  PlacementCase given("rack host", {.preferred_nodes = true});
  given.AddNode("r1/n2 cpu=2");
  given.AddNode("r1/n3 cpu=4 label=zone:a");
  EXPECT_EQ(given.Replace({"main 2 cpu=1 required=rack prefer=zone:a:1"}, "main: bad=2", "bad"),
            "main: n3=2");
}

}  // namespace
}  // namespace berth::admission
