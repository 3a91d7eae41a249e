// Goal: a resource name, which any tenant may write, has a number while a workload requests it.
// Method: many workloads, each with a resource of its own, are added and deleted; one stays.
#include <gtest/gtest.h>

#include "tests/support/core_fixture.h"

namespace berth::admission {
namespace {

using support::KeyOf;
using support::MakeJob;
using support::MakeQueue;
using support::TableWorld;

TEST(VocabularyTest, NamesOfDeletedWorkloadsAreReleased) {
  TableWorld world({"f"}, {MakeQueue("a", "", {{"f", {{"gpu", 4}}}})});
  world.Apply(MakeJob("stays", "a", 1, {{"example.com/stays", 1}}));
  world.Cycle();
  const std::string told = world.MessageOf("stays");
  for (int i = 0; i < 5'000; ++i) {
    const std::string name = "w" + std::to_string(i);
    world.Apply(MakeJob(name, "a", 1, {{"example.com/" + name, 1}, {"gpu", 1}}));
    if (i % 1'000 == 0) {
      while (world.HasHeads()) world.Cycle();
    }
    world.DeleteWorkload(KeyOf(name));
  }
  const queue::Names& resources = world.scheduler().state().vocabulary().resources;
  EXPECT_LE(resources.size(), static_cast<std::int32_t>(queue::Names::kMostIdle) + 10);
  EXPECT_NE(resources.Find("gpu"), queue::Names::kNone);
  world.scheduler().Reconsider(std::make_shared<const api::Workload>(*world.Find(KeyOf("stays"))),
                               world.now());
  world.Apply(MakeQueue("a", "", {{"f", {{"gpu", 5}}}}));
  world.WakeUp();
  world.Cycle();
  EXPECT_EQ(world.MessageOf("stays"), told);
  EXPECT_NE(told.find("example.com/stays"), std::string::npos) << told;
}

}  // namespace
}  // namespace berth::admission
