// Goal: the simulation's quota rule gives the numbers of KEP-79's examples.
#include "tests/faults/quota_law.h"

#include <gtest/gtest.h>

#include "local/apiserver/store/store.h"

namespace berth::sim {
namespace {

using local::Json;

struct Node {
  std::string resource;  // "clusterqueues" or "cohorts"
  std::string name;
  std::string parent;
  Json cpu;  // nominalQuota, borrowingLimit, lendingLimit
};

QuotaLaw LawOf(const std::vector<Node>& nodes) {
  auto store = local::Store::Open({});
  Truth truth;
  (*store)->AddListener([&truth](const std::vector<local::EventPtr>& events) {
    for (const auto& event : events) truth.See(*event);
  });
  for (const Node& node : nodes) {
    Json cpu = node.cpu;
    cpu["name"] = "cpu";
    Json spec{
        {"resourceGroups",
         Json::array(
             {{{"flavors", Json::array({{{"name", "f"}, {"resources", Json::array({cpu})}}})}}})}};
    spec[node.resource == "cohorts" ? "parentName" : "cohortName"] = node.parent;
    local::Write write;
    write.key = {node.resource + ".kueue.x-k8s.io", "", node.name};
    write.object = {{"metadata", {{"name", node.name}, {"uid", node.name}}}, {"spec", spec}};
    EXPECT_TRUE((*store)->Commit({write}));
  }
  return QuotaLaw(truth);
}

const QuotaLaw::What kCpu{"f", "cpu"};

std::map<std::string, FlavorAmounts> InUse(const std::map<std::string, std::int64_t>& cores) {
  std::map<std::string, FlavorAmounts> usage;
  for (const auto& [queue, count] : cores) usage[queue][kCpu] = count * 1000;
  return usage;
}

TEST(QuotaLawTest, QueueWithoutACohortHasItsNominalQuota) {
  const QuotaLaw law = LawOf({{"clusterqueues", "a", "", {{"nominalQuota", "3"}}}});
  EXPECT_EQ(law.Available("a", kCpu, {}), 3000);
  EXPECT_EQ(law.Available("a", kCpu, InUse({{"a", 4}})), -1000);
  EXPECT_LT(law.Available("nobody", kCpu, {}), -1'000'000);
}

TEST(QuotaLawTest, BorrowingLimitBoundsTheAvailableQuota) {
  const QuotaLaw law =
      LawOf({{"clusterqueues", "a", "c", {{"nominalQuota", "3"}, {"borrowingLimit", "1"}}},
             {"clusterqueues", "b", "c", {{"nominalQuota", "3"}}}});
  EXPECT_EQ(law.Available("a", kCpu, {}), 4000);
  EXPECT_EQ(law.Available("b", kCpu, {}), 6000);
  EXPECT_EQ(law.Available("a", kCpu, InUse({{"b", 5}})), 1000);
}

TEST(QuotaLawTest, LendingLimitKeepsQuotaForTheQueue) {
  const QuotaLaw law =
      LawOf({{"clusterqueues", "a", "c", {{"nominalQuota", "3"}, {"lendingLimit", "1"}}},
             {"clusterqueues", "b", "c", {{"nominalQuota", "3"}}}});
  EXPECT_EQ(law.Available("b", kCpu, {}), 4000);
  EXPECT_EQ(law.Available("a", kCpu, InUse({{"b", 4}})), 2000);
  EXPECT_EQ(law.Available("b", kCpu, InUse({{"a", 2}})), 4000);
  EXPECT_EQ(law.Available("b", kCpu, InUse({{"a", 3}})), 3000);
}

TEST(QuotaLawTest, TreeOfCohortsAddsUpQuota) {
  const QuotaLaw law = LawOf({{"cohorts", "top", "", {{"nominalQuota", "5"}}},
                              {"cohorts", "low", "top", {{"nominalQuota", "1"}}},
                              {"clusterqueues", "a", "low", {{"nominalQuota", "2"}}},
                              {"clusterqueues", "b", "top", {{"nominalQuota", "0"}}}});
  EXPECT_EQ(law.Available("a", kCpu, {}), 8000);
  EXPECT_EQ(law.Available("b", kCpu, InUse({{"a", 4}})), 4000);
}

}  // namespace
}  // namespace berth::sim
