// Goal: the life of a pod group and of a single pod on an API: Workload created, pods ungated with
// its admission, stopped by its eviction, replaced, finished; other pods stay untouched. Method:
// the real API in memory, in virtual time; the test plays webhook, scheduler and kubelet.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "integrations/controller/job_controllers.h"
#include "kube/runtime/manager.h"
#include "scenarios/world/sim_executor.h"
#include "tests/support/registry_transport.h"

namespace berth::integrations::pod_jobs_test {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;

constexpr char kPods[] = "/api/v1/namespaces/default/pods";
constexpr char kGroupWorkload[] = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads/g";
constexpr char kAllWorkloads[] = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads";

Json QueuedPodJson(const std::string& name, const std::string& group, const char* total = "2") {
  Json pod = Json::parse(R"({
    "metadata": {"namespace": "default", "finalizers": ["kueue.x-k8s.io/managed"],
      "labels": {"kueue.x-k8s.io/queue-name": "lq", "kueue.x-k8s.io/managed": "true"},
      "annotations": {"kueue.x-k8s.io/role-hash": "r1"}},
    "spec": {"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}, {"name": "kueue.x-k8s.io/topology"}],
      "restartPolicy": "Never",
      "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]}})");
  pod["metadata"]["name"] = name;
  if (!group.empty()) {
    pod["metadata"]["labels"]["kueue.x-k8s.io/pod-group-name"] = group;
    pod["metadata"]["annotations"]["kueue.x-k8s.io/pod-group-total-count"] = total;
  }
  return pod;
}

class PodJobsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    controllers_.emplace(manager_, clock_, events_,
                         JobControllersOptions{
                             .pods = JobControllersOptions::Pods::kManaged,
                             .job = {.namespace_selector = DefaultManagedNamespaces("kueue-system"),
                                     .metrics = &metrics_}});
    api_.Put(
        "/apis/kueue.x-k8s.io/v1beta2/resourceflavors",
        {{"metadata", {{"name", "spot"}}}, {"spec", {{"nodeLabels", {{"capacity", "spot"}}}}}});
    manager_.StartInformers();
    manager_.StartControllers();
    Settle();
  }
  void Settle() { executor_.RunFor(40s); }
  void Submit(const std::vector<Json>& pods) {
    for (const Json& pod : pods) api_.Put(kPods, pod);
    Settle();
  }
  // A copy, null where there is no such object.
  Json Object(const std::string& path) {
    const Json* found = api_.Find(path);
    return found == nullptr ? Json() : *found;
  }
  std::optional<Json> Pod(const std::string& name) {
    const auto found = api_.Find(std::string(kPods) + "/" + name);
    return found ? std::optional<Json>(*found) : std::nullopt;
  }
  void Status(const std::string& name, const char* phase) {
    Json pod = *Pod(name);
    pod["status"]["phase"] = phase;
    api_.Put(kPods, pod);
    Settle();
  }
  // Applies as the scheduler does.
  void Apply(const std::string& path, const std::string& role, int count,
             const std::vector<std::string>& conditions) {
    Json workload = Object(path);
    const std::string name = workload["metadata"]["name"];
    Json applied = {
        {"apiVersion", "kueue.x-k8s.io/v1beta2"},
        {"kind", "Workload"},
        {"metadata", {{"name", name}, {"namespace", "default"}}},
        {"status",
         {{"admission",
           {{"clusterQueue", "cq"},
            {"podSetAssignments",
             Json::array(
                 {{{"name", role}, {"count", count}, {"flavors", {{"cpu", "spot"}}}}})}}}}}};
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
  std::string ConditionOf(const Json& object, const std::string& type) {
    const Json status = object.value("status", Json::object());
    for (const Json& each : status.value("conditions", Json::array())) {
      if (each["type"] == type) {
        return each["status"].get<std::string>() + "/" + each["reason"].get<std::string>();
      }
    }
    return "";
  }
  int Events(const std::string& reason) {
    int count = 0;
    for (const auto& request : api_.requests()) {
      if (request.method == "POST" && request.path.find("/events") != std::string::npos &&
          request.body["reason"] == reason) {
        ++count;
      }
    }
    return count;
  }
  std::string WorkloadPath() {
    for (const auto& request : api_.requests()) {
      if (request.method == "POST" && request.path == kAllWorkloads) {
        return std::string(kAllWorkloads) + "/" +
               request.body["metadata"]["name"].get<std::string>();
      }
    }
    return "";
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
  kube::Metrics metrics_;
  std::optional<JobControllers> controllers_;
};

TEST_F(PodJobsTest, TheRemovalOfTheGateIsTimed) {
  const auto count = [](const char* is_group, const char* pods) {
    return std::string("kueue_pod_scheduling_gate_removal_seconds_count{cluster_queue=\"cq\",") +
           "is_group=\"" + is_group + "\",name=\"kueue.x-k8s.io/admission\"} " + pods;
  };
  Submit({QueuedPodJson("p", "")});
  Apply(WorkloadPath(), "main", 1, {"QuotaReserved"});
  EXPECT_THAT(metrics_.Text(), ::testing::Not(::testing::HasSubstr(count("false", ""))));
  Apply(WorkloadPath(), "main", 1, {"QuotaReserved", "Admitted"});
  EXPECT_THAT(metrics_.Text(), ::testing::HasSubstr(count("false", "1\n")));
  Submit({QueuedPodJson("a", "g"), QueuedPodJson("b", "g")});
  Apply(kGroupWorkload, "r1", 2, {"QuotaReserved", "Admitted"});
  EXPECT_THAT(metrics_.Text(), ::testing::HasSubstr(count("true", "2\n")));
}

TEST_F(PodJobsTest, StartWithoutAnAnswerEmitsOneEventForEachPod) {
  using Effect = kube::RegistryTransport::Effect;
  Submit({QueuedPodJson("a", "g"), QueuedPodJson("b", "g")});
  api_.FailNext(std::string("PATCH ") + kPods + "/a", 0, Effect::kDone);
  Apply(kGroupWorkload, "r1", 2, {"QuotaReserved", "Admitted"});
  for (const char* name : {"a", "b"}) EXPECT_EQ(Gates(*Pod(name)), 0U);
  EXPECT_EQ(Events("Started"), 2) << "one of each pod";
}

TEST_F(PodJobsTest, GroupIsQueuedStartedEvictedAndFinished) {
  Submit({QueuedPodJson("a", "g")});
  EXPECT_FALSE(api_.Find(kGroupWorkload));
  EXPECT_EQ(Events("ErrWorkloadCompose"), 1);
  Submit({QueuedPodJson("b", "g")});
  ASSERT_TRUE(api_.Find(kGroupWorkload));
  Json workload = Object(kGroupWorkload);
  EXPECT_EQ(workload["metadata"]["annotations"]["kueue.x-k8s.io/is-group-workload"], "true");
  ASSERT_EQ(workload["metadata"]["ownerReferences"].size(), 2U);
  EXPECT_FALSE(workload["metadata"]["ownerReferences"][0].contains("controller"));
  EXPECT_EQ(workload["spec"]["podSets"][0]["name"], "r1");
  EXPECT_EQ(workload["spec"]["podSets"][0]["count"], 2);
  EXPECT_EQ(workload["spec"]["queueName"], "lq");

  Apply(kGroupWorkload, "r1", 2, {"QuotaReserved", "Admitted"});
  for (const char* name : {"a", "b"}) {
    Json pod = *Pod(name);
    EXPECT_EQ(Gates(pod), 0U);
    EXPECT_EQ(pod["spec"]["nodeSelector"], (Json{{"capacity", "spot"}}));
    EXPECT_EQ(pod["metadata"]["labels"]["kueue.x-k8s.io/podset"], "r1");
    Status(name, "Running");
  }
  EXPECT_EQ(Events("Started"), 2);

  // Evicted: the pods end, and the quota goes back when none of them runs.
  Apply(kGroupWorkload, "r1", 2, {"QuotaReserved", "Admitted", "Evicted"});
  for (const char* name : {"a", "b"}) {
    EXPECT_EQ(ConditionOf(*Pod(name), "TerminationTarget"), "True/WorkloadEvictedDueToPreempted");
    EXPECT_TRUE((*Pod(name))["metadata"].contains("deletionTimestamp"));
    Status(name, "Failed");
  }
  EXPECT_FALSE(Object(kGroupWorkload)["status"].contains("admission"));
  EXPECT_EQ(ConditionOf(Object(kGroupWorkload), "Requeued"), "True/Preempted");
  EXPECT_EQ(ConditionOf(Object(kGroupWorkload), "WaitingForReplacementPods"), "True/Preempted");

  // Their successors take their places.
  Submit({QueuedPodJson("c", "g"), QueuedPodJson("d", "g")});
  EXPECT_EQ(ConditionOf(Object(kGroupWorkload), "WaitingForReplacementPods"), "False/PodsReady");
  EXPECT_FALSE(Pod("a"));
  EXPECT_FALSE(Pod("b"));
  EXPECT_EQ(Gates(*Pod("c")), 2U);
  Apply(kGroupWorkload, "r1", 2, {"QuotaReserved", "Admitted"});
  EXPECT_EQ(Gates(*Pod("c")), 0U);

  Status("c", "Succeeded");
  EXPECT_EQ(Object(kGroupWorkload)["status"]["reclaimablePods"],
            Json::parse(R"([{"name": "r1", "count": 1}])"));
  Status("d", "Succeeded");
  EXPECT_EQ(ConditionOf(Object(kGroupWorkload), "Finished"), "True/Succeeded");
  EXPECT_FALSE((*Pod("d"))["metadata"].contains("finalizers"));
  const std::size_t requests = api_.requests().size();
  executor_.RunFor(60s);
  EXPECT_EQ(api_.requests().size(), requests);  // nothing spins
}

TEST_F(PodJobsTest, InconsistentGroupGetsEventsAndNoWorkload) {
  Submit({QueuedPodJson("a", "g", "2"), QueuedPodJson("b", "g", "3")});
  EXPECT_EQ(WorkloadPath(), "");
  EXPECT_EQ(Events("ErrWorkloadCompose"), 2);  // one for each pod
  EXPECT_EQ(Gates(*Pod("a")), 2U);
  const std::size_t requests = api_.requests().size();
  executor_.RunFor(60s);
  EXPECT_EQ(api_.requests().size(), requests);  // nothing spins
  // The pods are made again as they were meant.
  for (const char* name : {"a", "b"}) api_.Remove(std::string(kPods) + "/" + name);
  Submit({QueuedPodJson("c", "g"), QueuedPodJson("d", "g")});
  EXPECT_NE(WorkloadPath(), "");
}

TEST_F(PodJobsTest, SurplusPodsAreDeleted) {
  Submit({QueuedPodJson("a", "g"), QueuedPodJson("b", "g")});
  Apply(kGroupWorkload, "r1", 2, {"QuotaReserved", "Admitted"});
  Submit({QueuedPodJson("c", "g")});
  EXPECT_FALSE(Pod("c"));
  EXPECT_TRUE(Pod("a"));
  EXPECT_TRUE(Pod("b"));
  EXPECT_EQ(Events("ExcessPodDeleted"), 1);
}

TEST_F(PodJobsTest, DeletedWorkloadDeletesItsPods) {
  Submit({QueuedPodJson("a", "g"), QueuedPodJson("b", "g")});
  Apply(kGroupWorkload, "r1", 2, {"QuotaReserved", "Admitted"});
  client_.Delete(api::KindOf<api::Workload>(), {"default", "g"}, {}, [](const berth::Status&) {});
  Settle();
  EXPECT_FALSE(Pod("a"));
  EXPECT_FALSE(Pod("b"));
  EXPECT_FALSE(api_.Find(kGroupWorkload));
}

TEST_F(PodJobsTest, SinglePodIsQueuedStartedAndFinished) {
  Submit({QueuedPodJson("p", "")});
  ASSERT_NE(WorkloadPath(), "");
  EXPECT_EQ(Object(WorkloadPath())["metadata"]["ownerReferences"][0]["controller"], true);
  Apply(WorkloadPath(), "main", 1, {"QuotaReserved", "Admitted"});
  EXPECT_EQ(Gates(*Pod("p")), 0U);
  Status("p", "Succeeded");
  EXPECT_EQ(ConditionOf(Object(WorkloadPath()), "Finished"), "True/Succeeded");
  EXPECT_FALSE((*Pod("p"))["metadata"].contains("finalizers"));
}

TEST_F(PodJobsTest, AnEvictedPodEndsWithItsWorkload) {
  Submit({QueuedPodJson("p", "")});
  Apply(WorkloadPath(), "main", 1, {"QuotaReserved", "Admitted"});
  Status("p", "Running");
  Apply(WorkloadPath(), "main", 1, {"QuotaReserved", "Admitted", "Evicted"});
  EXPECT_FALSE(Pod("p"));
  const auto workload = api_.Find(WorkloadPath());
  if (workload) {
    EXPECT_EQ(ConditionOf(*workload, "Requeued"), "False/Preempted");
    EXPECT_FALSE((*workload)["metadata"].contains("finalizers"));
  }
}

TEST_F(PodJobsTest, APodThatRunsWithoutQuotaIsDeleted) {
  Json pod = QueuedPodJson("p", "");
  pod["spec"].erase("schedulingGates");
  Submit({pod});
  EXPECT_FALSE(Pod("p"));
}

TEST_F(PodJobsTest, PodsWithoutTheManagedLabelAreLeftAlone) {
  Json pod = QueuedPodJson("p", "");
  pod["metadata"]["labels"].erase("kueue.x-k8s.io/managed");
  Submit({pod});
  EXPECT_EQ(WorkloadPath(), "");
  EXPECT_EQ((*Pod("p"))["metadata"]["finalizers"].size(), 1U);
}

TEST_F(PodJobsTest, AWorkloadOfAnotherOriginKeepsItsName) {
  api_.Put(kAllWorkloads, Json::parse(R"({"metadata": {"name": "g", "namespace": "default"},
      "spec": {"queueName": "lq", "podSets": [{"name": "main", "count": 1, "template": {"spec": {
      "containers": [{"name": "c", "image": "i"}]}}}]}})"));
  Submit({QueuedPodJson("a", "g"), QueuedPodJson("b", "g")});
  EXPECT_EQ(Events("WorkloadNameConflict"), 2);
  EXPECT_EQ(Object(kGroupWorkload)["spec"]["podSets"][0]["name"], "main");
  Submit({QueuedPodJson("c", "g")});
  EXPECT_EQ(Events("WorkloadNameConflict"), 3) << "one of each pod";
  client_.Delete(api::KindOf<api::Workload>(), {"default", "g"}, {}, [](const berth::Status&) {});
  Settle();
  EXPECT_EQ(Object(kGroupWorkload)["spec"]["podSets"][0]["name"], "r1");
}

TEST_F(PodJobsTest, AWorkloadOfAnotherOriginKeepsItsFinalizer) {
  api_.Put(kAllWorkloads, Json::parse(R"({"metadata": {"name": "g", "namespace": "default",
      "finalizers": ["kueue.x-k8s.io/resource-in-use"]},
      "spec": {"queueName": "lq", "podSets": [{"name": "main", "count": 1, "template": {"spec": {
      "containers": [{"name": "c", "image": "i"}]}}}]}})"));
  Submit({QueuedPodJson("a", "g")});
  EXPECT_EQ(Events("WorkloadNameConflict"), 1);
  api_.Remove(std::string(kPods) + "/a");
  Settle();
  EXPECT_EQ(Object(kGroupWorkload)["metadata"]["finalizers"].size(), 1U) << Object(kGroupWorkload);
  for (const auto& request : api_.requests()) {
    EXPECT_EQ(request.path.find("/workloads/g"), std::string::npos) << request.body;
  }
}

// The garbage collector takes the reference to a deleted pod away; the cache still shows the pod.
TEST_F(PodJobsTest, ReferenceToADeletedPodIsNotAddedAgain) {
  Submit({QueuedPodJson("p0", "g"), QueuedPodJson("p1", "g")});
  Json workload = Object(kGroupWorkload);
  Json& owners = workload["metadata"]["ownerReferences"];
  ASSERT_EQ(owners.size(), 2U);
  api_.MuteWatches("/api/v1/pods");
  api_.Remove(std::string(kPods) + "/p0");
  std::erase_if(owners.get_ref<Json::array_t&>(),
                [](const Json& owner) { return owner["name"] == "p0"; });
  api_.Put(kAllWorkloads, workload);
  Settle();
  EXPECT_EQ(Object(kGroupWorkload)["metadata"]["ownerReferences"], owners);
  EXPECT_EQ(Events("OwnerReferencesAdded"), 0);
  owners.clear();  // p1 is there
  api_.Put(kAllWorkloads, workload);
  Settle();
  EXPECT_EQ(Object(kGroupWorkload)["metadata"]["ownerReferences"][0]["name"], "p1");
  EXPECT_EQ(Events("OwnerReferencesAdded"), 1);
}

}  // namespace
}  // namespace berth::integrations::pod_jobs_test
