// Goal: each gated pod of a placed workload is ungated once, under all faults of
// writes; in a cluster without topologies no pods are listed. Method: the
// ungater on the real API in memory, in virtual time; the test plays scheduler and Job
// controller.
#include "integrations/controller/topology_ungater.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "scenarios/world/sim_executor.h"
#include "tests/support/registry_transport.h"

namespace berth::integrations {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;
using ::testing::ElementsAre;

constexpr char kPods[] = "/api/v1/namespaces/team/pods";
constexpr char kTeamWorkloads[] = "/apis/kueue.x-k8s.io/v1beta2/namespaces/team/workloads";

class TopologyUngaterTest : public ::testing::Test {
 protected:
  TopologyUngaterTest() {
    ungater_.Watch(manager_.AddController(ungater_, {}));
    manager_.StartInformers();
    manager_.StartControllers();
    executor_.RunFor(1s);
  }

  // The assignment: two pods in rack r1, one in r2.
  void PutWorkload(const char* admitted) {
    Json workload = Json::parse(R"({"metadata": {"name": "w"}, "spec": {"podSets": [
        {"name": "main", "count": 3, "template": {"spec": {"containers": [{"name": "c"}]}}}]},
      "status": {"conditions": [{"type": "Admitted", "status": "", "reason": "R", "message": "",
          "lastTransitionTime": "2026-01-01T00:00:00Z"}],
        "admission": {"clusterQueue": "cq", "podSetAssignments": [{"name": "main", "count": 3,
          "topologyAssignment": {"levels": ["rack"], "slices": [
            {"domainCount": 2, "podCounts": {"individual": [2, 1]},
             "valuesPerLevel": [{"individual": {"roots": ["r1", "r2"]}}]}]}}]}}})");
    workload["status"]["conditions"][0]["status"] = admitted;
    api_.Put(kTeamWorkloads, workload);
  }
  void PutPod(const std::string& name, int index) {
    api_.Put(kPods,
             {{"metadata",
               {{"name", name},
                {"labels",
                 {{"kueue.x-k8s.io/podset", "main"},
                  {"batch.kubernetes.io/job-completion-index", std::to_string(index)}}},
                {"annotations", {{"kueue.x-k8s.io/workload", "w"}}}}},
              {"spec",
               {{"nodeSelector", {{"pool", "a"}}},
                {"containers", {{{"name", "c"}, {"image", "i"}}}},
                {"schedulingGates", {{{"name", "mine"}}, {{"name", "kueue.x-k8s.io/topology"}}}}}},
              {"status", {{"phase", "Pending"}}}});
  }
  Json Spec(const std::string& pod) { return (*api_.Find(std::string(kPods) + "/" + pod))["spec"]; }
  std::string RackOf(const std::string& pod) { return Spec(pod)["nodeSelector"].value("rack", ""); }
  std::vector<std::string> Racks() { return {RackOf("p0"), RackOf("p1"), RackOf("p2")}; }
  void PutAll() {
    PutWorkload("True");
    for (const int index : {0, 1, 2}) PutPod("p" + std::to_string(index), index);
  }

  FakeClock clock_;
  SimExecutor executor_{clock_};
  kube::RegistryTransport api_{executor_, clock_};
  kube::ApiClient client_{api_, executor_};
  kube::Manager manager_{client_, executor_};
  kube::Metrics metrics_;
  TopologyUngater ungater_{manager_, clock_, &metrics_, 2};
};

TEST_F(TopologyUngaterTest, EachPodIsSentToItsRack) {
  PutAll();
  executor_.RunFor(2s);
  EXPECT_THAT(Racks(), ElementsAre("r1", "r1", "r2"));
  EXPECT_EQ(Spec("p0")["nodeSelector"]["pool"], "a");
  EXPECT_EQ(Spec("p0")["schedulingGates"], Json::array({{{"name", "mine"}}})) << "others stay";
  EXPECT_THAT(metrics_.Text(),
              ::testing::HasSubstr("kueue_pod_scheduling_gate_removal_seconds_count{"
                                   "cluster_queue=\"cq\",is_group=\"false\","
                                   "name=\"kueue.x-k8s.io/topology\"} 3"));
  EXPECT_EQ(api_.CountWrites(), 3U);
}

TEST_F(TopologyUngaterTest, NothingHappensBeforeAdmission) {
  PutWorkload("False");
  PutPod("p0", 0);
  executor_.RunFor(5s);
  EXPECT_EQ(api_.CountWrites(), 0U);
  EXPECT_TRUE(std::none_of(api_.requests().begin(), api_.requests().end(), [](const auto& request) {
    return request.path == "/api/v1/pods";
  })) << "nobody needs pods so far";
  PutWorkload("True");
  executor_.RunFor(2s);
  EXPECT_EQ(RackOf("p0"), "r1");
}

// Simulation, never-finishes, seed 20706: pods that the informer knew before the ungater used it
// stayed gated for ever.
TEST_F(TopologyUngaterTest, UngatesPodsThatExistedBeforeTheWorkload) {
  manager_.InformerFor<api::Pod>();
  PutPod("p0", 0);
  executor_.RunFor(1s);
  PutWorkload("True");
  executor_.RunFor(2s);
  EXPECT_EQ(RackOf("p0"), "r1");
}

TEST_F(TopologyUngaterTest, LostAnswerAssignsNoPlaceTwice) {
  PutAll();
  api_.FailNext("PATCH /api/v1/namespaces/team/pods/p0", 0, kube::RegistryTransport::Effect::kDone);
  executor_.RunFor(10s);
  EXPECT_THAT(Racks(), ElementsAre("r1", "r1", "r2"));
}

TEST_F(TopologyUngaterTest, ARefusedWriteIsTriedAgain) {
  PutAll();
  api_.FailNext("PATCH /api/v1/namespaces/team/pods/p1", 503);
  api_.FailNext("PATCH /api/v1/namespaces/team/pods/p2", 409);
  executor_.RunFor(10s);
  EXPECT_THAT(Racks(), ElementsAre("r1", "r1", "r2"));
}

TEST_F(TopologyUngaterTest, PlaceOfAFailedPodIsReused) {
  PutAll();
  executor_.RunFor(2s);
  Json pod = *api_.Find(std::string(kPods) + "/p2");
  pod["status"]["phase"] = "Failed";
  api_.Put(kPods, pod);
  PutPod("p3", 2);
  PutPod("p4", 2);  // one too many
  executor_.RunFor(2s);
  EXPECT_EQ(RackOf("p3"), "r2");
  EXPECT_EQ(RackOf("p4"), "");
}

TEST_F(TopologyUngaterTest, HundredPodsAreWrittenOnceEach) {
  Json workload = *[this] {
    PutWorkload("True");
    return api_.Find(std::string(kTeamWorkloads) + "/w");
  }();
  Json& slice =
      workload["status"]["admission"]["podSetAssignments"][0]["topologyAssignment"]["slices"][0];
  slice["podCounts"] = {{"individual", {50, 50}}};
  workload["status"]["admission"]["podSetAssignments"][0]["count"] = 100;
  api_.Put(kTeamWorkloads, workload);
  for (int i = 0; i < 100; ++i) PutPod("q" + std::to_string(i), i);
  executor_.RunFor(5s);
  int in_first = 0;
  for (int i = 0; i < 100; ++i) in_first += RackOf("q" + std::to_string(i)) == "r1" ? 1 : 0;
  EXPECT_EQ(in_first, 50);
  EXPECT_EQ(api_.CountWrites(), 100U) << "each pod once";
}

}  // namespace
}  // namespace berth::integrations
