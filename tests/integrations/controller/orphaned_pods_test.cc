// Goal: pods and Workloads that are left behind, or that only seem to be a parent's, neither hold
// quota twice nor wait for ever. Method: StatefulSets and LeaderWorkerSets on the real API in
// memory, in virtual time; the test plays webhooks, scheduler, kubelet, garbage collector and the
// objects' operators.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "integrations/controller/job_controllers.h"
#include "integrations/kind_catalogue.h"
#include "kube/runtime/manager.h"
#include "tests/support/registry_transport.h"
#include "tests/support/sim_executor.h"

namespace berth::integrations::orphaned_pods_test {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;
using ::testing::ElementsAre;

constexpr char kCrds[] = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
constexpr char kPods[] = "/api/v1/namespaces/default/pods";
constexpr char kGroups[] = "/apis/leaderworkerset.x-k8s.io/v1/namespaces/default/leaderworkersets";
constexpr char kSets[] = "/apis/apps/v1/namespaces/default/statefulsets";
constexpr char kWorkloads[] = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads";
constexpr char kLws[] = "leaderworkerset.x-k8s.io/leaderworkerset";
constexpr char kName[] = "leaderworkerset.sigs.k8s.io/name";

Json OpenCrd(const std::string& group, const std::string& kind, const std::string& plural) {
  Json crd = Json::parse(R"({"metadata": {}, "spec": {"scope": "Namespaced",
      "versions": [{"name": "v1", "served": true, "storage": true,
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
        "subresources": {"status": {}}}]}})");
  crd["metadata"]["name"] = plural + "." + group;
  crd["spec"]["group"] = group;
  crd["spec"]["names"] = {
      {"kind", kind}, {"plural", plural}, {"singular", plural}, {"listKind", kind + "List"}};
  return crd;
}

Json OwnerOf(const Json& object, const char* kind, const char* api_version) {
  return {{"apiVersion", api_version},
          {"kind", kind},
          {"name", object["metadata"]["name"]},
          {"uid", object["metadata"]["uid"]},
          {"controller", true}};
}

Json PodSpec() {
  return Json::parse(
      R"({"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]})");
}

class OrphanedPodsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    controllers_.emplace(
        manager_, clock_, events_,
        JobControllersOptions{
            .pods = JobControllersOptions::Pods::kOfParents,
            .kinds = {FindBuiltInKind(kLws), FindBuiltInKind("statefulset")},
            .job = {.namespace_selector = DefaultManagedNamespaces("kueue-system")}});
    api_.Put(kCrds, OpenCrd("leaderworkerset.x-k8s.io", "LeaderWorkerSet", "leaderworkersets"));
    api_.Put(kCrds, OpenCrd("apps", "StatefulSet", "statefulsets"));
    api_.Put("/apis/kueue.x-k8s.io/v1beta2/resourceflavors", {{"metadata", {{"name", "spot"}}}});
    manager_.StartInformers();
    manager_.StartControllers();
    Settle();
  }
  void Settle() { executor_.RunFor(40s); }
  Json Object(const std::string& path) {
    const Json* found = api_.Find(path);
    return found == nullptr ? Json() : *found;
  }

  Json PutGroups(int replicas) {
    Json set = {
        {"metadata",
         {{"name", "lws"},
          {"namespace", "default"},
          {"labels", {{"kueue.x-k8s.io/queue-name", "lq"}}}}},
        {"spec",
         {{"replicas", replicas},
          {"leaderWorkerTemplate", {{"size", 1}, {"workerTemplate", {{"spec", PodSpec()}}}}}}}};
    api_.Put(kGroups, set);
    Settle();
    return Object(std::string(kGroups) + "/lws");
  }
  Json PutSet(const std::string& name, const Json& owner, const char* label) {
    Json set = {{"metadata", {{"name", name}, {"namespace", "default"}}}};
    if (!owner.is_null()) set["metadata"]["ownerReferences"].push_back(owner);
    set["metadata"]["labels"][label] = label == std::string(kName) ? "lws" : "lq";
    set["spec"] = {{"replicas", 1}, {"template", {{"spec", PodSpec()}}}};
    api_.Put(kSets, set);
    Settle();
    return Object(std::string(kSets) + "/" + name);
  }
  // A pod as its operator makes it and its review leaves it.
  Json AddPod(const std::string& name, const std::string& framework, const Json& owner) {
    Json pod = {{"metadata", {{"name", name}, {"namespace", "default"}}}, {"spec", PodSpec()}};
    Json& metadata = pod["metadata"];
    metadata["annotations"]["kueue.x-k8s.io/pod-suspending-parent"] = framework;
    metadata["labels"]["statefulset.kubernetes.io/pod-name"] = name;
    if (framework == kLws) {
      metadata["labels"][kName] = "lws";
      metadata["labels"]["leaderworkerset.sigs.k8s.io/group-index"] = name.substr(name.size() - 1);
    }
    if (!owner.is_null()) metadata["ownerReferences"].push_back(owner);
    pod["spec"]["schedulingGates"] = {{{"name", "kueue.x-k8s.io/admission"}},
                                      {{"name", "kueue.x-k8s.io/topology"}}};
    api_.Put(kPods, pod);
    Settle();
    return Pod(name);
  }
  Json Pod(const std::string& name) { return Object(std::string(kPods) + "/" + name); }
  void Run(const std::string& name) {
    api_.Put(std::string(kPods) + "/" + name + "/binding",
             {{"metadata", {{"name", name}, {"namespace", "default"}}},
              {"target", {{"kind", "Node"}, {"name", "here"}}}});
    Json pod = Pod(name);
    pod["status"]["phase"] = "Running";
    api_.Put(kPods, pod);
    Settle();
  }
  void SetOwners(const std::string& path, const Json& owners) {
    Json object = Object(path);
    object["metadata"]["ownerReferences"] = owners;
    api_.Put(path.substr(0, path.rfind('/')), object);
    Settle();
  }
  // The object is being deleted from now on, until its dependents are free.
  void Delete(const char* collection, Json object, const api::ResourceKind& kind) {
    object["metadata"]["finalizers"] = {"example.com/dependents"};
    api_.Put(collection, object);
    client_.Delete(kind, {"default", object["metadata"]["name"]}, {}, [](const berth::Status&) {});
    Settle();
  }
  // As the garbage collector does for a deletion with --cascade=orphan.
  void Forget(const std::string& path, const Json& gone) {
    Json owners = Object(path)["metadata"].value("ownerReferences", Json::array());
    Json rest = Json::array();
    for (const Json& each : owners) {
      if (each["uid"] != gone["metadata"]["uid"]) rest.push_back(each);
    }
    SetOwners(path, rest);
  }
  static bool IsGated(const Json& pod) {
    return !pod["spec"].value("schedulingGates", Json::array()).empty();
  }
  static bool IsMarked(const Json& pod) {
    return pod["metadata"].value("labels", Json::object()).contains("kueue.x-k8s.io/managed");
  }
  std::vector<std::string> Workloads() {
    std::vector<std::string> names;
    client_.List(api::KindOf<api::Workload>(), "default", {}, [&names](const auto& list) {
      ASSERT_TRUE(list);
      for (const auto& each : list->items) names.push_back((*each)["metadata"]["name"]);
    });
    executor_.RunFor(10ms);
    return names;
  }
  Json Workload(const std::string& name) { return Object(std::string(kWorkloads) + "/" + name); }
  void Admit(const std::string& name) {
    Json applied = {{"apiVersion", "kueue.x-k8s.io/v1beta2"},
                    {"kind", "Workload"},
                    {"metadata", {{"name", name}, {"namespace", "default"}}},
                    {"status", {{"admission", {{"clusterQueue", "cq"}}}}}};
    const Json pod_sets = Workload(name)["spec"]["podSets"];
    for (const Json& pods : pod_sets) {
      applied["status"]["admission"]["podSetAssignments"].push_back(
          {{"name", pods["name"]}, {"count", pods["count"]}, {"flavors", {{"cpu", "spot"}}}});
    }
    for (const char* type : {"QuotaReserved", "Admitted"}) {
      applied["status"]["conditions"].push_back({{"type", type},
                                                 {"status", "True"},
                                                 {"reason", "Test"},
                                                 {"message", "said by the test"},
                                                 {"lastTransitionTime", "2026-01-01T00:00:00Z"}});
    }
    client_.Patch(
        api::KindOf<api::Workload>(), {"default", name}, kube::PatchType::kApply, applied,
        {.field_manager = "kueue-admission", .force = kube::Force::kYes, .subresource = "status"},
        [](const Result<kube::JsonPtr>& done) { EXPECT_TRUE(done) << done.error().message; });
    Settle();
  }
  void ExpectNoMoreWrites() {
    const std::size_t writes = api_.CountWrites();
    executor_.RunFor(60s);
    EXPECT_EQ(api_.CountWrites(), writes) << "nothing spins";
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

TEST_F(OrphanedPodsTest, AStatefulSetThatIsMadeAgainCountsOnce) {
  constexpr char kQueue[] = "kueue.x-k8s.io/queue-name";
  const Json first = PutSet("db", {}, kQueue);
  const std::vector<std::string> made = Workloads();
  ASSERT_EQ(made.size(), 1U);
  AddPod("db-0", "statefulset", OwnerOf(first, "StatefulSet", "apps/v1"));
  Admit(made[0]);
  Run("db-0");
  ASSERT_FALSE(IsGated(Pod("db-0")));

  Delete(kSets, Object(std::string(kSets) + "/db"), {"apps", "v1", "StatefulSet", "statefulsets"});
  Forget(std::string(kWorkloads) + "/" + made[0], first);
  Forget(std::string(kPods) + "/db-0", first);
  api_.Remove(std::string(kSets) + "/db");
  Settle();
  EXPECT_FALSE(Pod("db-0").is_null());
  const Json second = PutSet("db", {}, kQueue);
  SetOwners(std::string(kPods) + "/db-0", Json::array({OwnerOf(second, "StatefulSet", "apps/v1")}));
  EXPECT_EQ(Workloads(), made);
  EXPECT_TRUE(Workload(made[0])["status"].contains("admission"));
  Json owners = Workload(made[0])["metadata"]["ownerReferences"];
  EXPECT_TRUE(std::any_of(owners.begin(), owners.end(), [&second](const Json& each) {
    return each["uid"] == second["metadata"]["uid"];
  })) << owners;
  EXPECT_FALSE(Pod("db-0")["metadata"].contains("deletionTimestamp"));
  ExpectNoMoreWrites();
}

TEST_F(OrphanedPodsTest, ALostReferenceIsRepaired) {
  const Json set = PutSet("db", {}, "kueue.x-k8s.io/queue-name");
  const std::string name = Workloads().at(0);
  SetOwners(std::string(kWorkloads) + "/" + name, Json::array());
  EXPECT_EQ(Workload(name)["metadata"]["ownerReferences"][0]["uid"], set["metadata"]["uid"]);
  EXPECT_EQ(Workload(name)["metadata"]["finalizers"].size(), 1U);
  EXPECT_EQ(Workloads().size(), 1U);
  ExpectNoMoreWrites();
}

TEST_F(OrphanedPodsTest, ASurplusGroupHoldsItsQuotaWhileItsPodsRun) {
  Json groups = PutGroups(2);
  const Json set =
      PutSet("lws", OwnerOf(groups, "LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1"), kName);
  const std::vector<std::string> made = Workloads();
  ASSERT_EQ(made.size(), 2U);
  AddPod("lws-1", kLws, OwnerOf(set, "StatefulSet", "apps/v1"));
  const std::string second =
      Pod("lws-1")["metadata"]["annotations"]["kueue.x-k8s.io/pod-group-name"];
  Admit(second);
  Run("lws-1");
  ASSERT_FALSE(IsGated(Pod("lws-1")));
  groups = Object(std::string(kGroups) + "/lws");
  groups["spec"]["replicas"] = 1;
  api_.Put(kGroups, groups);
  executor_.RunFor(2s);
  // The pod has a grace period: it runs, and its quota is held.
  EXPECT_TRUE(Pod("lws-1")["metadata"].contains("deletionTimestamp"));
  EXPECT_TRUE(Workload(second)["metadata"].contains("deletionTimestamp"));
  EXPECT_EQ(Workload(second)["metadata"]["finalizers"].size(), 1U);
  api_.Remove(std::string(kPods) + "/lws-1");
  Settle();
  EXPECT_TRUE(Workload(second).is_null());
  EXPECT_EQ(Workloads().size(), 1U);
  ExpectNoMoreWrites();
}

TEST_F(OrphanedPodsTest, ForeignPodsTakeNoPlaces) {
  const Json groups = PutGroups(1);
  const Json owner = OwnerOf(groups, "LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1");
  const Json another = PutSet("another", {}, "app");
  // Both come first; the labels are those of the set's pods.
  const Json bare = AddPod("bare-0", kLws, {});
  Json foreign = AddPod("foreign-0", kLws, OwnerOf(another, "StatefulSet", "apps/v1"));
  const Json set = PutSet("lws", owner, kName);
  const Json own = AddPod("lws-0", kLws, OwnerOf(set, "StatefulSet", "apps/v1"));
  EXPECT_TRUE(IsMarked(own));
  EXPECT_TRUE(IsGated(own));
  foreign = Pod("foreign-0");
  EXPECT_FALSE(IsMarked(foreign));
  EXPECT_FALSE(IsMarked(Pod("bare-0")));
  EXPECT_FALSE(IsGated(Pod("bare-0"))) << "nothing will ever admit a pod that nobody controls";
  ExpectNoMoreWrites();
}

// Its StatefulSets are left behind and go on making pods.
TEST_F(OrphanedPodsTest, GatedPodsOfADeletedSetAreLetGo) {
  const Json groups = PutGroups(1);
  const Json set =
      PutSet("lws", OwnerOf(groups, "LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1"), kName);
  const Json owner = OwnerOf(set, "StatefulSet", "apps/v1");
  AddPod("lws-0", kLws, owner);
  AddPod("lws-1", kLws, owner);  // one more than there are groups
  const std::string name = Workloads().at(0);
  EXPECT_TRUE(IsGated(Pod("lws-1")));

  Delete(kGroups, Object(std::string(kGroups) + "/lws"),
         {"leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet", "leaderworkersets"});
  Forget(std::string(kWorkloads) + "/" + name, groups);
  Forget(std::string(kSets) + "/lws", groups);
  api_.Remove(std::string(kGroups) + "/lws");
  Settle();
  EXPECT_FALSE(IsGated(Pod("lws-1")));
  EXPECT_TRUE(IsGated(Pod("lws-0"))) << "its Workload waits for quota";
  Admit(name);
  EXPECT_FALSE(IsGated(Pod("lws-0")));
  AddPod("lws-2", kLws, owner);
  EXPECT_FALSE(IsGated(Pod("lws-2")));
  ExpectNoMoreWrites();
}

}  // namespace
}  // namespace berth::integrations::orphaned_pods_test
