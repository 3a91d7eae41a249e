// Goal: conditions of nodes and spec.unschedulable bring taints, and NoExecute taints evict pods
// after the time that they tolerate them. Method: virtual time on the embedded API in memory.
#include "local/cluster/scheduler/node_taints.h"

#include <gtest/gtest.h>

#include "local/cluster/objects/resource_ids.h"
#include "scenarios/world/sim_executor.h"
#include "tests/local/support/test_api.h"

namespace berth::local::cluster {
namespace {

class NodeTaintsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(cache_.Track(kNodes));
    ASSERT_TRUE(cache_.Track(kPods));
    taints_.Start();
    ASSERT_TRUE(api_.CreateWithStatus(kNodes, "", {{"metadata", {{"name", "n"}}}, Report("True")}));
  }
  static Json::object_t::value_type Report(const char* ready) {
    return {"status", {{"conditions", {{{"type", "Ready"}, {"status", ready}}}}}};
  }
  void SetReady(const char* status) {
    Json node = **api_.Get(kNodes, "", "n");
    node["status"]["conditions"][0]["status"] = status;
    ASSERT_TRUE(api_.Update(kNodes, "", "n", node, {.subresource = "status"}));
    Run(1);
  }
  void Run(int time) { executor_.RunFor(std::chrono::seconds(time)); }
  // "KEY:EFFECT …", in their order.
  std::string Taints() {
    std::string text;
    for (const Json& taint : ArrayAt(**api_.Get(kNodes, "", "n"), {"spec", "taints"})) {
      text += StringAt(taint, {"key"}) + ":" + StringAt(taint, {"effect"}) + " ";
      EXPECT_EQ(taint.contains("timeAdded"), StringAt(taint, {"key"}) != "mine");
    }
    return text;
  }
  void CreatePod(const std::string& name, const Json& tolerations) {
    ASSERT_TRUE(api_.Create(kPods, "default",
                            {{"metadata", {{"name", name}}},
                             {"spec",
                              {{"nodeName", "n"},
                               {"terminationGracePeriodSeconds", 0},
                               {"tolerations", tolerations},
                               {"containers", Json::array({{{"name", "c"}, {"image", "i"}}})}}}},
                            {}));
    Run(1);
  }
  bool IsThere(const std::string& name) {
    const auto pod = api_.Get(kPods, "default", name);
    return pod && !IsDeleting(**pod);
  }
  FakeClock clock_;
  SimExecutor executor_{clock_};
  test::TestApi api_{clock_, &executor_};
  ObjectCache cache_{api_, executor_};
  NodeTaints taints_{api_, cache_, executor_, executor_, clock_};
};

TEST_F(NodeTaintsTest, NodeConditionsAddAndRemoveTaints) {
  Json node = **api_.Get(kNodes, "", "n");
  node["spec"]["taints"] = Json::array({{{"key", "mine"}, {"effect", "NoSchedule"}}});
  ASSERT_TRUE(api_.Update(kNodes, "", "n", node, {}));
  SetReady("Unknown");
  EXPECT_EQ(Taints(),
            "mine:NoSchedule node.kubernetes.io/unreachable:NoSchedule "
            "node.kubernetes.io/unreachable:NoExecute ");
  SetReady("False");
  EXPECT_EQ(Taints(),
            "mine:NoSchedule node.kubernetes.io/not-ready:NoSchedule "
            "node.kubernetes.io/not-ready:NoExecute ");
  SetReady("True");
  EXPECT_EQ(Taints(), "mine:NoSchedule ");
}

TEST_F(NodeTaintsTest, UnschedulableNodeHasItsTaint) {
  Json node = **api_.Get(kNodes, "", "n");
  node["spec"]["unschedulable"] = true;
  ASSERT_TRUE(api_.Update(kNodes, "", "n", node, {}));
  Run(1);
  EXPECT_EQ(Taints(), "node.kubernetes.io/unschedulable:NoSchedule ");
  node = **api_.Get(kNodes, "", "n");
  node["spec"].erase("unschedulable");
  ASSERT_TRUE(api_.Update(kNodes, "", "n", node, {}));
  Run(1);
  EXPECT_EQ(Taints(), "");
}

TEST_F(NodeTaintsTest, PodsAreEvictedAfterTheirTolerationSeconds) {
  const auto tolerates = [](Json more) {
    more.update({{"key", "node.kubernetes.io/unreachable"}, {"operator", "Exists"}});
    return Json::array({more});
  };
  CreatePod("forever", tolerates({{"effect", "NoExecute"}}));
  CreatePod("minute", tolerates({{"effect", "NoExecute"}, {"tolerationSeconds", 60}}));
  CreatePod("usual", Json::array());  // the API gives it 300 seconds
  SetReady("Unknown");
  EXPECT_TRUE(IsThere("minute"));
  Run(55);
  EXPECT_TRUE(IsThere("minute"));
  Run(10);
  EXPECT_FALSE(IsThere("minute"));
  EXPECT_TRUE(IsThere("usual"));
  SetReady("True");
  Run(300);
  EXPECT_TRUE(IsThere("usual")) << "the node is back";
  SetReady("Unknown");
  Run(290);
  EXPECT_TRUE(IsThere("usual"));
  Run(20);
  EXPECT_FALSE(IsThere("usual"));
  EXPECT_TRUE(IsThere("forever"));
}

TEST_F(NodeTaintsTest, TaintOfAnAdministratorEvictsAtOnce) {
  ASSERT_TRUE(api_.Create(kPods, "default",
                          {{"metadata", {{"name", "p"}, {"finalizers", {"test/keep"}}}},
                           {"spec",
                            {{"nodeName", "n"},
                             {"terminationGracePeriodSeconds", 0},
                             {"containers", Json::array({{{"name", "c"}, {"image", "i"}}})}}}},
                          {}));
  Json node = **api_.Get(kNodes, "", "n");
  node["spec"]["taints"] = Json::array({{{"key", "drain"}, {"effect", "NoExecute"}}});
  ASSERT_TRUE(api_.Update(kNodes, "", "n", node, {}));
  Run(1);
  const Json pod = **api_.Get(kPods, "default", "p");
  EXPECT_TRUE(IsDeleting(pod));
  const Json* condition = FindCondition(pod, "DisruptionTarget");
  ASSERT_NE(condition, nullptr) << pod;
  EXPECT_EQ(StringAt(*condition, {"reason"}), "DeletionByTaintManager");
}

}  // namespace
}  // namespace berth::local::cluster
