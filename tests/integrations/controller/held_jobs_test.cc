// Goal: the writes of a job that is held by its pods (Dask) on an API: Workloads created, pods
// started with their admission, stopped, a group resized, a runner hidden and asked for again.
// Method: the real API in memory, in virtual time; the test plays webhook, scheduler and Dask's
// operator. The decisions have tests of their own (tests/integrations/held_job_test.cc), the real
// operator tests/cluster/test_dask.py.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/rfc3339.h"
#include "integrations/controller/job_controllers.h"
#include "integrations/kind_catalogue.h"
#include "kube/runtime/manager.h"
#include "scenarios/world/sim_executor.h"
#include "tests/support/registry_transport.h"

namespace berth::integrations::held_jobs_test {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;

constexpr char kAllPods[] = "/api/v1/namespaces/default/pods";
constexpr char kAllWorkloads[] = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads";
constexpr char kDask[] = "/apis/kubernetes.dask.org/v1/namespaces/default/";
constexpr char kParent[] = "kueue.x-k8s.io/pod-suspending-parent";

Json Definition(const std::string& kind, const std::string& plural) {
  Json crd = Json::parse(R"({
    "spec": {"group": "kubernetes.dask.org", "scope": "Namespaced",
      "versions": [{"name": "v1", "served": true, "storage": true,
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}})");
  crd["metadata"]["name"] = plural + ".kubernetes.dask.org";
  crd["spec"]["names"] = {{"kind", kind},
                          {"plural", plural},
                          {"singular", plural.substr(0, plural.size() - 1)},
                          {"listKind", kind + "List"}};
  if (kind == "DaskJob") crd["spec"]["versions"][0]["subresources"] = {{"status", Json::object()}};
  return crd;
}

Json Template(const std::string& name) {
  return {{"spec",
           {{"containers", Json::array({{{"name", name},
                                         {"image", "i"},
                                         {"resources", {{"requests", {{"cpu", "1"}}}}}}})}}}};
}

Json ClusterSpec(int workers) {
  Json spec = {{"scheduler", Template("scheduler")}, {"worker", Template("worker")}};
  spec["worker"]["replicas"] = workers;
  return spec;
}

// A job in the form that its review leaves.
Json Root(const std::string& framework, const std::string& name, Json spec) {
  return {{"metadata",
           {{"name", name},
            {"namespace", "default"},
            {"labels", {{"kueue.x-k8s.io/queue-name", "lq"}}},
            {"annotations", {{kParent, "kubernetes.dask.org/" + framework}}}}},
          {"spec", std::move(spec)}};
}

Json Group(const std::string& cluster, int workers) {
  Json group = {{"metadata", {{"name", cluster + "-default"}, {"namespace", "default"}}},
                {"spec", {{"cluster", cluster}, {"worker", Template("worker")}}}};
  group["spec"]["worker"]["replicas"] = workers;
  return group;
}

Json PodOf(const std::string& framework, const std::string& cluster, const std::string& component,
           const std::string& name) {
  Json pod = Template(component);
  pod["metadata"] = {{"name", name},
                     {"namespace", "default"},
                     {"labels",
                      {{"kueue.x-k8s.io/queue-name", "lq"},
                       {"dask.org/cluster-name", cluster},
                       {"dask.org/component", component}}},
                     {"annotations", {{kParent, "kubernetes.dask.org/" + framework}}}};
  if (component == "worker") {
    pod["metadata"]["labels"]["dask.org/workergroup-name"] = cluster + "-default";
  }
  pod["spec"]["schedulingGates"] =
      Json::array({{{"name", "kueue.x-k8s.io/admission"}}, {{"name", "kueue.x-k8s.io/topology"}}});
  return pod;
}

class HeldJobsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    controllers_.emplace(
        manager_, clock_, events_,
        JobControllersOptions{
            .pods = JobControllersOptions::Pods::kManaged,
            .kinds = {FindBuiltInKind("kubernetes.dask.org/daskcluster"),
                      FindBuiltInKind("kubernetes.dask.org/daskjob")},
            .job = {.namespace_selector = DefaultManagedNamespaces("kueue-system")}});
    api_.Put(
        "/apis/kueue.x-k8s.io/v1beta2/resourceflavors",
        {{"metadata", {{"name", "spot"}}}, {"spec", {{"nodeLabels", {{"capacity", "spot"}}}}}});
    const std::pair<const char*, const char*> kinds[] = {{"DaskCluster", "daskclusters"},
                                                         {"DaskJob", "daskjobs"},
                                                         {"DaskWorkerGroup", "daskworkergroups"}};
    for (const auto& [kind, plural] : kinds) {
      api_.Put("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", Definition(kind, plural));
    }
    manager_.StartInformers();
    manager_.StartControllers();
    Settle();
  }
  void Settle() { executor_.RunFor(40s); }
  void Put(const std::string& list, const Json& object) {
    api_.Put(list, object);
    Settle();
  }
  Json Object(const std::string& path) {
    const Json* found = api_.Find(path);
    return found == nullptr ? Json() : *found;
  }
  Json Pod(const std::string& name) { return Object(std::string(kAllPods) + "/" + name); }
  Json Dask(const std::string& path) { return Object(kDask + path); }
  // Workloads in the order of their creation.
  std::vector<Json> Workloads() {
    std::vector<Json> found;
    for (const auto& request : api_.requests()) {
      if (request.method != "POST" || request.path != kAllWorkloads) continue;
      found.push_back(Object(std::string(kAllWorkloads) + "/" +
                             request.body["metadata"]["name"].get<std::string>()));
    }
    return found;
  }
  // Applies as the scheduler does.
  void Apply(std::size_t number, const std::vector<std::string>& conditions) {
    const Json workload = Workloads().at(number);
    Json status;
    for (const Json& pods : workload["spec"]["podSets"]) {
      status["admission"]["podSetAssignments"].push_back(
          {{"name", pods["name"]}, {"count", pods["count"]}, {"flavors", {{"cpu", "spot"}}}});
    }
    status["admission"]["clusterQueue"] = "cq";
    for (const std::string& type : conditions) {
      status["conditions"].push_back({{"type", type},
                                      {"status", "True"},
                                      {"reason", type == "Evicted" ? "Preempted" : "Test"},
                                      {"message", "said by the test"},
                                      {"lastTransitionTime", FormatTime(clock_.Now())}});
    }
    const std::string name = workload["metadata"]["name"];
    client_.Patch(
        api::KindOf<api::Workload>(), {"default", name}, kube::PatchType::kApply,
        {{"apiVersion", "kueue.x-k8s.io/v1beta2"},
         {"kind", "Workload"},
         {"metadata", {{"name", name}, {"namespace", "default"}}},
         {"status", status}},
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

TEST_F(HeldJobsTest, ClusterStartsWithOneWorkloadAndGrowsByFurtherOnes) {
  Put(std::string(kDask) + "daskclusters", Root("daskcluster", "c", ClusterSpec(1)));
  ASSERT_EQ(Workloads().size(), 1U);
  const Json workload = Workloads()[0];
  EXPECT_EQ(workload["metadata"]["ownerReferences"][0]["kind"], "DaskCluster");
  EXPECT_EQ(workload["spec"]["podSets"][1]["name"], "worker");
  Put(std::string(kDask) + "daskworkergroups", Group("c", 1));
  Put(kAllPods, PodOf("daskcluster", "c", "scheduler", "s"));
  Put(kAllPods, PodOf("daskcluster", "c", "worker", "w1"));
  Put(kAllPods, PodOf("daskjob", "c", "worker", "other"));  // it belongs to a job of this name
  EXPECT_EQ(Gates(Pod("s")), 2U);
  Apply(0, {"QuotaReserved", "Admitted"});
  for (const char* name : {"s", "w1"}) {
    const Json pod = Pod(name);
    EXPECT_EQ(Gates(pod), 0U) << name;
    EXPECT_EQ(pod["spec"]["nodeSelector"], (Json{{"capacity", "spot"}}));
    EXPECT_EQ(pod["metadata"]["annotations"]["integrations.berth.dev/workload"],
              workload["metadata"]["name"]);
  }
  EXPECT_EQ(Pod("w1")["metadata"]["labels"]["kueue.x-k8s.io/podset"], "worker");
  EXPECT_EQ(Gates(Pod("other")), 2U);

  Put(std::string(kDask) + "daskworkergroups", Group("c", 3));
  Put(kAllPods, PodOf("daskcluster", "c", "worker", "w2"));
  ASSERT_EQ(Workloads().size(), 2U);
  EXPECT_EQ(Workloads()[1]["metadata"]["annotations"]["integrations.berth.dev/growth"], "1");
  EXPECT_EQ(Workloads()[1]["spec"]["podSets"][0]["count"], 2);
  EXPECT_EQ(Gates(Pod("w2")), 2U);
  Apply(1, {"QuotaReserved", "Admitted"});
  EXPECT_EQ(Gates(Pod("w2")), 0U);

  // Its preemption makes the group smaller, and no pod is deleted.
  Apply(1, {"QuotaReserved", "Admitted", "Evicted"});
  const Json group = Dask("daskworkergroups/c-default");
  EXPECT_EQ(group["spec"]["worker"]["replicas"], 1);
  EXPECT_EQ(group["metadata"]["annotations"]["integrations.berth.dev/retired"], "2@1");
  EXPECT_FALSE(Pod("w2").is_null());
  EXPECT_FALSE(Pod("w1").is_null());
  client_.Delete(api::KindOf<api::Pod>(), {"default", "w1"}, {}, [](const Status&) {});
  Settle();
  EXPECT_FALSE(Workloads()[1]["status"].contains("admission"));
  EXPECT_EQ(Gates(Pod("w2")), 0U);  // the cluster's own Workload counts it
  Apply(1, {"QuotaReserved", "Admitted"});
  const Json back = Dask("daskworkergroups/c-default");
  EXPECT_EQ(back["spec"]["worker"]["replicas"], 3);
  EXPECT_FALSE(back["metadata"].contains("annotations")) << back["metadata"];
}

// The review of the pod did not know the cluster yet, and left the pod as it was.
TEST_F(HeldJobsTest, PodWithoutItsReviewsMarkIsDeleted) {
  Put(std::string(kDask) + "daskclusters", Root("daskcluster", "c", ClusterSpec(1)));
  Json free = PodOf("daskcluster", "c", "worker", "free");
  free["metadata"].erase("annotations");
  free["spec"].erase("schedulingGates");
  Json other = free;
  other["metadata"]["name"] = "other";
  other["metadata"]["labels"]["dask.org/cluster-name"] = "not-queued";
  Put(kAllPods, other);
  Put(kAllPods, free);
  EXPECT_TRUE(Pod("free").is_null());
  EXPECT_FALSE(Pod("other").is_null());
}

// The review of the pod did not know the cluster yet, and queued the pod as a job of its own.
TEST_F(HeldJobsTest, PodQueuedAsASinglePodOfAHeldJobIsDeleted) {
  Put(std::string(kDask) + "daskclusters", Root("daskcluster", "c", ClusterSpec(1)));
  Json alone = PodOf("daskcluster", "c", "worker", "alone");
  alone["metadata"].erase("annotations");
  alone["metadata"]["labels"]["kueue.x-k8s.io/managed"] = "true";
  alone["metadata"]["finalizers"] = {"kueue.x-k8s.io/managed"};
  Put(kAllPods, alone);
  EXPECT_TRUE(Pod("alone").is_null());
  alone["metadata"]["name"] = "other";
  alone["metadata"]["labels"]["dask.org/cluster-name"] = "not-queued";
  Put(kAllPods, alone);
  EXPECT_FALSE(Pod("other").is_null());
  std::vector<std::string> owners;
  for (const Json& workload : Workloads()) {
    owners.push_back(workload["metadata"]["ownerReferences"][0]["kind"]);
  }
  EXPECT_THAT(owners, ::testing::ElementsAre("DaskCluster", "Pod"));
}

TEST_F(HeldJobsTest, EvictedRunnerIsHiddenDeletedAndItsJobRestarted) {
  Json job = Root("daskjob", "j", {{"job", Template("runner")}});
  job["spec"]["cluster"]["spec"] = ClusterSpec(0);
  Put(std::string(kDask) + "daskjobs", job);
  Put(kAllPods, PodOf("daskjob", "j", "job-runner", "j-runner"));
  Apply(0, {"QuotaReserved", "Admitted"});
  EXPECT_EQ(Gates(Pod("j-runner")), 0U);
  Json running = Dask("daskjobs/j");
  running["status"]["jobStatus"] = "Running";
  Put(std::string(kDask) + "daskjobs", running);
  Apply(0, {"QuotaReserved", "Admitted", "Evicted"});
  EXPECT_TRUE(Pod("j-runner").is_null());
  // The label goes first: Dask's operator takes the end of a runner for the end of its job.
  std::vector<std::string> writes;
  for (const auto& request : api_.requests()) {
    if (request.path.find("/pods/j-runner") == std::string::npos || request.method == "GET")
      continue;
    const Json metadata =
        request.body.is_object() ? request.body.value("metadata", Json::object()) : Json::object();
    const bool hides = metadata.value("labels", Json::object()).contains("dask.org/component");
    writes.push_back(hides ? "hide" : request.method);
  }
  ASSERT_GE(writes.size(), 4U);
  writes.resize(4);  // a pass that has not seen the deletion yet tries again
  EXPECT_THAT(writes, ::testing::ElementsAre("PATCH", "hide", "PATCH", "DELETE"));
  EXPECT_EQ(Dask("daskjobs/j")["status"]["jobStatus"], "JobCreated");
  EXPECT_FALSE(Workloads()[0]["status"].contains("admission"));
}

}  // namespace
}  // namespace berth::integrations::held_jobs_test
