// Goal: nodes of a policy with metering are measured, in metrics and in the ConfigMap, across a
// restart; without such a policy no node is read. Method: the reconciler on the real API in memory,
// in virtual time; the test plays the cloud.
#include "provisioning/controller/meter_reconciler.h"

#include <algorithm>
#include <map>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/codec/node_meters.h"
#include "base/rfc3339.h"
#include "scenarios/world/sim_executor.h"
#include "tests/support/registry_transport.h"

namespace berth::provisioning {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kKueueGroup[] = "/apis/kueue.x-k8s.io/v1beta2/";
constexpr char kPolicyList[] = "/apis/provisioning.berth.dev/v1alpha1/provisioningpolicies";
constexpr char kRequestList[] =
    "/apis/autoscaling.x-k8s.io/v1/namespaces/default/provisioningrequests";
constexpr char kNodeList[] = "/api/v1/nodes";
constexpr char kTeam[] = "default/lq";

// One process: what a restart loses.
struct Process {
  Process(kube::RegistryTransport& api, SimExecutor& executor, const Clock& clock)
      : client(api, executor),
        manager(client, executor),
        spend(client, "kueue-system"),
        meters(
            manager, clock, spend, &metrics,
            [this](const std::string& queue) { settled.push_back(queue); },
            [this](const MeterNote& note) { notes.push_back(note); }) {
    meters.Watch(manager.AddController(meters, {}));
    manager.StartInformers();
    manager.StartControllers();
  }

  kube::ApiClient client;
  kube::Manager manager;
  kube::Metrics metrics;
  SpendKeeper spend;
  std::vector<std::string> settled;
  std::vector<MeterNote> notes;
  MeterReconciler meters;
};

class MeterReconcilerTest : public ::testing::Test {
 protected:
  MeterReconcilerTest() {
    api_.Put("/api/v1/namespaces", {{"metadata", {{"name", "kueue-system"}}}});
    api_.Put(kKueueGroup + std::string("admissionchecks"), Json::parse(R"({
      "metadata": {"name": "dws", "annotations": {"berth.dev/provisioning-policy": "p"}},
      "spec": {"controllerName": "kueue.x-k8s.io/provisioning-request",
               "parameters": {"apiGroup": "kueue.x-k8s.io", "kind": "ProvisioningRequestConfig",
                              "name": "config"}}})"));
    api_.Put(kKueueGroup + std::string("provisioningrequestconfigs"), Json::parse(R"({
      "metadata": {"name": "config"}, "spec": {"provisioningClassName": "q"}})"));
    api_.Put(kKueueGroup + std::string("namespaces/default/workloads"), Json::parse(R"({
      "metadata": {"name": "wl", "namespace": "default"},
      "spec": {"queueName": "lq", "podSets": [{"name": "main", "count": 1,
                                                "template": {"spec": {"containers": []}}}]},
      "status": {
        "admission": {"clusterQueue": "cq", "podSetAssignments": [
          {"name": "main", "count": 1, "flavors": {"nvidia.com/gpu": "gpu"}}]},
        "admissionChecks": [{"name": "dws", "state": "Ready", "message": "",
                             "lastTransitionTime": "2026-01-01T00:00:00Z"}]}})"));
    Json request = Json::parse(R"({
      "metadata": {"name": "pr", "namespace": "default",
                   "annotations": {"berth.dev/provisioning-step": "dws"},
                   "ownerReferences": [{"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",
                                        "name": "wl", "controller": true}]},
      "spec": {"provisioningClassName": "q",
               "podSets": [{"podTemplateRef": {"name": "t"}, "count": 1}]},
      "status": {"provisioningClassDetails": {"ResizeRequestName": "set"}}})");
    const Json* workload = api_.Find(kKueueGroup + std::string("namespaces/default/workloads/wl"));
    request["metadata"]["ownerReferences"][0]["uid"] = (*workload)["metadata"]["uid"];
    api_.Put(kRequestList, request);
  }

