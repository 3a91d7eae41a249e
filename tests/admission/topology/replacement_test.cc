// Goal: a failed node's pods move, all others stay, and slices and required domains stay whole.
// Method: rows; the failed node is not among the nodes.
#include <gtest/gtest.h>

#include "tests/admission/topology/placement_case.h"

namespace berth::admission {
namespace {

struct ReplacementRow {
  std::string name;
  std::vector<std::string> nodes;
  std::vector<std::string> pod_sets;
  std::string before;
  std::string answer;
};

void PrintTo(const ReplacementRow& row, std::ostream* out) { *out << row.name; }

class Replacement : public testing::TestWithParam<ReplacementRow> {};

TEST_P(Replacement, MovesOnlyThePodsOfTheFailedNode) {
  PlacementCase given("block rack host");
  for (const std::string& node : GetParam().nodes) given.AddNode(node);
  EXPECT_EQ(given.Replace(GetParam().pod_sets, GetParam().before, "bad"), GetParam().answer);
}

std::string ReplacementName(const testing::TestParamInfo<ReplacementRow>& row) {
  return row.param.name;
}

INSTANTIATE_TEST_SUITE_P(
    Rows, Replacement,
    testing::Values(
        ReplacementRow{"PreferredGoesAnywhere",
                       {"b1/r1/n1 cpu=2", "b2/r2/n2 cpu=1"},
                       {"main 3 cpu=1 preferred=rack"},
                       "main: n1=2 bad=1",
                       "main: n1=2 n2=1"},
        ReplacementRow{"RequiredStaysInItsDomain",
                       {"b1/r1/n1 cpu=1", "b1/r1/n3 cpu=4", "b1/r2/n2 cpu=1"},
                       {"main 2 cpu=1 required=rack"},
                       "main: n1=1 bad=1",
                       "main: n1=1 n3=1"},
        ReplacementRow{
            "RequiredFailsRatherThanLeaveItsDomain",
            {"b1/r1/n1 cpu=1", "b1/r2/n2 cpu=8"},
            {"main 3 cpu=1 required=rack"},
            "main: n1=1 bad=2",
            "main fails: topology \"dc\" doesn't allow to fit any of 2 pod(s). Total nodes: 2; "
            "excluded: resource \"cpu\": 1, topologyDomain: 1"},
        ReplacementRow{"AllPodsOnTheFailedNode",
                       {"b1/r1/n1 cpu=1", "b2/r2/n2 cpu=2"},
                       {"main 2 cpu=1 required=rack"},
                       "main: bad=2",
                       "main: n2=2"},
        ReplacementRow{"ABrokenSliceIsCompletedWhereItIs",
                       {"b1/r1/n1 cpu=1", "b1/r1/n3 cpu=1", "b1/r2/n2 cpu=2", "b1/r2/n4 cpu=1"},
                       {"main 4 cpu=1 required=block slice=rack:2"},
                       "main: bad=1 n1=1 n2=2",
                       "main: n1=1 n3=1 n2=2"},
        ReplacementRow{"AWholeSliceMayMove",
                       {"b1/r2/n2 cpu=2", "b1/r3/n4 cpu=2"},
                       {"main 4 cpu=1 required=block slice=rack:2"},
                       "main: bad=2 n2=2",
                       "main: n2=2 n4=2"},
        ReplacementRow{
            "AnAssignmentThatIsStaleOtherwise",
            {"b1/r1/n1 cpu=2"},
            {"main 3 cpu=1 preferred=rack"},
            "main: n1=1 gone=1 bad=1",
            "main fails: Cannot replace the node, because the existing topologyAssignment is "
            "invalid, as it contains the stale domain gone"}),
    ReplacementName);

}  // namespace
}  // namespace berth::admission
