// Goal: where a flavor's annotation says that shares of a resource are one GPU, pods that ask for
// shares fill the GPUs in use before those that nobody uses; without the annotation, and for pods
// that ask for no shares, placement is Kueue's. Method: rows of nodes, pod sets and the answers
// with and without the annotation; nodes of one GPU in three shares.
#include <gtest/gtest.h>

#include "tests/admission/topology/placement_case.h"

namespace berth::admission {
namespace {

constexpr char kThirds[] = "nvidia.com/gpu=3";

struct SharesRow {
  std::string name;
  std::vector<std::string> nodes;
  std::vector<std::string> used;
  std::vector<std::string> pod_sets;
  std::string with_annotation;
  std::string without;
};

void PrintTo(const SharesRow& row, std::ostream* out) { *out << row.name; }

class SharesRule : public testing::TestWithParam<SharesRow> {};

TEST_P(SharesRule, FillsTheGpusInUse) {
  for (const char* annotation : {kThirds, ""}) {
    PlacementCase given("rack host");
    given.SetFlavor(annotation);
    for (const std::string& node : GetParam().nodes) given.AddNode(node);
    for (const std::string& used : GetParam().used) given.AddUsed(used);
    const bool shared = annotation == std::string(kThirds);
    const std::string& answer = shared ? GetParam().with_annotation : GetParam().without;
    EXPECT_EQ(given.Place(GetParam().pod_sets), answer) << annotation;
    EXPECT_EQ(given.Place(GetParam().pod_sets), answer) << "the same once more";
  }
}

const std::vector<std::string> kTwoRacksOfGpus = {"r1/n1 gpu=3", "r1/n2 gpu=3", "r2/n3 gpu=3",
                                                  "r2/n4 gpu=3"};

INSTANTIATE_TEST_SUITE_P(Nodes, SharesRule,
                         testing::Values(SharesRow{"OneShareGoesToTheGpuWithTheFewestFreeShares",
                                                   kTwoRacksOfGpus,
                                                   {"n3 2 gpu=1", "n2 1 gpu=1"},
                                                   {"main 1 gpu=1 required=host"},
                                                   "main: n3=1",
                                                   "main: n3=1"},
                                         SharesRow{"ThreeSharesFillOneGpu",
                                                   kTwoRacksOfGpus,
                                                   {"n3 1 gpu=1"},
                                                   {"main 3 gpu=1 unconstrained"},
                                                   "main: n1=3",
                                                   "main: n1=3"},
                                         SharesRow{"TwoSharesGoToTheGpuInUse",
                                                   kTwoRacksOfGpus,
                                                   {"n3 1 gpu=1"},
                                                   {"main 1 gpu=2 required=host"},
                                                   "main: n3=1",
                                                   "main: n1=1"},
                                         SharesRow{"AlsoWhereThePodsGoAnywhere",
                                                   kTwoRacksOfGpus,
                                                   {"n3 1 gpu=1"},
                                                   {"main 1 gpu=2 unconstrained"},
                                                   "main: n3=1",
                                                   "main: n1=1"},
                                         SharesRow{"TheRackWithTheFewestFreeGpus",
                                                   kTwoRacksOfGpus,
                                                   {"n3 1 gpu=1"},
                                                   {"main 2 gpu=2 required=rack"},
                                                   "main: n3=1 n4=1",
                                                   "main: n1=1 n2=1"},
                                         SharesRow{"WithinTheRackToo",
                                                   kTwoRacksOfGpus,
                                                   {"n2 1 gpu=1", "n4 1 gpu=1"},
                                                   {"main 3 gpu=2 preferred=rack"},
                                                   "main: n1=1 n2=1 n4=1",
                                                   "main: n1=1 n2=1 n3=1"},
                                         SharesRow{"WhereOtherResourcesBindTheGpuInUse",
                                                   {"r1/n1 cpu=1 gpu=3", "r1/n2 cpu=2 gpu=3"},
                                                   {"n2 1 cpu=1 gpu=1"},
                                                   {"main 1 cpu=1 gpu=1 required=host"},
                                                   "main: n2=1",
                                                   "main: n1=1"},
                                         SharesRow{"TheRoomForPodsPrecedes",
                                                   {"r1/n1 cpu=1 gpu=3", "r1/n2 cpu=3 gpu=3"},
                                                   {"n2 1 cpu=1 gpu=1"},
                                                   {"main 1 cpu=1 gpu=1 required=host"},
                                                   "main: n1=1",
                                                   "main: n1=1"},
                                         SharesRow{"PodsWithoutSharesGoWhereKueuePutsThem",
                                                   {"r1/n1 cpu=1 gpu=3", "r1/n2 cpu=1 gpu=3"},
                                                   {"n2 1 gpu=1"},
                                                   {"main 1 cpu=1 required=host"},
                                                   "main: n1=1",
                                                   "main: n1=1"},
                                         SharesRow{"ALeaderBesideItsWorker",
                                                   kTwoRacksOfGpus,
                                                   {"n4 1 gpu=1"},
                                                   {"main 2 gpu=2 required=rack group=g",
                                                    "lead 1 cpu=0 required=rack group=g"},
                                                   "main: n3=1 n4=1; lead: n4=1",
                                                   "main: n1=1 n2=1; lead: n1=1"}),
                         [](const testing::TestParamInfo<SharesRow>& row) {
                           return row.param.name;
                         });

TEST(SharedGpus, OrderOfNodesFollowsTheirUsage) {
  PlacementCase given("rack host");
  given.SetFlavor(kThirds);
  for (const std::string& node : kTwoRacksOfGpus) given.AddNode(node);
  EXPECT_EQ(given.Place({"main 1 gpu=2 required=host"}), "main: n1=1");
  given.AddUsed("n3 1 gpu=1");  // the number of pods that fit is the same
  EXPECT_EQ(given.Place({"main 1 gpu=2 required=host"}), "main: n3=1");
  given.AddUsed("n3 1 gpu=1");
  EXPECT_EQ(given.Place({"main 1 gpu=2 required=host"}), "main: n1=1");
}

TEST(SharedGpus, ChangedAnnotationChangesThePlacement) {
  PlacementCase given("rack host");
  for (const std::string& node : kTwoRacksOfGpus) given.AddNode(node);
  given.AddUsed("n3 1 gpu=1");
  EXPECT_EQ(given.Place({"main 1 gpu=2 required=host"}), "main: n1=1");
  given.SetFlavor(kThirds);
  EXPECT_EQ(given.Place({"main 1 gpu=2 required=host"}), "main: n3=1");
  given.SetFlavor("");
  EXPECT_EQ(given.Place({"main 1 gpu=2 required=host"}), "main: n1=1");
}

TEST(SharedGpus, AFailedNodeIsReplacedByAGpuInUse) {
  PlacementCase given("rack host");
  given.SetFlavor(kThirds);
  for (const std::string& node : kTwoRacksOfGpus) given.AddNode(node);
  given.AddUsed("n1 3 gpu=1");
  given.AddUsed("n4 1 gpu=1");
  EXPECT_EQ(given.Replace({"main 1 gpu=2 preferred=rack"}, "main: n2=1", "n2"), "main: n4=1");
}

}  // namespace
}  // namespace berth::admission
