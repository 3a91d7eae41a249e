// Goal: pods that no node will end become Failed and go: without a node, of a node that is gone, on
// a node that is out of service, and the oldest of too many that have ended.
// Method: the collector on the embedded API in memory in virtual time; no other controller runs.
#include "local/cluster/garbage/pod_garbage.h"

#include <gtest/gtest.h>

#include "local/cluster/objects/resource_ids.h"
#include "scenarios/world/sim_executor.h"
#include "tests/local/support/test_api.h"

namespace berth::local::cluster {
namespace {

using std::chrono::seconds;

constexpr char kHeld[] = "example.com/held";

class PodGarbageTest : public ::testing::Test {
 protected:
  void SetUp() override {
    CreateNode("n1");
    for (const ResourceId* resource : {&kNodes, &kPods}) ASSERT_TRUE(cache_.Track(*resource));
    collector_.Start();
    executor_.RunReady();
  }

  void CreateNode(const std::string& name) {
    ASSERT_TRUE(api_.Create(kNodes, "", {{"metadata", {{"name", name}}}}, {}));
  }
  void CreatePod(const std::string& name, const std::string& node, const std::string& phase,
                 bool is_held = false) {
    Json pod = {{"metadata", {{"name", name}}},
                {"spec", {{"containers", Json::array({{{"name", "c"}, {"image", "i"}}})}}},
                {"status", {{"phase", phase}}}};
    if (!node.empty()) pod["spec"]["nodeName"] = node;
    if (is_held) pod["metadata"]["finalizers"] = Json::array({kHeld});
    const auto created = api_.CreateWithStatus(kPods, "default", pod);
    ASSERT_TRUE(created) << created.error().message;
    executor_.RunFor(seconds(1));  // another creation time
  }
  void Delete(const ResourceId& resource, const std::string& name) {
    ASSERT_TRUE(api_.Delete(resource, resource == kPods ? "default" : "", name, {}));
    executor_.RunReady();
  }
  Json Pod(const std::string& name) {
    const auto pod = api_.Get(kPods, "default", name);
    return pod ? **pod : Json();
  }
  std::string Phase(const std::string& name) {
    return StringAt(Pod(name), {"status", "phase"}, "gone");
  }
  void Release(const std::string& name) {
    ASSERT_TRUE(api_.Patch(kPods, "default", name, PatchType::kMerge,
                           {{"metadata", {{"finalizers", nullptr}}}}, {}));
    executor_.RunReady();
  }

  FakeClock clock_;
  SimExecutor executor_{clock_};
  test::TestApi api_{clock_, &executor_};
  ObjectCache cache_{api_, executor_};
  PodGarbageCollector collector_{api_, cache_, executor_, clock_, 2};
};

TEST_F(PodGarbageTest, PodDeletedBeforeItHasANodeFails) {
  CreatePod("held", "", "Pending", true);
  CreatePod("waiting", "", "Pending");
  Delete(kPods, "held");
  executor_.RunFor(seconds(15));
  EXPECT_EQ(Phase("held"), "Pending") << "others may still react";
  executor_.RunFor(seconds(10));
  EXPECT_EQ(Phase("held"), "Failed");
  EXPECT_EQ(Phase("waiting"), "Pending");
  Release("held");
  EXPECT_EQ(Phase("held"), "gone");
}

TEST_F(PodGarbageTest, PodsOfADeletedNodeFailAfterAWait) {
  CreateNode("n2");
  CreatePod("runs", "n2", "Running", true);
  CreatePod("done", "n2", "Succeeded", true);
  CreatePod("other", "n1", "Running");
  Delete(kNodes, "n2");
  executor_.RunFor(seconds(35));
  EXPECT_EQ(Phase("runs"), "Running") << "the node may come back";
  executor_.RunFor(seconds(10));
  EXPECT_EQ(Phase("runs"), "Failed");
  EXPECT_EQ(FindCondition(Pod("runs"), "DisruptionTarget")->at("reason"), "DeletionByPodGC");
  EXPECT_EQ(Phase("done"), "Succeeded");
  EXPECT_TRUE(IsDeleting(Pod("done")));
  Release("runs");
  Release("done");
  EXPECT_EQ(Phase("runs"), "gone");
  EXPECT_EQ(Phase("done"), "gone");
  EXPECT_EQ(Phase("other"), "Running");
}

TEST_F(PodGarbageTest, NodeThatReturnsKeepsItsPods) {
  CreatePod("early", "n3", "Running");
  executor_.RunFor(seconds(30));
  CreateNode("n3");
  executor_.RunFor(seconds(60));
  EXPECT_EQ(Phase("early"), "Running");
}

TEST_F(PodGarbageTest, OutOfServiceNodeReleasesDeletedPods) {
  CreatePod("stuck", "n1", "Running");
  CreatePod("stays", "n1", "Running");
  Delete(kPods, "stuck");
  executor_.RunFor(seconds(60));
  EXPECT_EQ(Phase("stuck"), "Running");
  ASSERT_TRUE(api_.Patch(kNodes, "", "n1", PatchType::kMerge,
                         {{"spec",
                           {{"taints", Json::array({{{"key", "node.kubernetes.io/out-of-service"},
                                                     {"effect", "NoExecute"}}})}}}},
                         {}));
  executor_.RunReady();
  EXPECT_EQ(Phase("stuck"), "gone");
  EXPECT_EQ(Phase("stays"), "Running");
}

TEST_F(PodGarbageTest, OldestEndedPodsAboveTheLimitAreDeleted) {
  CreatePod("a", "n1", "Succeeded");
  CreatePod("b", "n1", "Failed");
  CreatePod("runs", "n1", "Running");
  executor_.RunFor(seconds(60));
  EXPECT_EQ(Phase("a"), "Succeeded");
  CreatePod("c", "n1", "Succeeded");
  executor_.RunReady();
  EXPECT_EQ(Phase("a"), "gone");
  EXPECT_EQ(Phase("b"), "Failed");
  EXPECT_EQ(Phase("c"), "Succeeded");
  EXPECT_EQ(Phase("runs"), "Running");
}

}  // namespace
}  // namespace berth::local::cluster
