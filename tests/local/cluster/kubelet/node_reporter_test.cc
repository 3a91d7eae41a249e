// Goal: a Node that nobody reports on becomes ready on this machine; a node with a condition Ready
// keeps its status. Method: virtual time on the embedded API in memory.
#include "local/cluster/kubelet/node_reporter.h"

#include <gtest/gtest.h>

#include "local/cluster/objects/resource_ids.h"
#include "scenarios/world/sim_executor.h"
#include "tests/local/support/test_api.h"

namespace berth::local::cluster {
namespace {

class NodeReporterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(cache_.Track(kNodes));
    reporter_.Start();
  }
  Json Create(const std::string& name, const Json& status) {
    const Json node{{"metadata", {{"name", name}}}, {"status", status}};
    EXPECT_TRUE(api_.Create(kNodes, "", node, {}));
    executor_.RunFor(std::chrono::seconds(1));
    return **api_.Get(kNodes, "", name);
  }
  FakeClock clock_;
  SimExecutor executor_{clock_};
  test::TestApi api_{clock_, &executor_};
  ObjectCache cache_{api_, executor_};
  NodeReporter reporter_{api_, cache_, executor_, clock_};
};

TEST_F(NodeReporterTest, NodeWithoutAReportHasTheStatusOfThisMachine) {
  const Json node = Create("kwok-1", {{"allocatable", {{"cpu", "4"}}}});
  EXPECT_TRUE(ConditionIs(node, "Ready", "True"));
  EXPECT_TRUE(ConditionIs(node, "MemoryPressure", "False"));
  EXPECT_EQ(StringAt(node, {"status", "allocatable", "cpu"}), "4");
  EXPECT_EQ(ArrayAt(node, {"status", "addresses"}),
            Json::parse(R"([{"type": "InternalIP", "address": "127.0.0.1"},
                            {"type": "Hostname", "address": "kwok-1"}])"));
  EXPECT_EQ(StringAt(node, {"status", "nodeInfo", "osImage"}), "this machine");
}

TEST_F(NodeReporterTest, ReportedNodeStatusStays) {
  const Json status{
      {"conditions", {{{"type", "Ready"}, {"status", "False"}, {"reason", "Broken"}}}}};
  const Json node = Create("broken", status);
  EXPECT_TRUE(ConditionIs(node, "Ready", "False"));
  EXPECT_EQ(ArrayAt(node, {"status", "conditions"}).size(), 1U);
  EXPECT_TRUE(ArrayAt(node, {"status", "addresses"}).empty());
}

}  // namespace
}  // namespace berth::local::cluster
