// Goal: the flags of kueuectl's create make the objects that it makes; bad flags are named, with
// their form.
#include "view/screens/kueue_objects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace berth::view {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

TEST(KueueObjects, BuildsAClusterQueueWithGroupsOfFlavors) {
  const auto queue = BuildClusterQueue(
      {.name = "team",
       .cohort = "all",
       .queuing_strategy = "StrictFIFO",
       .namespace_selector = {"a=b"},
       .reclaim_within_cohort = "Any",
       .nominal_quota = {"spot:cpu=9;memory=36Gi", "gpu:nvidia.com/gpu=8", "big:memory=1Gi;cpu=1"},
       .borrowing_limit = {"spot:cpu=1;memory=1Gi"}});
  ASSERT_TRUE(queue) << queue.error().message;
  EXPECT_EQ((*queue)["spec"], Json::parse(R"({
    "cohortName": "all", "queueingStrategy": "StrictFIFO",
    "namespaceSelector": {"matchLabels": {"a": "b"}},
    "preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "Never"},
    "resourceGroups": [
      {"coveredResources": ["cpu", "memory"], "flavors": [
        {"name": "spot", "resources": [
          {"name": "cpu", "nominalQuota": "9", "borrowingLimit": "1"},
          {"name": "memory", "nominalQuota": "36Gi", "borrowingLimit": "1Gi"}]},
        {"name": "big", "resources": [
          {"name": "cpu", "nominalQuota": "1"}, {"name": "memory", "nominalQuota": "1Gi"}]}]},
      {"coveredResources": ["nvidia.com/gpu"], "flavors": [
        {"name": "gpu", "resources": [{"name": "nvidia.com/gpu", "nominalQuota": "8"}]}]}]})"));
  const auto plain = BuildClusterQueue({.name = "plain"});
  EXPECT_EQ((*plain)["spec"]["namespaceSelector"], Json::object()) << "every namespace";
  EXPECT_FALSE((*plain)["spec"].contains("resourceGroups"));
}

TEST(KueueObjects, RefusesWrongQuotasWithAMessage) {
  struct QuotaRow {
    std::vector<std::string> nominal;
    std::vector<std::string> borrowing;
    const char* message;
  };
  const QuotaRow rows[] = {
      {{"cpu=1"}, {}, "--nominal-quota \"cpu=1\": write flavor:resource=amount"},
      {{"f:cpu"}, {}, "--nominal-quota \"f:cpu\": write flavor:resource=amount"},
      {{"f:cpu=much"}, {}, "\"much\" is not an amount of cpu"},
      {{"f:cpu=1;cpu=2"}, {}, "cpu comes twice"},
      {{"f:cpu=1", "f:cpu=2"}, {}, "the flavor f comes twice"},
      {{"f:cpu=1"}, {"f:memory=1"}, "--borrowing-limit \"f:memory=1\": name the same resources"},
      {{"f:cpu=1;memory=1"}, {"f:cpu=1"}, "name the same resources of the flavor f"},
      {{"f:cpu=1;memory=1", "g:cpu=1"}, {}, "cpu of the flavor g is also in flavors with other"}};
  for (const QuotaRow& row : rows) {
    const auto queue = BuildClusterQueue(
        {.name = "q", .nominal_quota = row.nominal, .borrowing_limit = row.borrowing});
    ASSERT_FALSE(queue) << row.message;
    EXPECT_THAT(queue.error().message, HasSubstr(row.message));
  }
  EXPECT_THAT(BuildClusterQueue({.name = "q", .namespace_selector = {"a"}}).error().message,
              HasSubstr("--namespace-selector \"a\": write label=value"));
}

TEST(KueueObjects, BuildsAResourceFlavor) {
  const auto flavor =
      BuildResourceFlavor({.name = "spot",
                           .node_labels = {"a/b=c"},
                           .node_taints = {"k=v:NoSchedule", "k:NoExecute"},
                           .tolerations = {"k=v:NoSchedule", "k", ":NoExecute", "k=v"}});
  ASSERT_TRUE(flavor) << flavor.error().message;
  EXPECT_EQ((*flavor)["spec"], Json::parse(R"({
    "nodeLabels": {"a/b": "c"},
    "nodeTaints": [{"key": "k", "value": "v", "effect": "NoSchedule"},
                   {"key": "k", "effect": "NoExecute"}],
    "tolerations": [{"operator": "Equal", "key": "k", "value": "v", "effect": "NoSchedule"},
                    {"operator": "Exists", "key": "k"},
                    {"operator": "Exists", "effect": "NoExecute"},
                    {"operator": "Equal", "key": "k", "value": "v"}]})"));
  for (const auto& [taint, message] : {std::pair{"k", "write key=value:effect"},
                                       {"k:PreferNoSchedule", "is not NoSchedule or NoExecute"},
                                       {"a=b=c:NoSchedule", "write key=value:effect"},
                                       {":NoSchedule", "write key=value:effect"}}) {
    EXPECT_THAT(BuildResourceFlavor({.name = "f", .node_taints = {taint}}).error().message,
                HasSubstr(message));
  }
  EXPECT_THAT(BuildResourceFlavor({.name = "f", .node_taints = {"k:NoExecute", "k=v:NoExecute"}})
                  .error()
                  .message,
              HasSubstr("come twice"));
  EXPECT_FALSE(BuildResourceFlavor({.name = "f", .tolerations = {"=v"}}));
}

}  // namespace
}  // namespace berth::view
