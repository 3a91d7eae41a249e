// Goal: the life of a parent of pods on an API: its Workloads are made before its pods, its pods
// are marked, started and stopped as groups, it is scaled to zero and back, and it is deleted.
// Method: LeaderWorkerSet and StatefulSet on the real API in memory, in virtual time; the test
// plays webhooks, scheduler, kubelet, garbage collector and the objects' operators.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "integrations/controller/job_controllers.h"
#include "integrations/kind_catalogue.h"
#include "kube/runtime/manager.h"
#include "tests/support/registry_transport.h"
#include "tests/support/sim_executor.h"

namespace berth::integrations::pod_parents_test {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;

constexpr char kCrds[] = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
constexpr char kPods[] = "/api/v1/namespaces/default/pods";
constexpr char kSets[] = "/apis/leaderworkerset.x-k8s.io/v1/namespaces/default/leaderworkersets";
constexpr char kWorkloads[] = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads";
constexpr char kLws[] = "leaderworkerset.x-k8s.io/leaderworkerset";

Json OpenCrd() {
  return Json::parse(R"({
    "metadata": {"name": "leaderworkersets.leaderworkerset.x-k8s.io"},
    "spec": {"group": "leaderworkerset.x-k8s.io", "scope": "Namespaced",
      "names": {"kind": "LeaderWorkerSet", "plural": "leaderworkersets",
                "singular": "leaderworkerset", "listKind": "LeaderWorkerSetList"},
      "versions": [{"name": "v1", "served": true, "storage": true,
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
        "subresources": {"status": {}}}]}})");
}

Json Set(int replicas = 1) {
  Json set = Json::parse(R"({
    "metadata": {"name": "lws", "namespace": "default", "labels": {"kueue.x-k8s.io/queue-name": "lq"}},
    "spec": {"leaderWorkerTemplate": {"size": 2,
      "leaderTemplate": {"spec": {"containers": [{"name": "c", "image": "i",
        "resources": {"requests": {"cpu": "1"}}}]}},
      "workerTemplate": {"spec": {"containers": [{"name": "c", "image": "i",
        "resources": {"requests": {"cpu": "2"}}}]}}}}})");
  set["spec"]["replicas"] = replicas;
  return set;
}

class PodParentsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    controllers_.emplace(
        manager_, clock_, events_,
        JobControllersOptions{
            .pods = JobControllersOptions::Pods::kOfParents,
            .kinds = {FindBuiltInKind(kLws)},
            .job = {.namespace_selector = DefaultManagedNamespaces("kueue-system")}});
    api_.Put(kCrds, OpenCrd());
    api_.Put(
        "/apis/kueue.x-k8s.io/v1beta2/resourceflavors",
        {{"metadata", {{"name", "spot"}}}, {"spec", {{"nodeLabels", {{"capacity", "spot"}}}}}});
    manager_.StartInformers();
    manager_.StartControllers();
    Settle();
  }
  void Settle() { executor_.RunFor(40s); }
  // A pod as its operator makes it and its review leaves it.
  void AddPod(const std::string& name, const std::string& group, bool worker) {
    Json pod = Json::parse(R"({
      "metadata": {"namespace": "default", "labels": {"leaderworkerset.sigs.k8s.io/name": "lws"},
        "ownerReferences": [{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "lws", "uid": "s",
          "controller": true}],
        "annotations": {"kueue.x-k8s.io/pod-suspending-parent": "leaderworkerset.x-k8s.io/leaderworkerset",
          "kueue.x-k8s.io/pod-group-serving": "true", "kueue.x-k8s.io/role-hash": "c0ffee00"}},
      "spec": {"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}, {"name": "kueue.x-k8s.io/topology"}],
        "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]}})");
    pod["metadata"]["name"] = name;
    pod["metadata"]["labels"]["leaderworkerset.sigs.k8s.io/group-index"] = group;
    if (worker) pod["metadata"]["annotations"]["leaderworkerset.sigs.k8s.io/leader-name"] = "l";
    api_.Put(kPods, pod);
    Settle();
  }
  Json Pod(const std::string& name) { return Object(std::string(kPods) + "/" + name); }
  void Run(const std::string& name) {
    Json pod = Pod(name);
    pod["status"]["phase"] = "Running";
    api_.Put(kPods, pod);
    Settle();
  }
  Json Object(const std::string& path) {
    const Json* found = api_.Find(path);
    return found == nullptr ? Json() : *found;
  }
  // The Workloads that were made, in order.
  std::vector<std::string> Made() {
    std::vector<std::string> names;
    for (const auto& request : api_.requests()) {
      if (request.method == "POST" && request.path == kWorkloads) {
        names.push_back(request.body["metadata"]["name"]);
      }
    }
    return names;
  }
  Json Workload(const std::string& name) { return Object(std::string(kWorkloads) + "/" + name); }
  // Applies as the scheduler does.
  void Apply(const std::string& name, const std::vector<std::string>& conditions) {
    Json applied = {{"apiVersion", "kueue.x-k8s.io/v1beta2"},
                    {"kind", "Workload"},
                    {"metadata", {{"name", name}, {"namespace", "default"}}},
                    {"status", {{"admission", {{"clusterQueue", "cq"}}}}}};
    const Json pod_sets = Workload(name)["spec"]["podSets"];
    for (const Json& pods : pod_sets) {
      applied["status"]["admission"]["podSetAssignments"].push_back(
          {{"name", pods["name"]}, {"count", pods["count"]}, {"flavors", {{"cpu", "spot"}}}});
    }
    for (const std::string& type : conditions) {
      applied["status"]["conditions"].push_back(
          {{"type", type},
           {"status", "True"},
           {"reason", type == "Evicted" ? "Preempted" : "Test"},
           {"message", "said by the test"},
           {"lastTransitionTime", "2026-01-01T00:00:00Z"}});
    }
    client_.Patch(
        api::KindOf<api::Workload>(), {"default", name}, kube::PatchType::kApply, applied,
        {.field_manager = "kueue-admission", .force = kube::Force::kYes, .subresource = "status"},
        [](const Result<kube::JsonPtr>& done) { EXPECT_TRUE(done) << done.error().message; });
    Settle();
  }
  static std::size_t Gates(const Json& pod) {
    return pod["spec"].value("schedulingGates", Json::array()).size();
  }

  FakeClock clock_;
  SimExecutor executor_{clock_};
  kube::RegistryTransport api_{executor_, clock_};
  kube::ApiClient client_{api_, executor_};
  kube::EventRecorder events_{
      client_, clock_, {.controller = "kueue-job", .first_api = kube::EventApi::kCore}};
  kube::Manager manager_{client_, executor_};
  std::optional<JobControllers> controllers_;
};

TEST_F(PodParentsTest, AGroupFromTheQueueToItsEviction) {
  api_.Put(kSets, Set());
  Settle();
  ASSERT_EQ(Made().size(), 1U);
  const std::string name = Made()[0];
  EXPECT_EQ(Workload(name)["spec"]["podSets"].size(), 2U);
  EXPECT_EQ(Workload(name)["metadata"]["finalizers"].size(), 1U);

  AddPod("lws-0", "0", false);
  EXPECT_EQ(Pod("lws-0")["metadata"]["labels"]["kueue.x-k8s.io/managed"], "true");
  EXPECT_EQ(Pod("lws-0")["metadata"]["annotations"]["kueue.x-k8s.io/role-hash"], "leader");
  EXPECT_EQ(Workload(name)["metadata"]["ownerReferences"].size(), 2U);
  EXPECT_EQ(Gates(Pod("lws-0")), 2U);

  // A pod that comes after the admission starts at once.
  Apply(name, {"QuotaReserved", "Admitted"});
  EXPECT_EQ(Gates(Pod("lws-0")), 0U);
  EXPECT_EQ(Pod("lws-0")["spec"]["nodeSelector"], (Json{{"capacity", "spot"}}));
  AddPod("lws-0-1", "0", true);
  EXPECT_EQ(Gates(Pod("lws-0-1")), 0U);
  EXPECT_EQ(Pod("lws-0-1")["metadata"]["annotations"]["kueue.x-k8s.io/role-hash"], "worker");

  // More pods than the group has wait, unmarked.
  AddPod("lws-0-2", "0", true);
  EXPECT_EQ(Gates(Pod("lws-0-2")), 2U);
  EXPECT_FALSE(Pod("lws-0-2")["metadata"]["labels"].contains("kueue.x-k8s.io/managed"));
  api_.Remove(std::string(kPods) + "/lws-0-2");

  Run("lws-0");
  Run("lws-0-1");
  Apply(name, {"QuotaReserved", "Admitted", "Evicted"});
  EXPECT_TRUE(Pod("lws-0").is_null() || Pod("lws-0")["metadata"].contains("deletionTimestamp"));
  api_.Remove(std::string(kPods) + "/lws-0");
  api_.Remove(std::string(kPods) + "/lws-0-1");
  Settle();
  AddPod("lws-0", "0", false);
  EXPECT_FALSE(Workload(name)["status"].contains("admission"));
  EXPECT_EQ(Gates(Pod("lws-0")), 2U);
  Apply(name, {"QuotaReserved", "Admitted"});
  EXPECT_EQ(Gates(Pod("lws-0")), 0U);
  EXPECT_EQ(Made().size(), 1U);
  const std::size_t writes = api_.CountWrites();
  executor_.RunFor(60s);
  EXPECT_EQ(api_.CountWrites(), writes);  // nothing spins
}

