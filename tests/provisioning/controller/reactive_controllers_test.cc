// Goal: the check of reactive capacity through the API: it is active and lets pods start without
// the kinds of Karpenter and of provisioning requests; a limit of a NodePool is reported; the
// memory is written before the check gives up; at rest nothing is written. Method: the reconcilers
// on the API in memory, in virtual time; the test plays queue, scheduler and Karpenter.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/rfc3339.h"
#include "provisioning/controller/provisioning_controllers.h"
#include "scenarios/world/sim_executor.h"
#include "tests/support/registry_transport.h"

namespace berth::provisioning {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr char kChecks[] = "/apis/kueue.x-k8s.io/v1beta2/admissionchecks";
constexpr char kJobs[] = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads";
constexpr char kPods[] = "/api/v1/namespaces/default/pods";
constexpr char kNodePools[] = "/apis/karpenter.sh/v1/nodepools";
constexpr char kPolicies[] = "/apis/provisioning.berth.dev/v1alpha1/provisioningpolicies";

class ReactiveControllersTest : public ::testing::Test {
 protected:
  ReactiveControllersTest() {
    api_.SetMissing("/apis/autoscaling.x-k8s.io/v1/provisioningrequests", true);
    manager_.StartInformers();
    manager_.StartControllers();
    Settle();
  }

  void Settle() { executor_.RunFor(5s); }

  void PutCheck(const std::string& policy = "") {
    Json check = {{"metadata", {{"name", "nodes"}}},
                  {"spec", {{"controllerName", "berth.dev/reactive-capacity"}}}};
    if (!policy.empty()) {
      check["metadata"]["annotations"]["berth.dev/provisioning-policy"] = policy;
    }
    api_.Put(kChecks, check);
    Settle();
  }
  void GiveQuota(std::optional<int> run_seconds = std::nullopt) {
    Json workload = Json::parse(R"({"apiVersion": "kueue.x-k8s.io/v1beta2",
      "kind": "Workload", "metadata": {"name": "wl", "namespace": "default"},
      "spec": {"queueName": "lq", "podSets": [{"name": "main", "count": 1, "template": {"spec": {
        "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": 1}}}]}}}]},
      "status": {
        "conditions": [{"type": "QuotaReserved", "status": "True", "reason": "QuotaReserved",
                        "message": ""}],
        "admission": {"clusterQueue": "cq", "podSetAssignments": [
          {"name": "main", "count": 1, "flavors": {"cpu": "low"}}]},
        "admissionChecks": [{"name": "nodes", "state": "Pending", "message": ""}]}})");
    const std::string now = FormatTime(clock_.Now());
    if (run_seconds) workload["spec"]["maximumExecutionTimeSeconds"] = *run_seconds;
    workload["status"]["conditions"][0]["lastTransitionTime"] = now;
    workload["status"]["admissionChecks"][0]["lastTransitionTime"] = now;
    api_.Put(kJobs, workload);
    Settle();
  }
  void InstallKarpenter() {
    for (const auto& [kind, plural] :
         {std::pair("NodePool", "nodepools"), std::pair("NodeClaim", "nodeclaims")}) {
      Json crd = Json::parse(R"({"spec": {"group": "karpenter.sh", "scope": "Cluster", "versions": [
        {"name": "v1", "served": true, "storage": true, "subresources": {"status": {}}, "schema": {
         "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}})");
      crd["metadata"]["name"] = std::string(plural) + ".karpenter.sh";
      crd["spec"]["names"] = {{"kind", kind}, {"plural", plural}};
      api_.Put("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd);
    }
  }
  void PutWaitingPod() {
    Json pod = Json::parse(R"({"metadata": {"name": "p", "namespace": "default",
        "annotations": {"kueue.x-k8s.io/workload": "wl"}},
      "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": 1}}}]},
      "status": {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False",
        "reason": "Unschedulable", "message": "0/1 nodes are available"}]}})");
    pod["metadata"]["creationTimestamp"] = FormatTime(clock_.Now());
    pod["status"]["conditions"][0]["lastTransitionTime"] = FormatTime(clock_.Now());
    api_.Put(kPods, pod);
  }

  Json Get(const std::string& path) {
    const Json* found = api_.Find(path);
    return found != nullptr ? *found : Json();
  }
  Json Workload() { return Get(std::string(kJobs) + "/wl"); }
  Json Check() { return Workload()["status"]["admissionChecks"][0]; }
  std::string CheckMessage() { return Check()["message"].get<std::string>(); }
  Json Active() { return Get(std::string(kChecks) + "/nodes")["status"]["conditions"][0]; }

  FakeClock clock_;
  SimExecutor executor_{clock_};
  kube::RegistryTransport api_{executor_, clock_};
  kube::ApiClient client_{api_, executor_};
  kube::EventRecorder events_{
      client_, clock_, {.controller = "kueue-provisioning", .first_api = kube::EventApi::kCore}};
  kube::Manager manager_{client_, executor_};
  ProvisioningControllers controllers_{manager_, clock_, events_, {}};
};

