// Goal: the ledger gets a record where the quota of a ClusterQueue changes, and none elsewhere.
// Method: specs with several flavors, changed one by one.
#include "ledger/controller/quota_changes.h"

#include <gmock/gmock.h>

namespace berth::ledger {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

api::ClusterQueue QueueWith(const std::vector<api::FlavorQuotas>& flavors) {
  api::ClusterQueue queue;
  queue.meta.name = "team";
  queue.spec.resource_groups.push_back({.flavors = flavors});
  return queue;
}

TEST(QuotaChangesTest, FlavorsAddUpAndGpusCountWhole) {
  const SharesByFlavor shares{{"shared", {{"nvidia.com/gpu", 4}}}};
  const api::ClusterQueue queue = QueueWith({{"whole", {{"nvidia.com/gpu", 2}, {"cpu", 1000}}},
                                             {"shared", {{"nvidia.com/gpu", 6}, {"cpu", 500}}}});
  const std::map<std::string, api::Amount> expected{
      {"berth.dev/gpus", 3'500'000}, {"cpu", 1500}, {"nvidia.com/gpu", 8}};
  EXPECT_EQ(QuotaOf(shares, queue.spec), expected);
}

TEST(QuotaChangesTest, OnlyChangesAreRecorded) {
  QuotaChanges changes;
  const auto first = QueueWith({{"a", {{"cpu", 1000}, {"memory", 7}}}});
  EXPECT_THAT(changes.Take({}, first, 10), ElementsAre(QuotaRecord{"team", "cpu", 10, 1000},
                                                       QuotaRecord{"team", "memory", 10, 7}));
  EXPECT_THAT(changes.Take({}, first, 20), IsEmpty());
  const auto less = QueueWith({{"a", {{"cpu", 500}}}});
  EXPECT_THAT(changes.Take({}, less, 30), ElementsAre(QuotaRecord{"team", "cpu", 30, 500},
                                                      QuotaRecord{"team", "memory", 30, 0}));
}

TEST(QuotaChangesTest, DeletedQueueHasNoQuota) {
  QuotaChanges changes;
  (void)changes.Take({}, QueueWith({{"a", {{"cpu", 1000}}}}), 10);
  EXPECT_THAT(changes.TakeDeleted("team", 20), ElementsAre(QuotaRecord{"team", "cpu", 20, 0}));
  EXPECT_THAT(changes.TakeDeleted("team", 30), IsEmpty());
  EXPECT_THAT(changes.Take({}, QueueWith({{"a", {{"cpu", 1000}}}}), 40),
              ElementsAre(QuotaRecord{"team", "cpu", 40, 1000}));
}

}  // namespace
}  // namespace berth::ledger
