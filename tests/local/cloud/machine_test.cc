// Goal: the amounts of machines, and the number of machines for a gang.
// Method: rows with GKE's published figures; gangs by hand.
#include <gtest/gtest.h>

#include "local/cloud/gang_fit.h"
#include "local/cloud/machine_catalogue.h"

namespace berth::local::cloud {
namespace {

TEST(MachineTest, AllocatableFollowsTheFormulaOfGke) {
  const MachineType& machine = *FindMachineType("n1-standard-4");
  EXPECT_EQ(AllocatableCpuMilli(machine), 3920);
  // 15 GiB: 25 % of 4, 20 % of 4, 10 % of 7, and 100 MiB.
  constexpr std::int64_t kMiB = 1024 * 1024;
  EXPECT_NEAR(static_cast<double>(AllocatableMemoryBytes(machine)),
              static_cast<double>((15360 - 1024 - 819 - 717 - 100) * kMiB), 2.0 * kMiB);
  EXPECT_EQ(AllocatableCpuMilli(*FindMachineType("e2-small")), 940);
  EXPECT_EQ(FindMachineType("nothing"), nullptr);
}

NodePool Pool(const Json& spec) {
  Json pool = {{"metadata", {{"name", "pool"}}},
               {"spec", {{"machineType", "n1-standard-4"}, {"maxNodes", 10}}}};
  pool["spec"].merge_patch(spec);
  return ReadNodePool(std::make_shared<const Json>(std::move(pool)));
}

GangMember Member(std::int64_t count, const char* cpu, const Json& more = Json::object()) {
  Json spec;
  spec["containers"] = Json::array({{{"name", "c"}}});
  spec["containers"][0]["resources"]["requests"]["cpu"] = cpu;
  spec.merge_patch(more);
  return {spec, count};
}

std::int64_t Count(const GangFit& fit) {
  const auto* fits = std::get_if<FitsOn>(&fit);
  return fits == nullptr ? -1 : fits->node_count;
}

TEST(NodePoolTest, NodesOfSharedGpusAdvertiseReplicas) {
  Json accelerator{{"type", "nvidia-tesla-t4"},
                   {"count", 2},
                   {"sharing", {{"strategy", "timeSlicing"}, {"replicas", 3}}}};
  const Json node = MakeExampleNode(Pool({{"accelerator", accelerator}}), "z-a");
  EXPECT_EQ(node["status"]["allocatable"]["nvidia.com/gpu"], "6");
  const Json& labels = node["metadata"]["labels"];
  EXPECT_EQ(labels["nvidia.com/gpu.count"], "2");
  EXPECT_EQ(labels["nvidia.com/gpu.replicas"], "3");
  EXPECT_EQ(labels["nvidia.com/gpu.sharing-strategy"], "time-slicing");
  EXPECT_FALSE(labels.contains("cloud.berth.dev/one-share-a-pod"));
  accelerator["sharing"]["renameByDefault"] = true;
  accelerator["sharing"]["failRequestsGreaterThanOne"] = true;
  const Json renamed = MakeExampleNode(Pool({{"accelerator", accelerator}}), "z-a");
  EXPECT_EQ(renamed["status"]["capacity"]["nvidia.com/gpu.shared"], "6");
  EXPECT_FALSE(renamed["status"]["capacity"].contains("nvidia.com/gpu"));
  EXPECT_EQ(renamed["metadata"]["labels"]["cloud.berth.dev/one-share-a-pod"], "true");
}

TEST(GangFitTest, LargestMembersArePlacedFirst) {
  EXPECT_EQ(Count(FitGang(Pool(Json::object()), {Member(4, "1"), Member(2, "2900m")})), 3);
  EXPECT_EQ(Count(FitGang(Pool(Json::object()), {Member(3, "1")})), 1);
  EXPECT_EQ(Count(FitGang(Pool(Json::object()), {Member(4, "1")})), 2);
  EXPECT_EQ(Count(FitGang(Pool(Json::object()), {Member(2147483647, "1")})), 11) << "it stops";
}

TEST(GangFitTest, GangThatDoesNotFitHasAReason) {
  const GangFit large = FitGang(Pool(Json::object()), {Member(1, "4")});
  ASSERT_TRUE(std::holds_alternative<TooLargeForNode>(large));
  EXPECT_EQ(std::get<TooLargeForNode>(large).short_of, "cpu");
  const Json selector = {{"nodeSelector", {{"cloud.google.com/gke-nodepool", "other"}}}};
  EXPECT_TRUE(std::holds_alternative<NotMeantForPool>(
      FitGang(Pool(Json::object()), {Member(1, "1", selector)})));
}

TEST(GangFitTest, GangFitsQueuedPoolsInItsZones) {
  const NodePool pool =
      Pool({{"queuedProvisioning", true}, {"zones", {"us-central1-a", "us-central1-b"}}});
  EXPECT_EQ(Count(FitGang(pool, {Member(1, "1")})), 1);
  const Json zone = {{"nodeSelector", {{"topology.kubernetes.io/zone", "us-central1-b"}}}};
  EXPECT_EQ(std::get<FitsOn>(FitGang(pool, {Member(1, "1", zone)})).zones,
            std::vector<std::string>{"us-central1-b"});
}

}  // namespace
}  // namespace berth::local::cloud