TEST_F(ReactiveControllersTest, PodsAreNotWatchedWithoutACheck) {
  GiveQuota();
  for (const auto& request : api_.requests()) {
    EXPECT_EQ(request.path.find("/pods"), std::string::npos) << request.path;
    EXPECT_EQ(request.path.find("karpenter"), std::string::npos) << request.path;
  }
  EXPECT_EQ(Check()["state"], "Pending");
  PutCheck();
  EXPECT_EQ(Check()["state"], "Ready") << "a check that comes later is followed";
}

TEST_F(ReactiveControllersTest, TheCheckIsActiveWhileItsPolicyExists) {
  PutCheck("chain");
  EXPECT_EQ(Active()["status"], "False");
  EXPECT_THAT(Active()["message"].get<std::string>(), HasSubstr("\"chain\" not found"));
  GiveQuota();
  EXPECT_EQ(CheckMessage(), "the check is not active");
  api_.Put(kPolicies, {{"metadata", {{"name", "chain"}}}});
  Settle();
  EXPECT_EQ(Active()["status"], "True");
  EXPECT_EQ(Check()["state"], "Ready");
  EXPECT_EQ(Check()["podSetUpdates"][0]["annotations"]["karpenter.sh/do-not-disrupt"], "true");
}

TEST_F(ReactiveControllersTest, CheckWithParametersIsNotActive) {
  PutCheck();
  Json check = Get(std::string(kChecks) + "/nodes");
  check["spec"]["parameters"] = {{"apiGroup", "a"}, {"kind", "B"}, {"name", "c"}};
  api_.Put(kChecks, check);
  Settle();
  EXPECT_THAT(Active()["message"].get<std::string>(), HasSubstr("spec.parameters: Forbidden"));
}

TEST_F(ReactiveControllersTest, MessageNamesANodePoolsLimitWhileItIsReached) {
  PutCheck();
  GiveQuota();
  PutWaitingPod();
  executor_.RunFor(15s);
  EXPECT_EQ(CheckMessage(), "pods wait for nodes (NodesDidNotCome): no node has come");
  const std::size_t writes = api_.CountWrites();
  executor_.RunFor(60s);
  EXPECT_EQ(api_.CountWrites(), writes) << "at rest nothing is written";
  InstallKarpenter();
  Json pool = Json::parse(R"({"metadata": {"name": "small"}, "spec": {"limits": {"cpu": "4"},
    "template": {"spec": {}}}, "status": {"resources": {"cpu": "4"}}})");
  api_.Put(kNodePools, pool);
  executor_.RunFor(120s);
  EXPECT_THAT(CheckMessage(), HasSubstr("NodePool small has reached its limit: cpu 4 of 4"));
  pool["spec"]["limits"]["cpu"] = "8";
  api_.Put(kNodePools, pool);
  Settle();
  EXPECT_THAT(CheckMessage(), HasSubstr("no node has come"));
  api_.Remove(std::string(kPods) + "/p");
  Settle();
  EXPECT_EQ(CheckMessage(), "the pods may start: nodes come for pending pods");
}

