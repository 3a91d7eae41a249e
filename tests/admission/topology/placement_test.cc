// Goal: the placement of pods, rule by rule. Method: rows of nodes, existing usage, pod sets, and
// the answer in words (tests/admission/topology/placement_case.h).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/admission/topology/placement_case.h"

namespace berth::admission {
namespace {

struct PlacementRow {
  std::string name;
  std::string levels;
  std::vector<std::string> nodes;
  std::vector<std::string> used;
  std::vector<std::string> pod_sets;
  std::string answer;
};

void PrintTo(const PlacementRow& row, std::ostream* out) { *out << row.name; }

class PlacementRule : public testing::TestWithParam<PlacementRow> {};

TEST_P(PlacementRule, PlacesPodsByTheRule) {
  PlacementCase given(GetParam().levels);
  for (const std::string& node : GetParam().nodes) given.AddNode(node);
  for (const std::string& used : GetParam().used) given.AddUsed(used);
  EXPECT_EQ(given.Place(GetParam().pod_sets), GetParam().answer);
  // The first calculation's what-ifs and assumptions are gone.
  EXPECT_EQ(given.Place(GetParam().pod_sets), GetParam().answer);
}

const std::vector<std::string> kTwoRacks = {"b1/r1/n1 cpu=4", "b1/r1/n2 cpu=2", "b1/r2/n3 cpu=4",
                                            "b1/r2/n4 cpu=4"};
const std::vector<std::string> kTwoBlocks = {"b1/r1/n1 cpu=2", "b1/r2/n2 cpu=2", "b2/r3/n3 cpu=4",
                                             "b2/r4/n4 cpu=4"};

std::string PlacementName(const testing::TestParamInfo<PlacementRow>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(
    Levels, PlacementRule,
    testing::Values(
        PlacementRow{"RequiredTakesTheTightestRack",
                     "block rack host",
                     kTwoRacks,
                     {},
                     {"main 5 cpu=1 required=rack"},
                     "main: n1=4 n2=1"},
        PlacementRow{"RequiredGoesToTheRackThatHasRoom",
                     "block rack host",
                     kTwoRacks,
                     {},
                     {"main 7 cpu=1 required=rack"},
                     "main: n3=4 n4=3"},
        PlacementRow{"RequiredIsNeverSpread",
                     "block rack host",
                     kTwoRacks,
                     {},
                     {"main 9 cpu=1 required=rack"},
                     "main fails: topology \"dc\" allows to fit only 8 out of 9 pod(s)"},
        PlacementRow{"RequiredAtTheLowestLevel",
                     "block rack host",
                     kTwoRacks,
                     {},
                     {"main 2 cpu=1 required=host"},
                     "main: n2=2"},
        PlacementRow{"PreferredTakesOneDomainIfItCan",
                     "block rack host",
                     kTwoRacks,
                     {},
                     {"main 5 cpu=1 preferred=rack"},
                     "main: n1=4 n2=1"},
        PlacementRow{"PreferredClimbs",
                     "block rack host",
                     kTwoRacks,
                     {},
                     {"main 9 cpu=1 preferred=rack"},
                     "main: n1=4 n2=1 n3=4"},
        PlacementRow{"PreferredSpreadsAtTheTop",
                     "block rack host",
                     kTwoBlocks,
                     {},
                     {"main 10 cpu=1 preferred=rack"},
                     "main: n1=2 n3=4 n4=4"},
        PlacementRow{"PreferredFailsWithWhatFitsInAll",
                     "block rack host",
                     kTwoBlocks,
                     {},
                     {"main 13 cpu=1 preferred=block"},
                     "main fails: topology \"dc\" allows to fit only 12 out of 13 pod(s)"},
        PlacementRow{"UnconstrainedTakesTheSmallestThatIsEnough",
                     "block rack host",
                     kTwoRacks,
                     {},
                     {"main 3 cpu=1 unconstrained"},
                     "main: n1=3"},
        PlacementRow{"UnconstrainedFillsTheSmallestFirst",
                     "block rack host",
                     kTwoRacks,
                     {},
                     {"main 7 cpu=1 unconstrained"},
                     "main: n1=4 n2=2 n3=1"},
        PlacementRow{"ImpliedIsUnconstrained",
                     "block rack host",
                     kTwoRacks,
                     {},
                     {"main 7 cpu=1"},
                     "main: n1=4 n2=2 n3=1"},
        PlacementRow{"LowestLevelThatIsNotANode",
                     "block rack",
                     {"b1/r1/n1 cpu=2", "b1/r1/n2 cpu=2"},
                     {},
                     {"main 3 cpu=1 required=rack"},
                     "main: b1/r1=3"},
        PlacementRow{"NoNodesAtAll",
                     "block rack host",
                     {},
                     {},
                     {"main 1 cpu=1 required=rack"},
                     "main fails: no topology domains at level: rack"},
        PlacementRow{"ALevelThatIsNotThere",
                     "block rack host",
                     kTwoRacks,
                     {},
                     {"main 1 cpu=1 required=zone"},
                     "main fails: no requested topology level: zone"}),
    PlacementName);

INSTANTIATE_TEST_SUITE_P(Ties, PlacementRule,
                         testing::Values(PlacementRow{"ByNameAmongEquals",
                                                      "rack host",
                                                      {"r2/n2 cpu=2", "r1/n1 cpu=2"},
                                                      {},
                                                      {"main 2 cpu=1 required=rack"},
                                                      "main: n1=2"},
                                         PlacementRow{"ByPathNotByHostname",
                                                      "rack host",
                                                      {"r1/z cpu=2", "r2/a cpu=2"},
                                                      {},
                                                      {"main 2 cpu=1 required=rack"},
                                                      "main: z=2"},
                                         PlacementRow{"NamesAreText",
                                                      "host",
                                                      {"n10 cpu=1", "n9 cpu=1"},
                                                      {},
                                                      {"main 1 cpu=1 required=host"},
                                                      "main: n10=1"},
                                         PlacementRow{"AnswerIsSortedByPath",
                                                      "rack host",
                                                      {"r2/a cpu=1", "r1/z cpu=1"},
                                                      {},
                                                      {"main 2 cpu=1 preferred=rack"},
                                                      "main: z=1 a=1"}),
                         PlacementName);

INSTANTIATE_TEST_SUITE_P(
    Room, PlacementRule,
    testing::Values(
        PlacementRow{"UsedRoomIsGone",
                     "block rack host",
                     kTwoRacks,
                     {"n1 3 cpu=1"},
                     {"main 4 cpu=1 required=host"},
                     "main: n3=4"},
        PlacementRow{"FragmentsDoNotAddUp",
                     "rack host",
                     {"r1/n1 cpu=3", "r1/n2 cpu=3"},
                     {},
                     {"main 3 cpu=2 required=rack"},
                     "main fails: topology \"dc\" allows to fit only 2 out of 3 pod(s)"},
        PlacementRow{"PodsAreAResource",
                     "rack host",
                     {"r1/n1 cpu=8 pods=2"},
                     {},
                     {"main 3 cpu=1 required=rack"},
                     "main fails: topology \"dc\" allows to fit only 2 out of 3 pod(s)"},
        PlacementRow{
            "UsedPodsCountToo",
            "host",
            {"n1 cpu=8 pods=2"},
            {"n1 2 cpu=1"},
            {"main 1 cpu=1 required=host"},
            "main fails: topology \"dc\" doesn't allow to fit any of 1 pod(s). Total nodes: 1; "
            "excluded: resource \"pods\": 1"},
        PlacementRow{"TheScarcestResourceDecides",
                     "host",
                     {"n1 cpu=8 gpu=1", "n2 cpu=2 gpu=8"},
                     {},
                     {"main 2 cpu=1 gpu=1 required=host"},
                     "main: n2=2"},
        PlacementRow{
            "ANodeWithoutTheResource",
            "host",
            {"n1 cpu=8"},
            {},
            {"main 1 gpu=1 required=host"},
            "main fails: topology \"dc\" doesn't allow to fit any of 1 pod(s). Total nodes: 1; "
            "excluded: resource \"nvidia.com/gpu\": 1"},
        PlacementRow{"PodSetsDoNotSitOnEachOther",
                     "host",
                     {"n1 cpu=2", "n2 cpu=1"},
                     {},
                     {"main 2 cpu=1 required=host", "driver 1 cpu=1 required=host"},
                     "main: n1=2; driver: n2=1"},
        PlacementRow{
            "TheSecondPodSetMayFail",
            "host",
            {"n1 cpu=2"},
            {},
            {"main 2 cpu=1 required=host", "driver 1 cpu=1 required=host"},
            "driver fails: topology \"dc\" doesn't allow to fit any of 1 pod(s). Total nodes: 1; "
            "excluded: resource \"cpu\": 1"}),
    PlacementName);

INSTANTIATE_TEST_SUITE_P(
    Nodes, PlacementRule,
    testing::Values(
        PlacementRow{"NotReadyAndCordonedDoNotCount",
                     "host",
                     {"n1 cpu=4 notready", "n2 cpu=4 cordoned", "n3 cpu=4"},
                     {},
                     {"main 1 cpu=1 required=host"},
                     "main: n3=1"},
        PlacementRow{"TaintsKeepAway",
                     "host",
                     {"n1 cpu=1 taint=kind:x", "n2 cpu=2"},
                     {},
                     {"main 1 cpu=1 required=host"},
                     "main: n2=1"},
        PlacementRow{
            "TaintsAreCounted",
            "host",
            {"n1 cpu=1 taint=kind:x", "n2 cpu=1 taint=alone"},
            {},
            {"main 1 cpu=1 required=host"},
            "main fails: topology \"dc\" doesn't allow to fit any of 1 pod(s). Total nodes: 2; "
            "excluded: taint \"alone:NoSchedule\": 1, taint \"kind=x:NoSchedule\": 1"},
        PlacementRow{"TaintsMayBeTolerated",
                     "host",
                     {"n1 cpu=1 taint=kind:x", "n2 cpu=2"},
                     {},
                     {"main 1 cpu=1 required=host tolerate=kind"},
                     "main: n1=1"},
        PlacementRow{"SelectorChooses",
                     "host",
                     {"n1 cpu=1", "n2 cpu=2 label=disk:ssd"},
                     {},
                     {"main 1 cpu=1 required=host select=disk:ssd"},
                     "main: n2=1"},
        PlacementRow{"SelectorAsksForTheValue",
                     "host",
                     {"n1 cpu=1 label=disk:hdd", "n2 cpu=2 label=disk:ssd"},
                     {},
                     {"main 1 cpu=1 required=host select=disk:ssd"},
                     "main: n2=1"},
        PlacementRow{"SlicesHaveASize",
                     "rack host",
                     {"r1/n1 cpu=1"},
                     {},
                     {"main 1 cpu=1 required=rack slice=host:0"},
                     "main fails: slice topology requested, but slice size not provided"},
        PlacementRow{
            "SelectorIsCounted",
            "host",
            {"n1 cpu=1"},
            {},
            {"main 1 cpu=1 required=host select=disk:ssd"},
            "main fails: topology \"dc\" doesn't allow to fit any of 1 pod(s). Total nodes: 1; "
            "excluded: nodeSelector: 1"},
        PlacementRow{"TaintsAboveTheNodeLevelDoNotMatter",
                     "rack",
                     {"r1/n1 cpu=1 taint=kind"},
                     {},
                     {"main 1 cpu=1 required=rack"},
                     "main: r1=1"}),
    PlacementName);

const std::vector<std::string> kSliceNodes = {"b1/r1/n1 cpu=3", "b1/r1/n2 cpu=1", "b1/r2/n3 cpu=2",
                                              "b1/r2/n4 cpu=1", "b2/r3/n5 cpu=2"};

INSTANTIATE_TEST_SUITE_P(
    Slices, PlacementRule,
    testing::Values(
        PlacementRow{"StayInTheirDomain",
                     "block rack host",
                     kSliceNodes,
                     {},
                     {"main 6 cpu=1 required=block slice=rack:2"},
                     "main: n1=3 n2=1 n3=1 n4=1"},
        PlacementRow{"LeaveOddRoomUnused",
                     "block rack host",
                     kSliceNodes,
                     {},
                     {"main 8 cpu=1 required=block slice=rack:2"},
                     "main fails: topology \"dc\" allows to fit only 3 out of 4 slice(s)"},
        PlacementRow{"OfNodes",
                     "block rack host",
                     kSliceNodes,
                     {},
                     {"main 4 cpu=1 required=block slice=host:2"},
                     "main: n1=2 n3=2"},
        PlacementRow{"AloneAreUnconstrained",
                     "block rack host",
                     kSliceNodes,
                     {},
                     {"main 2 cpu=1 slice=rack:2"},
                     "main: n5=2"},
        PlacementRow{"AboveThePodSetsLevelMakeNoSense",
                     "block rack host",
                     kSliceNodes,
                     {},
                     {"main 2 cpu=1 required=rack slice=block:2"},
                     "main fails: podset slice topology block is above the podset topology rack"},
        PlacementRow{"InLayers",
                     "block rack host",
                     {"b1/r1/n1 cpu=3", "b1/r1/n2 cpu=3", "b1/r2/n3 cpu=2", "b1/r2/n4 cpu=2"},
                     {},
                     {"main 4 cpu=1 required=block slice=rack:4 slice=host:2"},
                     "main: n1=2 n2=2"},
        PlacementRow{
            "LayersSayWhatFits",
            "block rack host",
            {"b1/r1/n1 cpu=3", "b1/r1/n2 cpu=1"},
            {},
            {"main 4 cpu=1 required=block slice=rack:4 slice=host:2"},
            "main fails: topology \"dc\" doesn't allow to fit; 0/1 slice(s) fit on level rack; "
            "1/2 slice(s) fit on level kubernetes.io/hostname"},
        PlacementRow{
            "LayersMustDivide",
            "block rack host",
            kSliceNodes,
            {},
            {"main 6 cpu=1 required=block slice=rack:3 slice=host:2"},
            "main fails: additional slice layer size 2 must evenly divide parent layer size 3"}),
    PlacementName);

INSTANTIATE_TEST_SUITE_P(
    Leaders, PlacementRule,
    testing::Values(
        PlacementRow{
            "GoWithTheirWorkers",
            "rack host",
            {"r1/n1 cpu=4", "r2/n2 cpu=5"},
            {},
            {"leader 1 cpu=1 required=rack group=g", "workers 4 cpu=1 required=rack group=g"},
            "leader: n2=1; workers: n2=4"},
        PlacementRow{
            "TakeTheTightestForBoth",
            "rack host",
            {"r1/n1 cpu=9", "r2/n2 cpu=3", "r2/n3 cpu=2"},
            {},
            {"workers 4 cpu=1 required=rack group=g", "leader 1 cpu=1 required=rack group=g"},
            "workers: n2=2 n3=2; leader: n2=1"},
        PlacementRow{
            "LeaveTheRestToTheTightest",
            "rack host",
            {"r1/n1 cpu=7", "r2/n2 cpu=7", "r3/n3 cpu=2"},
            {},
            {"workers 8 cpu=1 preferred=rack group=g", "leader 1 cpu=1 preferred=rack group=g"},
            "workers: n1=6 n3=2; leader: n1=1"},
        PlacementRow{
            "MayNotFit",
            "rack host",
            {"r1/n1 cpu=4", "r2/n2 cpu=4"},
            {},
            {"workers 4 cpu=1 required=rack group=g", "leader 1 cpu=1 required=rack group=g"},
            "workers fails: topology \"dc\" allows to fit only 4 out of 4 pod(s)"}),
    PlacementName);

TEST(PlacementProfile, UnconstrainedPodsAreBestFitWithoutTheMixedProfile) {
  PlacementCase given("block rack host", {.least_free_for_unconstrained = false});
  for (const std::string& node : kTwoRacks) given.AddNode(node);
  EXPECT_EQ(given.Place({"main 7 cpu=1 unconstrained"}), "main: n1=4 n3=3");
}

TEST(PlacementProfile, BalancedProfileSpreadsPreferredPodsEvenly) {
  PlacementCase given("block rack host", {.balanced = true});
  for (const char* node : {"b1/r1/n1 cpu=6", "b1/r2/n2 cpu=6", "b1/r3/n3 cpu=1"}) {
    given.AddNode(node);
  }
  EXPECT_EQ(given.Place({"main 8 cpu=1 preferred=rack"}), "main: n1=4 n2=4");
  EXPECT_EQ(given.Place({"main 8 cpu=1 required=block"}), "main: n1=6 n2=2");
}

TEST(PlacementProfile, BalancedProfileLeavesRoomForTheLeader) {
  PlacementCase given("block rack host", {.balanced = true});
  for (const char* node : {"b1/r1/n1 cpu=7", "b1/r2/n2 cpu=7", "b1/r3/n3 cpu=1"}) {
    given.AddNode(node);
  }
  EXPECT_EQ(given.Place({"workers 8 cpu=1 preferred=rack group=g",
                         "leader 1 cpu=1 preferred=rack group=g"}),
            "workers: n1=4 n2=4; leader: n1=1");
}

TEST(PlacementOnEmptyNodes, IgnoresUsageOfNodes) {
  PlacementCase given("rack host");
  given.AddNode("r1/n1 cpu=2");
  given.AddUsed("n1 2 cpu=1");
  EXPECT_EQ(given.Place({"main 2 cpu=1 required=rack"}, CountKey::Usage::kEmpty), "main: n1=2");
}

// Two nodes bear one hostname; the first one by name is tainted. Kueue looks at one of them.
TEST(PlacementOnSharedHostnames, NodeWithoutTheTaintTakesThePods) {
  PlacementCase given("rack host");
  given.AddNode("r1/n1/a cpu=4 taint=busy");
  given.AddNode("r1/n1/b cpu=4");
  EXPECT_EQ(given.Place({"main 2 cpu=1 required=host"}), "main: n1=2");
  given.AddNode("r1/n1/b cpu=4 taint=busy");
  EXPECT_THAT(given.Place({"main 2 cpu=1 required=host"}), testing::StartsWith("main fails: "));
}

}  // namespace
}  // namespace berth::admission