  void PutPolicy(bool metering) {
    const Json step{{"name", "dws"}, {"pricePerHour", "3.6"}};
    api_.Put(kPolicyList,
             {{"metadata", {{"name", "p"}}},
              {"spec", {{"metering", {{"enabled", metering}}}, {"steps", Json::array({step})}}}});
  }
  void PutNode(const std::string& name) {
    api_.Put(
        kNodeList,
        {{"metadata",
          {{"name", name}, {"labels", {{"autoscaling.gke.io/provisioning-request", "set"}}}}}});
  }
  std::unique_ptr<Process> Start() {
    auto process = std::make_unique<Process>(api_, executor_, clock_);
    executor_.RunFor(5s);
    return process;
  }
  api::QueueMeters Written() {
    const Json* map =
        api_.Find("/api/v1/namespaces/kueue-system/configmaps/" + SpendConfigMapName(kTeam));
    if (map == nullptr || !(*map)["data"].contains("meters")) return {};
    return *api::DecodeMeters((*map)["data"]["meters"].get<std::string>());
  }

  FakeClock clock_;
  SimExecutor executor_{clock_};
  kube::RegistryTransport api_{executor_, clock_};
};

TEST_F(MeterReconcilerTest, WithoutMeteringNoNodeIsRead) {
  PutPolicy(false);
  const auto process = Start();
  PutNode("n");
  executor_.RunFor(10min);
  for (const auto& request : api_.requests()) EXPECT_THAT(request.path, Not(HasSubstr("/nodes")));
  EXPECT_TRUE(Written().meters.empty());
}

