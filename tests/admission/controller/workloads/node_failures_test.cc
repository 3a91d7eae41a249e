// Goal: workloads are marked for their failed nodes, pods that wait for such a node are
// failed, and a cluster without topologies is not asked for nodes and pods. Method: all
// admission controllers on the real API in memory; the test plays kubelet and Job
// controller.
#include <algorithm>

#include "tests/admission/controller/admission_fixture.h"

namespace berth::admission {
namespace {

constexpr char kNodes[] = "/api/v1/nodes";
constexpr char kPods[] = "/api/v1/namespaces/team/pods";

class NodeFailuresTest : public AdmissionFixture {
 protected:
  void PutTopology() {
    Put("topologies", "dc", {{"levels", {{{"nodeLabel", "kubernetes.io/hostname"}}}}});
    Put("resourceflavors", "nodes", {{"topologyName", "dc"}, {"nodeLabels", {{"tier", "gpu"}}}});
  }
  void PutNode(const std::string& name, const char* ready) { PutNode(name, name, ready); }
  void PutNode(const std::string& name, const std::string& hostname, const char* ready) {
    api_.Put(
        kNodes,
        {{"metadata",
          {{"name", name}, {"labels", {{"kubernetes.io/hostname", hostname}, {"tier", "gpu"}}}}},
         {"status",
          {{"allocatable", {{"cpu", "4"}, {"pods", "10"}}},
           {"conditions",
            {{{"type", "Ready"},
              {"status", ready},
              {"lastTransitionTime", "2026-01-01T00:00:00Z"}}}}}}});
  }
  // Admitted, one pod on n1 and one on n2.
  void PutPlaced(const std::string& name) {
    api_.Put(std::string(kKueueRoot) + "namespaces/team/workloads", Json::parse(R"({
      "metadata": {"name": ")" + name + R"("}, "spec": {"active": true, "queueName": "lq",
        "podSets": [{"name": "main", "count": 2, "template": {"spec": {"containers": [
          {"name": "c", "resources": {"requests": {"cpu": 1}}}]}}}]},
      "status": {"conditions": [
          {"type": "QuotaReserved", "status": "True", "reason": "QuotaReserved", "message": "",
           "lastTransitionTime": "2026-01-01T00:00:00Z"},
          {"type": "Admitted", "status": "True", "reason": "Admitted", "message": "",
           "lastTransitionTime": "2026-01-01T00:00:00Z"},
          {"type": "PodsReady", "status": "True", "reason": "Started", "message": "",
           "lastTransitionTime": "2026-01-01T00:00:00Z"}],
        "admission": {"clusterQueue": "cq", "podSetAssignments": [{"name": "main", "count": 2,
          "flavors": {"cpu": "nodes"}, "resourceUsage": {"cpu": "2"},
          "topologyAssignment": {"levels": ["kubernetes.io/hostname"], "slices": [
            {"domainCount": 2, "podCounts": {"universal": 1},
             "valuesPerLevel": [{"individual": {"prefix": "n", "roots": ["1", "2"]}}]}]}}]}}})"));
  }
  void EndPod(const std::string& name) {
    Json pod = *api_.Find(std::string(kPods) + "/" + name);
    pod["status"]["phase"] = "Failed";
    api_.Put(kPods, pod);
  }
  void PutPod(const std::string& name, const std::string& hostname, const char* phase,
              const char* workload, const std::string& node = "") {
    Json pod = {
        {"metadata", {{"name", name}, {"annotations", {{"kueue.x-k8s.io/workload", workload}}}}},
        {"spec",
         {{"nodeSelector", {{"kubernetes.io/hostname", hostname}}},
          {"containers", {{{"name", "c"}, {"image", "i"}}}}}},
        {"status", {{"phase", phase}}}};
    if (std::string(phase) != "Pending") pod["spec"]["nodeName"] = node.empty() ? hostname : node;
    api_.Put(kPods, pod);
  }
  std::vector<std::string> Unhealthy(const std::string& name) {
    return Get(name).status.unhealthy_nodes;
  }
  bool Asked(const std::string& path) {
    return std::any_of(api_.requests().begin(), api_.requests().end(),
                       [&path](const auto& request) { return request.path == path; });
  }
};

TEST_F(NodeFailuresTest, PodsAndNodesAreWatchedOnlyWithATopology) {
  PutQueues(10);
  PutWorkload("a", 1);
  executor_.RunFor(5s);
  EXPECT_TRUE(Is("a", api::kAdmitted));
  EXPECT_FALSE(Asked("/api/v1/pods"));
  EXPECT_FALSE(Asked("/api/v1/nodes"));
  PutTopology();
  executor_.RunFor(5s);
  EXPECT_TRUE(Asked("/api/v1/pods"));
  EXPECT_TRUE(Asked("/api/v1/nodes"));
}

// Observed before the second pass, which a second later replaces the node or gives up.
class NamedNodesTest : public NodeFailuresTest {
 protected:
  NamedNodesTest() {
    Crash();
    PutTopology();
    PutNode("n1", "True");
    PutNode("n2", "True");
    PutPlaced("w");
    PutPod("p1", "n1", "Running", "w");
    PutPod("p2", "n2", "Running", "w");
    Boot();
    executor_.RunFor(5s);
  }
};

TEST_F(NamedNodesTest, APodOfAWorkloadWithoutAdmissionFails) {
  api_.Put(std::string(kKueueRoot) + "namespaces/team/workloads", Json::parse(R"({
      "metadata": {"name": "x"}, "spec": {"active": true, "queueName": "none", "podSets": [
        {"name": "main", "count": 1, "template": {"spec": {"containers": [{"name": "c"}]}}}]}})"));
  executor_.RunFor(1s);
  constexpr char kTopology[] = "kueue.x-k8s.io/podset-unconstrained-topology";
  struct StrayRow {
    const char* name;
    std::function<void(Json&)> change;
    const char* phase;
  };
  const StrayRow rows[] = {
      {"stray", [](Json&) {}, "Failed"},
      {"placed-by-its-user", [&](Json& pod) { pod["metadata"]["annotations"].erase(kTopology); },
       "Pending"},
      {"gated",
       [](Json& pod) {
         pod["spec"]["schedulingGates"] = {{{"name", "example.com/mine"}}};
       },
       "Pending"},
      {"of-an-elastic-job",
       [](Json& pod) {
         pod["metadata"]["annotations"]["kueue.x-k8s.io/workload-slice-name"] = "x";
       },
       "Pending"},
      {"of-a-placed-workload",
       [](Json& pod) { pod["metadata"]["annotations"]["kueue.x-k8s.io/workload"] = "w"; },
       "Pending"}};
  for (const StrayRow& row : rows) {
    Json pod = {{"metadata",
                 {{"name", row.name},
                  {"annotations", {{"kueue.x-k8s.io/workload", "x"}, {kTopology, "true"}}}}},
                {"spec",
                 {{"nodeSelector", {{"kubernetes.io/hostname", "n1"}}},
                  {"containers", {{{"name", "c"}, {"image", "i"}}}}}},
                {"status", {{"phase", "Pending"}}}};
    row.change(pod);
    api_.Put(kPods, pod);
    executor_.RunFor(2s);
    const Json* seen = api_.Find(std::string(kPods) + "/" + row.name);
    ASSERT_NE(seen, nullptr) << row.name;
    EXPECT_EQ((*seen)["status"]["phase"], row.phase) << row.name;
  }
}

TEST_F(NamedNodesTest, ARunningPodKeepsANodeThatIsNotReady) {
  EXPECT_TRUE(Unhealthy("w").empty());
  PutNode("n1", "False");
  executor_.RunFor(60s);
  EXPECT_TRUE(Unhealthy("w").empty());
  EndPod("p1");
  executor_.RunFor(300ms);
  EXPECT_THAT(Unhealthy("w"), ::testing::ElementsAre("n1"));
}

TEST_F(NamedNodesTest, DeletedNodeIsNamedUnhealthyAtOnce) {
  api_.Remove("/api/v1/nodes/n1");
  executor_.RunFor(300ms);
  EXPECT_THAT(Unhealthy("w"), ::testing::ElementsAre("n1"));
}

TEST_F(NamedNodesTest, NodeThatIsCreatedAgainIsHealthy) {
  PutQueues(10, {{"stopPolicy", "Hold"}});  // the second pass replaces no node
  executor_.RunFor(1s);
  EndPod("p1");
  api_.Remove("/api/v1/nodes/n1");
  executor_.RunFor(30s);
  EXPECT_THAT(Unhealthy("w"), ::testing::ElementsAre("n1"));
  PutNode("n1", "True");
  executor_.RunFor(1s);
  EXPECT_TRUE(Unhealthy("w").empty());
}

TEST_F(NamedNodesTest, NodeDeletedWhileTheControllerIsDownIsNamedUnhealthy) {
  Crash();
  api_.Remove("/api/v1/nodes/n2");
  Boot();
  executor_.RunFor(800ms);
  EXPECT_THAT(Unhealthy("w"), ::testing::ElementsAre("n2"));
}

TEST_F(NamedNodesTest, TwoDeletedNodesEvictTheWorkload) {
  api_.Remove("/api/v1/nodes/n1");
  api_.Remove("/api/v1/nodes/n2");
  executor_.RunFor(500ms);
  EXPECT_TRUE(Is("w", api::kEvicted));
  EXPECT_EQ(ReasonOf("w", api::kEvicted), "NodeFailures");
  EXPECT_THAT(EventReasons("w"), ::testing::Contains("EvictedDueToNodeFailures"));
  EXPECT_THAT(metrics_->Text(), ::testing::HasSubstr("reason=\"NodeFailures\"")) << "it counts";
}

TEST_F(NamedNodesTest, PendingPodOnAForeignNodeIsFailed) {
  PutPod("stray", "n9", "Pending", "w");
  executor_.RunFor(1s);
  const Json stray = *api_.Find(std::string(kPods) + "/stray");
  EXPECT_EQ(stray["status"]["phase"], "Failed");
  EXPECT_EQ(stray["status"]["conditions"][0]["type"], "TerminatedByKueue");
  EXPECT_EQ(stray["status"]["conditions"][0]["reason"], "UnschedulableOnAssignedNode");
}

// The nodes of n1 are machine-a and machine-b, that of n2 is machine-c.
class HostnamesTest : public NodeFailuresTest {
 protected:
  HostnamesTest() {
    Crash();
    PutTopology();
    PutNode("machine-a", "n1", "True");
    PutNode("machine-b", "n1", "True");
    PutNode("machine-c", "n2", "True");
    PutPlaced("w");
    PutPod("p1", "n1", "Running", "w", "machine-a");
    PutPod("p2", "n2", "Running", "w", "machine-c");
    Boot();
    executor_.RunFor(5s);
  }
};

TEST_F(HostnamesTest, NodeIsFoundByItsHostname) {
  EXPECT_THAT(Unhealthy("w"), ::testing::IsEmpty());
  EXPECT_FALSE(Is("w", api::kEvicted));
}

TEST_F(HostnamesTest, DeletedNodeMakesItsHostnameUnhealthy) {
  api_.Remove("/api/v1/nodes/machine-c");
  executor_.RunFor(300ms);
  EXPECT_THAT(Unhealthy("w"), ::testing::ElementsAre("n2"));
}

TEST_F(HostnamesTest, FindsTheEndedPodByItsHostnameSelector) {
  PutNode("machine-c", "n2", "False");
  executor_.RunFor(1s);
  EXPECT_THAT(Unhealthy("w"), ::testing::IsEmpty());
  EndPod("p2");
  executor_.RunFor(300ms);
  EXPECT_THAT(Unhealthy("w"), ::testing::ElementsAre("n2"));
}

TEST_F(HostnamesTest, HostnameIsUnhealthyWhenBothItsNodesAreDeleted) {
  api_.Remove("/api/v1/nodes/machine-a");
  executor_.RunFor(1s);
  EXPECT_THAT(Unhealthy("w"), ::testing::IsEmpty());
  api_.Remove("/api/v1/nodes/machine-b");
  executor_.RunFor(300ms);
  EXPECT_THAT(Unhealthy("w"), ::testing::ElementsAre("n1"));
}

TEST_F(HostnamesTest, ANodeMayGetAnotherHostname) {
  PutNode("machine-c", "n9", "True");
  executor_.RunFor(300ms);
  EXPECT_THAT(Unhealthy("w"), ::testing::ElementsAre("n2"));
}

}  // namespace
}  // namespace berth::admission
