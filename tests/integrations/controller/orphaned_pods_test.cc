// Goal: pods and Workloads that are left behind, or that only seem to be a parent's, neither hold
// quota twice nor wait for ever. Method: StatefulSets and LeaderWorkerSets on the real API in
// memory, in virtual time; the test plays webhooks, scheduler, kubelet, garbage collector and the
// objects' operators.
#include "integrations/workload_name.h"
#include "tests/integrations/controller/pod_parents_fixture.h"

namespace berth::integrations::orphaned_pods_test {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;
using ::testing::ElementsAre;

constexpr char kName[] = "leaderworkerset.sigs.k8s.io/name";

class OrphanedPodsTest : public PodParentsFixture {
 protected:
  OrphanedPodsTest() : PodParentsFixture({kLeaderWorkerSet, "statefulset"}) {}
  Json PutGroups(int replicas) {
    Json set = {
        {"metadata",
         {{"name", "lws"},
          {"namespace", "default"},
          {"labels", {{"kueue.x-k8s.io/queue-name", "lq"}}}}},
        {"spec",
         {{"replicas", replicas},
          {"leaderWorkerTemplate", {{"size", 1}, {"workerTemplate", {{"spec", PodSpec()}}}}}}}};
    api_.Put(kLeaderWorkerSets, set);
    Settle();
    return Object(std::string(kLeaderWorkerSets) + "/lws");
  }
  Json PutSet(const std::string& name, const Json& owner, const char* label) {
    return PutStatefulSet(name, owner, {{label, label == std::string(kName) ? "lws" : "lq"}});
  }
  // A pod as its operator makes it and its review leaves it.
  Json AddPod(const std::string& name, const std::string& framework, const Json& owner) {
    Json pod = {{"metadata", {{"name", name}, {"namespace", "default"}}}, {"spec", PodSpec()}};
    Json& metadata = pod["metadata"];
    metadata["annotations"]["kueue.x-k8s.io/pod-suspending-parent"] = framework;
    metadata["labels"]["statefulset.kubernetes.io/pod-name"] = name;
    if (framework == kLeaderWorkerSet) {
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
  // Does what the garbage collector does for a deletion with --cascade=orphan.
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
  void ExpectNoMoreWrites() {
    const std::size_t writes = api_.CountWrites();
    executor_.RunFor(60s);
    EXPECT_EQ(api_.CountWrites(), writes) << "nothing spins";
  }
};

TEST_F(OrphanedPodsTest, RecreatedStatefulSetKeepsOneWorkload) {
  constexpr char kQueue[] = "kueue.x-k8s.io/queue-name";
  const Json first = PutSet("db", {}, kQueue);
  const std::vector<std::string> made = Workloads();
  ASSERT_EQ(made.size(), 1U);
  AddPod("db-0", "statefulset", OwnerOf(first, "StatefulSet", "apps/v1"));
  Admit(made[0]);
  Run("db-0");
  ASSERT_FALSE(IsGated(Pod("db-0")));

  Delete(kStatefulSets, Object(std::string(kStatefulSets) + "/db"),
         {"apps", "v1", "StatefulSet", "statefulsets"});
  Forget(std::string(kWorkloads) + "/" + made[0], first);
  Forget(std::string(kPods) + "/db-0", first);
  api_.Remove(std::string(kStatefulSets) + "/db");
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

TEST_F(OrphanedPodsTest, WorkloadOfAnEarlierKueueIsTakenOver) {
  const std::string name = WorkloadName({.kind = "StatefulSet", .group = "apps", .name = "db"});
  api_.Put(
      kWorkloads,
      {{"metadata",
        {{"name", name},
         {"namespace", "default"},
         {"annotations", {{"kueue.x-k8s.io/is-group-workload", "true"}}}}},
       {"spec",
        {{"queueName", "lq"},
         {"podSets", {{{"name", "main"}, {"count", 1}, {"template", {{"spec", PodSpec()}}}}}}}}});
  const Json set = PutSet("db", {}, "kueue.x-k8s.io/queue-name");
  EXPECT_THAT(Workloads(), ElementsAre(name));
  const Json owners = Workload(name)["metadata"]["ownerReferences"];
  ASSERT_EQ(owners.size(), 1U);
  EXPECT_EQ(owners[0]["uid"], set["metadata"]["uid"]);
  ExpectNoMoreWrites();
}

// The set is about to replace the pod, whose owner reference does not say `controller`.
TEST_F(OrphanedPodsTest, GatedPodOfTheOldRevisionIsUngated) {
  Json set = PutSet("db", {}, "kueue.x-k8s.io/queue-name");
  set["status"] = {{"replicas", 1}, {"currentRevision", "db-1"}, {"updateRevision", "db-2"}};
  api_.Put(kStatefulSets, set);
  Json owner = OwnerOf(set, "StatefulSet", "apps/v1");
  owner.erase("controller");
  Json pod = {{"metadata",
               {{"name", "any"},
                {"namespace", "default"},
                {"finalizers", {"kueue.x-k8s.io/managed"}},
                {"ownerReferences", {owner}},
                {"annotations", {{"kueue.x-k8s.io/pod-suspending-parent", "statefulset"}}},
                {"labels",
                 {{"controller-revision-hash", "db-1"},
                  {"statefulset.kubernetes.io/pod-name", "any"},
                  {"kueue.x-k8s.io/pod-group-name", Workloads().at(0)}}}}},
              {"spec", PodSpec()}};
  pod["spec"]["schedulingGates"] = {{{"name", "kueue.x-k8s.io/admission"}},
                                    {{"name", "kueue.x-k8s.io/topology"}}};
  api_.Put(kPods, pod);
  Settle();
  EXPECT_FALSE(IsGated(Pod("any"))) << Pod("any");
  EXPECT_EQ(Pod("any")["metadata"]["finalizers"].size(), 1U);
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
  AddPod("lws-1", kLeaderWorkerSet, OwnerOf(set, "StatefulSet", "apps/v1"));
  const std::string second =
      Pod("lws-1")["metadata"]["annotations"]["kueue.x-k8s.io/pod-group-name"];
  Admit(second);
  Run("lws-1");
  ASSERT_FALSE(IsGated(Pod("lws-1")));
  groups = Object(std::string(kLeaderWorkerSets) + "/lws");
  groups["spec"]["replicas"] = 1;
  api_.Put(kLeaderWorkerSets, groups);
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

TEST_F(OrphanedPodsTest, ForeignPodsAreNotMarked) {
  const Json groups = PutGroups(1);
  const Json owner = OwnerOf(groups, "LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1");
  const Json another = PutSet("another", {}, "app");
  // Both come first; the labels are those of the set's pods.
  const Json bare = AddPod("bare-0", kLeaderWorkerSet, {});
  Json foreign = AddPod("foreign-0", kLeaderWorkerSet, OwnerOf(another, "StatefulSet", "apps/v1"));
  const Json set = PutSet("lws", owner, kName);
  const Json own = AddPod("lws-0", kLeaderWorkerSet, OwnerOf(set, "StatefulSet", "apps/v1"));
  EXPECT_TRUE(IsMarked(own));
  EXPECT_TRUE(IsGated(own));
  foreign = Pod("foreign-0");
  EXPECT_FALSE(IsMarked(foreign));
  EXPECT_FALSE(IsMarked(Pod("bare-0")));
  EXPECT_FALSE(IsGated(Pod("bare-0"))) << "nothing will ever admit a pod that nobody controls";
  ExpectNoMoreWrites();
}

// Its StatefulSets are left behind and go on making pods.
TEST_F(OrphanedPodsTest, UnmarkedPodsOfADeletedSetAreUngated) {
  const Json groups = PutGroups(1);
  const Json set =
      PutSet("lws", OwnerOf(groups, "LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1"), kName);
  const Json owner = OwnerOf(set, "StatefulSet", "apps/v1");
  AddPod("lws-0", kLeaderWorkerSet, owner);
  AddPod("lws-1", kLeaderWorkerSet, owner);  // one more than there are groups
  const std::string name = Workloads().at(0);
  EXPECT_TRUE(IsGated(Pod("lws-1")));

  Delete(kLeaderWorkerSets, Object(std::string(kLeaderWorkerSets) + "/lws"),
         {"leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet", "leaderworkersets"});
  Forget(std::string(kWorkloads) + "/" + name, groups);
  Forget(std::string(kStatefulSets) + "/lws", groups);
  api_.Remove(std::string(kLeaderWorkerSets) + "/lws");
  Settle();
  EXPECT_FALSE(IsGated(Pod("lws-1")));
  EXPECT_TRUE(IsGated(Pod("lws-0"))) << "its Workload waits for quota";
  Admit(name);
  EXPECT_FALSE(IsGated(Pod("lws-0")));
  AddPod("lws-2", kLeaderWorkerSet, owner);
  EXPECT_FALSE(IsGated(Pod("lws-2")));
  ExpectNoMoreWrites();
}

}  // namespace
}  // namespace berth::integrations::orphaned_pods_test