TEST_F(MeterReconcilerTest, NodeIsMeasuredUntilItsDeletion) {
  PutPolicy(true);
  const auto process = Start();
  PutNode("n");
  executor_.RunFor(10min);
  ASSERT_EQ(Written().meters.size(), 1U);
  const api::NodeMeter running = Written().meters.begin()->second;
  EXPECT_TRUE(running.open);
  EXPECT_EQ(running.workload, "wl");
  EXPECT_EQ(running.provisioning_class, "q");
  EXPECT_EQ(running.hourly_nano, 3'600'000'000);
  api_.Remove(std::string(kNodeList) + "/n");
  executor_.RunFor(1min);
  const api::NodeMeter ended = Written().meters.begin()->second;
  EXPECT_FALSE(ended.open);
  EXPECT_NEAR(std::chrono::duration<double>(ended.until - ended.from).count(), 600, 2);
  EXPECT_THAT(process->settled, ElementsAre(kTeam));
  const std::string text = process->metrics.Text();
  EXPECT_THAT(text, HasSubstr("berth_capacity_node_seconds_total{cluster_queue=\"cq\","
                              "provisioning_class=\"q\"} 600"));
  EXPECT_THAT(text, HasSubstr("berth_capacity_cost_usd_total{cluster_queue=\"cq\","
                              "provisioning_class=\"q\"} 0.6"));
  const std::size_t writes = api_.CountWrites();
  executor_.RunFor(30min);
  EXPECT_EQ(api_.CountWrites(), writes) << "at rest nothing is written";
}

TEST_F(MeterReconcilerTest, EveryMeasurementIsReportedWithPoolAndGpus) {
  PutPolicy(true);
  auto process = Start();
  api_.Put(kNodeList, Json::parse(R"({
    "metadata": {"name": "n", "labels": {"autoscaling.gke.io/provisioning-request": "set",
                                          "cloud.google.com/gke-nodepool": "h100"}},
    "status": {"allocatable": {"cpu": "8", "nvidia.com/gpu": "8"}}})"));
  executor_.RunFor(10min);
  ASSERT_GE(process->notes.size(), 9U);
  const MeterNote stands = process->notes.back();
  EXPECT_EQ(stands.place.queue, kTeam);
  EXPECT_EQ(stands.meter.node, "n");
  EXPECT_TRUE(stands.meter.open);
  EXPECT_EQ(stands.cluster_queue, "cq");
  EXPECT_EQ(stands.pool, "h100");
  EXPECT_EQ(stands.gpus, 8);
  EXPECT_TRUE(IsOf(stands.place.id, stands.workload_uid));
  process.reset();
  api_.Remove(std::string(kNodeList) + "/n");
  process = Start();
  PutNode("other");  // the queue's meters are read
  executor_.RunFor(1min);
  const auto ended = std::find_if(process->notes.begin(), process->notes.end(),
                                  [](const MeterNote& note) { return note.meter.node == "n"; });
  ASSERT_NE(ended, process->notes.end()) << "the end of a node that went meanwhile";
  EXPECT_FALSE(ended->meter.open);
  EXPECT_EQ(ended->gpus, 0);
}

TEST_F(MeterReconcilerTest, SharesOfGpusAreCountedAsWholeGpus) {
  PutPolicy(true);
  api_.Put(kKueueGroup + std::string("resourceflavors"), Json::parse(R"({
    "metadata": {"name": "gpu", "annotations": {"berth.dev/shares-per-gpu": "nvidia.com/gpu=3"}},
    "spec": {"nodeLabels": {"accelerator": "t4"}}})"));
  const auto process = Start();
  api_.Put(kNodeList, Json::parse(R"({
    "metadata": {"name": "n", "labels": {"autoscaling.gke.io/provisioning-request": "set",
                                          "accelerator": "t4"}},
    "status": {"allocatable": {"nvidia.com/gpu": "6"}}})"));
  executor_.RunFor(2min);
  ASSERT_FALSE(process->notes.empty());
  EXPECT_EQ(process->notes.back().gpus, 2);
}

TEST_F(MeterReconcilerTest, MeteringBeginsWithAnEditOfThePolicy) {
  PutPolicy(false);
  const auto process = Start();
  PutNode("n");
  executor_.RunFor(1min);
  PutPolicy(true);
  executor_.RunFor(6min);
  EXPECT_EQ(Written().meters.size(), 1U);
}

TEST_F(MeterReconcilerTest, RestartKeepsMeasuringExistingNodes) {
  PutPolicy(true);
  auto process = Start();
  PutNode("stays");
  PutNode("goes");
  executor_.RunFor(6min);
  process.reset();
  executor_.RunFor(20min);
  api_.Remove(std::string(kNodeList) + "/goes");
  process = Start();
  executor_.RunFor(6min);
  ASSERT_EQ(Written().meters.size(), 2U);
  for (const auto& [id, meter] : Written().meters) {
    const double stood = std::chrono::duration<double>(meter.until - meter.from).count();
    EXPECT_EQ(meter.open, meter.node == "stays");
    // One look of a minute may be missing in the last write, and six minutes after the last write.
    EXPECT_NEAR(stood, meter.node == "stays" ? 31 * 60 : 4 * 60, 70) << meter.node;
  }
}

// Nodes that pods of Workloads have brought, without a request.
class PodMeterTest : public MeterReconcilerTest {
 protected:
  PodMeterTest() {
    api_.Remove(kKueueGroup + std::string("admissionchecks/dws"));
    api_.Put(kKueueGroup + std::string("admissionchecks"), Json::parse(R"({
      "metadata": {"name": "dws", "annotations": {"berth.dev/provisioning-policy": "p"}},
      "spec": {"controllerName": "berth.dev/reactive-capacity"}})"));
    PutWorkload("wl");
    Json policy{{"metadata", {{"name", "p"}}}, {"spec", {{"metering", {{"enabled", true}}}}}};
    policy["spec"]["steps"] =
        Json::array({{{"name", "spot"}, {"flavor", "spot"}, {"pricePerHour", "1"}},
                     {{"name", "demand"}, {"flavor", "gpu"}, {"pricePerHour", "3.6"}}});
    api_.Put(kPolicyList, policy);
  }
  void PutWorkload(const std::string& name) {
    Json workload = *api_.Find(kKueueGroup + std::string("namespaces/default/workloads/wl"));
    if (name != "wl") workload["metadata"] = {{"namespace", "default"}};
    workload["metadata"]["name"] = name;
    workload["status"]["conditions"] =
        Json::array({{{"type", "QuotaReserved"},
                      {"status", "True"},
                      {"reason", "QuotaReserved"},
                      {"message", ""},
                      {"lastTransitionTime", FormatTime(clock_.Now())}}});
    api_.Put(kKueueGroup + std::string("namespaces/default/workloads"), workload);
  }
  void PutPlainNode(const std::string& name) {
    api_.Put(kNodeList, {{"metadata", {{"name", name}}}});
  }
  void PutPod(const std::string& name, const std::string& workload, const std::string& phase) {
    api_.Put("/api/v1/namespaces/default/pods",
             {{"metadata",
               {{"name", name},
                {"namespace", "default"},
                {"annotations", {{"kueue.x-k8s.io/workload", workload}}}}},
              {"spec",
               {{"nodeName", "n"}, {"containers", Json::array({{{"name", "c"}, {"image", "i"}}})}}},
              {"status", {{"phase", phase}}}});
  }
};

TEST_F(PodMeterTest, NodeCreatedForPodsIsMeasuredForTheirWorkload) {
  const auto process = Start();
  PutPlainNode("n");
  executor_.RunFor(1min);
  EXPECT_THAT(Written().meters, IsEmpty()) << "nobody uses the node";
  PutPod("p", "wl", "Running");
  executor_.RunFor(9min);
  ASSERT_EQ(Written().meters.size(), 1U);
  const api::NodeMeter running = Written().meters.begin()->second;
  EXPECT_EQ(running.workload, "wl");
  EXPECT_EQ(running.provisioning_class, "reactive-capacity");
  EXPECT_EQ(running.hourly_nano, 3'600'000'000) << "the step of the Workload's flavor";
  api_.Remove(std::string(kNodeList) + "/n");
  executor_.RunFor(1min);
  EXPECT_THAT(process->metrics.Text(),
              HasSubstr("berth_capacity_cost_usd_total{cluster_queue=\"cq\","
                        "provisioning_class=\"reactive-capacity\"} 0.6"));
  EXPECT_FALSE(Written().meters.begin()->second.open);
}

TEST_F(PodMeterTest, ANodeThatStoodBeforeTheWorkloadIsNotMeasured) {
  PutPlainNode("n");
  executor_.RunFor(1min);
  PutWorkload("wl");
  const auto process = Start();
  PutPod("p", "wl", "Running");
  executor_.RunFor(10min);
  EXPECT_THAT(Written().meters, IsEmpty());
}

TEST_F(PodMeterTest, NodeIsMeasuredForTheNextWorkloadThatUsesIt) {
  const auto process = Start();
  PutPlainNode("n");
  PutPod("p", "wl", "Running");
  executor_.RunFor(2min);
  PutWorkload("next");
  PutPod("q", "next", "Running");
  executor_.RunFor(2min);
  api_.Remove("/api/v1/namespaces/default/pods/p");
  executor_.RunFor(10min);
  std::map<std::string, double> minutes;
  for (const auto& [id, meter] : Written().meters) {
    minutes[meter.workload] = std::chrono::duration<double>(meter.until - meter.from).count() / 60;
  }
  EXPECT_NEAR(minutes["wl"], 4, 0.5);
  EXPECT_GT(minutes["next"], 4);
}

TEST_F(MeterReconcilerTest, IdleNodeIsMeasuredForItsLastWorkload) {
  PutPolicy(true);
  const auto process = Start();
  PutNode("n");
  executor_.RunFor(2min);
  api_.Remove(std::string(kRequestList) + "/pr");
  executor_.RunFor(10min);
  ASSERT_EQ(Written().meters.size(), 1U);
  EXPECT_TRUE(Written().meters.begin()->second.open);
  const api::NodeMeter meter = Written().meters.begin()->second;
  EXPECT_GT(meter.until - meter.from, Duration(6min));
}

}  // namespace
}  // namespace berth::provisioning
