// Goal: GPUs that pods share are counted in shares and in whole GPUs, and a pod gets no more shares
// than its flavor gives. Method: one queue, Workloads of the small world, cycles; the numbers of
// NVIDIA's time slicing with three replicas (a g4dn.xlarge with one T4).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/gpu_shares.h"
#include "api/labels.h"
#include "tests/support/core_fixture.h"

namespace berth::admission {
namespace {

using support::KeyOf;
using support::MakeFlavor;
using support::MakeJob;
using support::MakeQueue;
using support::TableWorld;
using ::testing::HasSubstr;

constexpr char kShares[] = "nvidia.com/gpu";

api::ResourceFlavor SharedFlavor(const std::string& name, const std::string& shares,
                                 const std::string& most = "") {
  api::ResourceFlavor flavor = MakeFlavor(name, {});
  if (!shares.empty()) flavor.meta.annotations[api::kSharesPerGpuAnnotation] = shares;
  if (!most.empty()) flavor.meta.annotations[api::kMostPerPodAnnotation] = most;
  return flavor;
}

Amount GpusOf(TableWorld& world, const std::string& name) {
  const api::Workload& workload = *world.Find(KeyOf(name));
  return workload.status.admission->pod_set_assignments[0].resource_usage.at(api::kGpusResource);
}

TEST(GpuSharingTest, ThreeSharesAreOneGpuOfTheQuota) {
  TableWorld world(
      {}, {MakeQueue("a", "", {{"t4", {{kShares, 100}, {api::kGpusResource, 1'000'000}}}})});
  world.Apply(SharedFlavor("t4", "nvidia.com/gpu=3"));
  for (const char* name : {"w1", "w2", "w3", "w4"}) {
    world.Apply(MakeJob(name, "a", 1, {{kShares, 1}}));
  }
  EXPECT_EQ(world.AdmitAll(), "w1, w2, w3");
  EXPECT_EQ(GpusOf(world, "w1"), 333'333);
  EXPECT_THAT(world.Find(KeyOf("w4"))->status.conditions[0].message,
              HasSubstr("insufficient unused quota for berth.dev/gpus in flavor t4"));
}

TEST(GpuSharingTest, AGangOfSharesFitsItsGpus) {
  TableWorld world(
      {}, {MakeQueue("a", "", {{"t4", {{kShares, 100}, {api::kGpusResource, 2'000'000}}}})});
  world.Apply(SharedFlavor("t4", "nvidia.com/gpu=3"));
  world.Apply(MakeJob("w", "a", 6, {{kShares, 1}}));
  EXPECT_EQ(world.AdmitAll(), "w");
  EXPECT_EQ(GpusOf(world, "w"), 1'999'998) << "a multiple of the number of pods";
}

TEST(GpuSharingTest, QuotaOfSharesLimitsAdmission) {
  TableWorld world({},
                   {MakeQueue("a", "", {{"t4", {{kShares, 2}, {api::kGpusResource, 9'000'000}}}})});
  world.Apply(SharedFlavor("t4", "nvidia.com/gpu=3"));
  for (const char* name : {"w1", "w2", "w3"}) world.Apply(MakeJob(name, "a", 1, {{kShares, 1}}));
  EXPECT_EQ(world.AdmitAll(), "w1, w2");
}

TEST(GpuSharingTest, TheFlavorDecidesHowManyGpusTheSharesAre) {
  TableWorld world({}, {MakeQueue("a", "",
                                  {{"t4", {{kShares, 1}, {api::kGpusResource, 1'000'000}}},
                                   {"a100", {{kShares, 1}, {api::kGpusResource, 1'000'000}}}})});
  world.Apply(SharedFlavor("t4", "nvidia.com/gpu=3"));
  world.Apply(SharedFlavor("a100", ""));
  world.Apply(MakeJob("w1", "a", 1, {{kShares, 1}}));
  world.Apply(MakeJob("w2", "a", 1, {{kShares, 1}}));
  EXPECT_EQ(world.AdmitAll(), "w1, w2");
  EXPECT_EQ(world.FlavorFor("w2", kShares), "a100");
  EXPECT_EQ(GpusOf(world, "w1"), 333'333);
  EXPECT_EQ(GpusOf(world, "w2"), 1'000'000);
}

TEST(GpuSharingTest, SevenMigPartsAreOneGpuOfTheQuota) {
  const std::string part = "nvidia.com/mig-1g.5gb";
  TableWorld world(
      {}, {MakeQueue("a", "", {{"a100", {{part, 100}, {api::kGpusResource, 1'000'000}}}})});
  world.Apply(SharedFlavor("a100", part + "=7"));
  world.Apply(MakeJob("w", "a", 7, {{part, 1}}));
  EXPECT_EQ(world.AdmitAll(), "w");
  world.Apply(MakeJob("more", "a", 1, {{part, 1}}));
  EXPECT_EQ(world.AdmitAll(), "");
}

TEST(GpuSharingTest, JobsWithoutGpusAreNotCharged) {
  TableWorld world({}, {MakeQueue("a", "", {{"t4", {{"cpu", 9}, {api::kGpusResource, 0}}}})});
  world.Apply(SharedFlavor("t4", "nvidia.com/gpu=3"));
  world.Apply(MakeJob("w", "a", 1, {{"cpu", 1}}));
  EXPECT_EQ(world.AdmitAll(), "w");
}

TEST(GpuSharingTest, QueueWithoutGpuQuotaCountsSharesAlone) {
  TableWorld world({}, {MakeQueue("a", "", {{"t4", {{kShares, 4}}}})});
  world.Apply(SharedFlavor("t4", "nvidia.com/gpu=3"));
  world.Apply(MakeJob("w", "a", 4, {{kShares, 1}}));
  EXPECT_EQ(world.AdmitAll(), "w");
  const auto& usage =
      world.Find(KeyOf("w"))->status.admission->pod_set_assignments[0].resource_usage;
  EXPECT_EQ(usage.count(api::kGpusResource), 0U);
}

TEST(GpuSharingTest, APodGetsNoMoreSharesThanItsFlavorGives) {
  TableWorld world({}, {MakeQueue("a", "", {{"t4", {{kShares, 9}}}, {"a100", {{kShares, 2}}}})});
  world.Apply(SharedFlavor("t4", "nvidia.com/gpu=3", "nvidia.com/gpu=1"));
  world.Apply(SharedFlavor("a100", ""));
  world.Apply(MakeJob("one", "a", 3, {{kShares, 1}}));
  EXPECT_EQ(world.AdmitAll(), "one");
  world.Apply(MakeJob("two", "a", 1, {{kShares, 2}}));
  EXPECT_EQ(world.AdmitAll(), "two");
  EXPECT_EQ(world.FlavorFor("two", kShares), "a100");
  world.Apply(MakeJob("more", "a", 1, {{kShares, 2}}));
  EXPECT_EQ(world.Cycle(), "more NoCandidates");
  EXPECT_THAT(world.MessageOf("more"),
              HasSubstr("a pod asks for 2 nvidia.com/gpu, shares of a GPU, but flavor t4 gives "
                        "a pod at most 1"));
  world.Apply(SharedFlavor("t4", "nvidia.com/gpu=3"));  // the flavor's limit goes
  world.WakeUp();
  EXPECT_EQ(world.AdmitAll(), "more");
}

TEST(ShareNumbersTest, ReadsShareNumbersOrRejectsTheText) {
  using Numbers = std::map<std::string, Amount>;
  EXPECT_EQ(*api::ParseShareNumbers(""), Numbers{});
  EXPECT_EQ(*api::ParseShareNumbers("nvidia.com/gpu=3,nvidia.com/mig-1g.5gb=7"),
            (Numbers{{"nvidia.com/gpu", 3}, {"nvidia.com/mig-1g.5gb", 7}}));
  for (const char* bad : {"nvidia.com/gpu", "=3", "a=0", "a=-1", "a=1.5", "a=9999999999", "a=1,",
                          "a=1,a=2", "a=99999999999999999999"}) {
    EXPECT_FALSE(api::ParseShareNumbers(bad)) << bad;
  }
}

TEST(ShareNumbersTest, QuotasOfGpusAreInMillionths) {
  EXPECT_EQ(*api::ParseAmount(api::kGpusResource, "4"), 4'000'000);
  EXPECT_EQ(*api::ParseAmount(api::kGpusResource, "500m"), 500'000);
  EXPECT_EQ(api::FormatAmount(api::kGpusResource, 4'000'000), "4");
  EXPECT_EQ(api::FormatAmount(api::kGpusResource, 333'333), "333333u");
  EXPECT_EQ(api::FormatAmount(api::kGpusResource, 500'000), "500m");
  EXPECT_EQ(api::ToQuantity(api::kGpusResource, 1'500'000).ToString(), "1500m");
  EXPECT_TRUE(api::IsGpuResource("amd.com/gpu"));
  EXPECT_TRUE(api::IsGpuResource("nvidia.com/gpu.shared"));
  EXPECT_FALSE(api::IsGpuResource("cpu"));
  EXPECT_FALSE(api::IsGpuResource(api::kGpusResource));
}

}  // namespace
}  // namespace berth::admission