TEST_F(PodParentsTest, GroupsComeAndGoWithTheReplicas) {
  api_.Put(kSets, Set(2));
  Settle();
  ASSERT_EQ(Made().size(), 2U);
  AddPod("lws-1", "1", false);
  Apply(Made()[1], {"QuotaReserved", "Admitted"});
  EXPECT_EQ(Gates(Pod("lws-1")), 0U);
  Json set = Object(std::string(kSets) + "/lws");
  set["spec"]["replicas"] = 1;
  api_.Put(kSets, set);
  Settle();
  // The pods of the group that goes are ended with their Workload.
  EXPECT_TRUE(Pod("lws-1").is_null());
  EXPECT_TRUE(Workload(Made()[1]).is_null());
  EXPECT_FALSE(Workload(Made()[0]).is_null());
}

TEST_F(PodParentsTest, ADeletedWorkloadIsMadeAgain) {
  api_.Put(kSets, Set());
  Settle();
  client_.Delete(api::KindOf<api::Workload>(), {"default", Made()[0]}, {},
                 [](const berth::Status&) {});
  Settle();
  ASSERT_EQ(Made().size(), 2U);
  EXPECT_EQ(Made()[0], Made()[1]);
  EXPECT_FALSE(Workload(Made()[1]).is_null());
}

TEST_F(PodParentsTest, AWorkloadOfADeletedSetGoes) {
  api_.Put(kSets, Set());
  Settle();
  const std::string name = Made()[0];
  api_.Remove(std::string(kSets) + "/lws");
  Settle();
  EXPECT_FALSE(Workload(name).is_null());  // until the garbage collector comes
  client_.Delete(api::KindOf<api::Workload>(), {"default", name}, {}, [](const berth::Status&) {});
  Settle();
  EXPECT_TRUE(Workload(name).is_null());
}

TEST_F(PodParentsTest, BarePodsAreLeftAsTheyAre) {
  Json pod = Json::parse(R"({
    "metadata": {"name": "p", "namespace": "default",
      "labels": {"kueue.x-k8s.io/queue-name": "lq", "kueue.x-k8s.io/managed": "true"}},
    "spec": {"containers": [{"name": "c", "image": "i"}]}})");
  api_.Put(kPods, pod);
  Settle();
  EXPECT_TRUE(Made().empty());
  EXPECT_FALSE(Pod("p").is_null());
}

TEST_F(PodParentsTest, WithoutAQueueNothingIsWatchedOrWritten) {
  Json set = Set();
  set["metadata"].erase("labels");
  api_.Put(kSets, set);
  Settle();
  EXPECT_TRUE(Made().empty());
  for (const auto& request : api_.requests()) {
    EXPECT_EQ(request.query.find("leaderworkerset.sigs.k8s.io"), std::string::npos);
  }
}

}  // namespace
}  // namespace berth::integrations::pod_parents_test
