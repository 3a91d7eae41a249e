// Goal: each second of a node counts once, for the Workload that has the node, whoever restarts;
// the measured cost takes the place of a charge. Method: tables of nodes and times.
#include "provisioning/meter.h"

#include <gtest/gtest.h>

#include "provisioning/spend.h"

namespace berth::provisioning {
namespace {

constexpr std::int64_t kMeterDollar = 1'000'000'000;
constexpr char kMeterQueue[] = "default/team";

WallTime Second(std::int64_t at) { return WallTime(std::chrono::seconds(at)); }

// Node n1 for Workload w, which costs 3.6 USD an hour: a thousandth of a dollar a second.
NodeUse Use(const std::string& workload = "w", const std::string& node = "n1") {
  NodeUse use{.queue = kMeterQueue,
              .node_uid = "uid-of-" + node,
              .workload_uid = "uid-of-" + workload,
              .created = Second(100)};
  use.meter.node = node;
  use.meter.workload = workload;
  use.meter.charge = "charge-of-" + workload;
  use.meter.hourly_nano = 36 * kMeterDollar / 10;
  return use;
}

Metered CostOf(const MeterMemory& memory, const std::string& workload) {
  Metered sum;
  for (const auto& [id, meter] : memory.Of(kMeterQueue).meters) {
    if (IsOf(id, "uid-of-" + workload)) sum.Add(meter, meter.until);
  }
  return sum;
}

TEST(MeterTest, ANodeCountsFromItsCreationToItsEnd) {
  MeterMemory memory;
  EXPECT_FALSE(memory.OpenOf("uid-of-n1"));
  memory.Begin(Use(), Second(130));
  const auto place = memory.OpenOf("uid-of-n1");
  ASSERT_TRUE(place);
  EXPECT_EQ(*place, MeterMemory::PlaceOf(Use()));
  const Metered first = memory.Extend(*place, Second(160));
  EXPECT_EQ(first.seconds, 60);
  EXPECT_EQ(first.nano_dollars, 60 * kMeterDollar / 1000);
  EXPECT_EQ(memory.Extend(*place, Second(150)).seconds, 0) << "the clock was set back";
  EXPECT_EQ(memory.Extend(*place, Second(200)).seconds, 40);
  memory.End(*place);
  EXPECT_EQ(memory.Extend(*place, Second(300)).seconds, 0);
  EXPECT_EQ(CostOf(memory, "w").nano_dollars, kMeterDollar / 10);
  EXPECT_EQ(CostOf(memory, "w").open, 0);
}

TEST(MeterTest, LeaseStartsTheMeterOfTheLessee) {
  MeterMemory memory;
  memory.Begin(Use(), Second(100));
  memory.Extend(MeterMemory::PlaceOf(Use()), Second(160));
  memory.End(MeterMemory::PlaceOf(Use()));
  memory.Begin(Use("lessee"), Second(160));
  memory.Extend(MeterMemory::PlaceOf(Use("lessee")), Second(190));
  EXPECT_EQ(CostOf(memory, "w").seconds, 60);
  EXPECT_EQ(CostOf(memory, "lessee").seconds, 30);
  // And back: the seconds between do not count for the first one.
  memory.End(MeterMemory::PlaceOf(Use("lessee")));
  memory.Begin(Use(), Second(200));
  memory.Extend(MeterMemory::PlaceOf(Use()), Second(210));
  EXPECT_EQ(CostOf(memory, "w").seconds, 70);
}

TEST(MeterTest, NewProcessContinuesTheStoredMeter) {
  MeterMemory old;
  old.Begin(Use(), Second(100));
  old.Extend(MeterMemory::PlaceOf(Use()), Second(160));
  MeterMemory next;
  next.Merge(kMeterQueue, old.Of(kMeterQueue));
  const auto place = next.OpenOf("uid-of-n1");
  ASSERT_TRUE(place);
  EXPECT_EQ(next.Extend(*place, Second(400)).seconds, 240) << "the node stood meanwhile";
  next.End(*place);
  next.Merge(kMeterQueue, old.Of(kMeterQueue));
  EXPECT_EQ(CostOf(next, "w").seconds, 300);
  EXPECT_EQ(CostOf(next, "w").open, 0) << "what is older changes nothing";
}

TEST(MeterTest, MergeKeepsTheLargerSumOfFoldedMeters) {
  MeterMemory memory;
  memory.Merge(kMeterQueue, {.meters = {}, .folded_seconds = 60, .folded_nano = 7});
  memory.Merge(kMeterQueue, {.meters = {}, .folded_seconds = 30, .folded_nano = 5});
  EXPECT_EQ(memory.Of(kMeterQueue).folded_seconds, 60);
  EXPECT_EQ(memory.Of(kMeterQueue).folded_nano, 7);
}

TEST(MeterTest, NodesWithoutAPriceAreCountedApart) {
  MeterMemory memory;
  NodeUse use = Use();
  use.meter.hourly_nano.reset();
  memory.Begin(use, Second(160));
  memory.Extend(MeterMemory::PlaceOf(use), Second(160));
  EXPECT_EQ(CostOf(memory, "w").seconds, 60);
  EXPECT_EQ(CostOf(memory, "w").unpriced, 1);
  EXPECT_EQ(CostOf(memory, "w").nano_dollars, 0);
}

TEST(MeterTest, TheMemoryIsBounded) {
  MeterMemory memory;
  for (int at = 0; at < 3010; ++at) {
    const NodeUse use = Use("w", "n" + std::to_string(at));
    memory.Begin(use, Second(200));
    memory.Extend(MeterMemory::PlaceOf(use), Second(210));
    if (at < 3000) memory.End(MeterMemory::PlaceOf(use));
  }
  EXPECT_EQ(memory.Of(kMeterQueue).meters.size(), 3000U);
  EXPECT_EQ(memory.Of(kMeterQueue).folded_seconds, 10 * 110);
  // A week later what has ended is added up.
  memory.Begin(Use("w", "late"), Second(8 * 86400));
  EXPECT_EQ(memory.Of(kMeterQueue).meters.size(), 11U);
  EXPECT_EQ(memory.Of(kMeterQueue).folded_seconds, 3000 * 110);
}

TEST(MeterTest, MoreNodesThanTheBoundAreNotMeasured) {
  MeterMemory memory;
  for (int at = 0; at < 3001; ++at) memory.Begin(Use("w", "n" + std::to_string(at)), Second(200));
  EXPECT_FALSE(memory.OpenOf("uid-of-n3000"));
  EXPECT_EQ(memory.Of(kMeterQueue).folded_seconds, 0) << "no node that stands is added up";
}

TEST(MeterTest, MeasuredCostReplacesTheCharge) {
  SpendMemory spend;
  spend.Record({kMeterQueue, 0, "charge-of-w", kMeterDollar});
  spend.Record({kMeterQueue, 0, "other", 5});
  MeterMemory& meters = spend.meters();
  meters.Begin(Use(), Second(100));
  meters.Extend(MeterMemory::PlaceOf(Use()), Second(200));
  EXPECT_EQ(spend.SpentBy(kMeterQueue, 0, {}), kMeterDollar + 5) << "the node stands";
  meters.End(MeterMemory::PlaceOf(Use()));
  EXPECT_EQ(spend.SpentBy(kMeterQueue, 0, {}), kMeterDollar / 10 + 5);
  EXPECT_EQ(spend.SpentBy(kMeterQueue, 0, {"charge-of-w"}), 5);
  meters.Begin(Use("w", "n2"), Second(200));
  meters.Extend(MeterMemory::PlaceOf(Use("w", "n2")), Second(2200));
  EXPECT_EQ(spend.SpentBy(kMeterQueue, 0, {}), 22 * kMeterDollar / 10 + 5)
      << "longer than expected";
}

TEST(MeterTest, SharesOfANodeAreCountedAsWholeGpus) {
  using Shares = std::map<std::string, api::Amount>;
  const struct {
    const char* what;
    api::ResourceAmounts allocatable;
    const char* replicas;  // label of the device plugin; empty: none
    Shares shares;
    std::int64_t gpus;
  } rows[] = {
      {"whole GPUs", {{"cpu", 8000}, {"nvidia.com/gpu", 8}}, "", {}, 8},
      {"the flavor's shares", {{"nvidia.com/gpu", 3}}, "", {{"nvidia.com/gpu", 3}}, 1},
      {"the flavor before the label", {{"nvidia.com/gpu", 4}}, "4", {{"nvidia.com/gpu", 2}}, 2},
      {"the label", {{"nvidia.com/gpu", 6}}, "3", {}, 2},
      {"renamed shares", {{"nvidia.com/gpu.shared", 8}}, "4", {}, 2},
      {"a share that is not healthy", {{"nvidia.com/gpu", 5}}, "3", {}, 2},
      {"a label that is no number", {{"nvidia.com/gpu", 2}}, "many", {}, 2},
      {"MIG devices of two GPUs",
       {{"nvidia.com/mig-1g.5gb", 1}, {"nvidia.com/mig-3g.20gb", 2}},
       "1",
       {{"nvidia.com/mig-1g.5gb", 7}, {"nvidia.com/mig-3g.20gb", 2}},
       2},
      {"no GPU", {{"cpu", 8000}}, "3", {}, 0},
  };
  for (const auto& row : rows) {
    api::Node node{.allocatable = row.allocatable};
    if (*row.replicas != '\0') node.meta.labels["nvidia.com/gpu.replicas"] = row.replicas;
    EXPECT_EQ(WholeGpusOf(node, row.shares), row.gpus) << row.what;
  }
}

}  // namespace
}  // namespace berth::provisioning