TEST_F(ReactiveControllersTest, TheMemoryIsWrittenBeforeTheCheckRetries) {
  api_.Put(kPolicies, Json::parse(R"({"metadata": {"name": "chain"}, "spec": {"steps": [
             {"name": "low", "flavor": "low", "maxWaitSeconds": 60},
             {"name": "demand", "flavor": "demand"}]}})"));
  PutCheck("chain");
  GiveQuota();
  PutWaitingPod();
  executor_.RunFor(55s);
  EXPECT_EQ(Check()["state"], "Ready");
  executor_.RunFor(10s);
  EXPECT_EQ(Check()["state"], "Retry");
  const Json annotations = Workload()["metadata"]["annotations"];
  EXPECT_EQ(annotations["berth.dev/reactive-avoided-flavors"], "low");
  EXPECT_THAT(annotations["berth.dev/provisioning"].get<std::string>(),
              HasSubstr("NodesDidNotCome"));
  std::vector<std::string> patched;
  for (const auto& request : api_.requests()) {
    if (request.method == "PATCH" && request.path.find("/workloads/wl") != std::string::npos) {
      patched.push_back(request.path.find("/status") == std::string::npos ? "memory" : "check");
    }
  }
  ASSERT_GE(patched.size(), 2U);
  EXPECT_EQ(patched[patched.size() - 2], "memory");
  EXPECT_EQ(patched.back(), "check");
}

TEST_F(ReactiveControllersTest, StartIsChargedBeforeTheCheckIsReadyAndReleasedWithTheJob) {
  api_.Put(kPolicies, Json::parse(R"({"metadata": {"name": "chain"}, "spec": {
             "budget": {"perLocalQueueUSDPerDay": "10"},
             "steps": [{"name": "low", "flavor": "low", "pricePerHour": "4"}]}})"));
  PutCheck("chain");
  GiveQuota(3600);
  ASSERT_EQ(Check()["state"], "Ready") << CheckMessage();
  const std::string map =
      std::string("/api/v1/namespaces/kueue-system/configmaps/") + SpendConfigMapName("default/lq");
  EXPECT_THAT(Get(map)["data"]["spend"].get<std::string>(), HasSubstr(":"));
  std::vector<std::string> writes;
  for (const auto& request : api_.requests()) {
    if (request.method == "GET") continue;
    if (request.path.find("/configmaps") != std::string::npos) writes.emplace_back("charge");
    if (request.path.find("/workloads/wl/status") != std::string::npos)
      writes.emplace_back("check");
  }
  EXPECT_EQ(writes, (std::vector<std::string>{"charge", "check"}));
  const std::string charged = Get(map)["data"]["spend"].get<std::string>();
  api_.Remove(std::string(kJobs) + "/wl");
  Settle();
  EXPECT_NE(Get(map)["data"]["spend"].get<std::string>(), charged) << "no node had come";
}

TEST_F(ReactiveControllersTest, AJobWaitsForANodePoolThatDoesNotExist) {
  InstallKarpenter();
  api_.Put("/apis/kueue.x-k8s.io/v1beta2/resourceflavors",
           Json::parse(R"({"metadata": {"name": "low"},
             "spec": {"nodeLabels": {"karpenter.sh/nodepool": "small"}}})"));
  PutCheck();
  executor_.RunFor(120s);
  GiveQuota();
  EXPECT_EQ(Check()["state"], "Pending");
  EXPECT_EQ(CheckMessage(), "nodes cannot come (NodePoolNotFound): there is no NodePool small");
  api_.Put(kNodePools, Json::parse(R"({"metadata": {"name": "small"},
                                       "spec": {"template": {"spec": {}}}})"));
  Settle();
  EXPECT_EQ(Check()["state"], "Ready");
}

}  // namespace
}  // namespace berth::provisioning
