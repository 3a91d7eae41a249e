// Goal: the life of a parent of pods on an API: its Workloads are made before its pods, its pods
// are marked, started and stopped as groups, it is scaled to zero and back, and it is deleted.
// Method: LeaderWorkerSet and StatefulSet on the real API in memory, in virtual time; the test
// plays webhooks, scheduler, kubelet, garbage collector and the objects' operators.
#include "tests/integrations/controller/pod_parents_fixture.h"

namespace berth::integrations::pod_parents_test {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;

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

class PodParentsTest : public PodParentsFixture {
 protected:
  PodParentsTest() : PodParentsFixture({kLeaderWorkerSet}) {}
  // The StatefulSet that the operator makes of the LeaderWorkerSet.
  Json OperatorsSet() {
    const Json there = Object(std::string(kStatefulSets) + "/lws");
    if (!there.is_null()) return there;
    const Json parent = Object(std::string(kLeaderWorkerSets) + "/lws");
    return PutStatefulSet("lws", OwnerOf(parent, "LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1"),
                          {{"leaderworkerset.sigs.k8s.io/name", "lws"}});
  }
  // A pod as its operator makes it and its review leaves it.
  void AddPod(const std::string& name, const std::string& group, bool worker) {
    Json pod = Json::parse(R"({
      "metadata": {"namespace": "default", "labels": {"leaderworkerset.sigs.k8s.io/name": "lws"},
        "annotations": {"kueue.x-k8s.io/pod-suspending-parent": "leaderworkerset.x-k8s.io/leaderworkerset",
          "kueue.x-k8s.io/pod-group-serving": "true", "kueue.x-k8s.io/role-hash": "c0ffee00"}},
      "spec": {"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}, {"name": "kueue.x-k8s.io/topology"}],
        "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]}})");
    pod["metadata"]["name"] = name;
    pod["metadata"]["ownerReferences"] = {OwnerOf(OperatorsSet(), "StatefulSet", "apps/v1")};
    pod["metadata"]["labels"]["leaderworkerset.sigs.k8s.io/group-index"] = group;
    if (worker) pod["metadata"]["annotations"]["leaderworkerset.sigs.k8s.io/leader-name"] = "l";
    api_.Put(kPods, pod);
    Settle();
  }
  void Run(const std::string& name) {
    Json pod = Pod(name);
    pod["status"]["phase"] = "Running";
    api_.Put(kPods, pod);
    Settle();
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
  static std::size_t Gates(const Json& pod) {
    return pod["spec"].value("schedulingGates", Json::array()).size();
  }
};

TEST_F(PodParentsTest, GroupIsMarkedStartedEvictedAndAdmittedAgain) {
  api_.Put(kLeaderWorkerSets, Set());
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
  Admit(name);
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
  Admit(name, {"QuotaReserved", "Admitted", "Evicted"});
  EXPECT_TRUE(Pod("lws-0").is_null() || Pod("lws-0")["metadata"].contains("deletionTimestamp"));
  api_.Remove(std::string(kPods) + "/lws-0");
  api_.Remove(std::string(kPods) + "/lws-0-1");
  Settle();
  AddPod("lws-0", "0", false);
  EXPECT_FALSE(Workload(name)["status"].contains("admission"));
  EXPECT_EQ(Gates(Pod("lws-0")), 2U);
  Admit(name);
  EXPECT_EQ(Gates(Pod("lws-0")), 0U);
  EXPECT_EQ(Made().size(), 1U);
  const std::size_t writes = api_.CountWrites();
  executor_.RunFor(60s);
  EXPECT_EQ(api_.CountWrites(), writes);  // nothing spins
  for (const auto& request : api_.requests()) {
    EXPECT_FALSE(request.method == "PATCH" && request.path.starts_with(kLeaderWorkerSets))
        << "Berth has no right to patch the parent";
  }
}

TEST_F(PodParentsTest, ScaleDownDeletesTheGroupsPodsAndWorkload) {
  api_.Put(kLeaderWorkerSets, Set(2));
  Settle();
  ASSERT_EQ(Made().size(), 2U);
  AddPod("lws-1", "1", false);
  Admit(Made()[1]);
  EXPECT_EQ(Gates(Pod("lws-1")), 0U);
  Json set = Object(std::string(kLeaderWorkerSets) + "/lws");
  set["spec"]["replicas"] = 1;
  api_.Put(kLeaderWorkerSets, set);
  Settle();
  // The pods of the group that goes are ended with their Workload.
  EXPECT_TRUE(Pod("lws-1").is_null());
  EXPECT_TRUE(Workload(Made()[1]).is_null());
  EXPECT_FALSE(Workload(Made()[0]).is_null());
}

TEST_F(PodParentsTest, DeletedWorkloadIsCreatedAgain) {
  api_.Put(kLeaderWorkerSets, Set());
  Settle();
  client_.Delete(api::KindOf<api::Workload>(), {"default", Made()[0]}, {},
                 [](const berth::Status&) {});
  Settle();
  ASSERT_EQ(Made().size(), 2U);
  EXPECT_EQ(Made()[0], Made()[1]);
  EXPECT_FALSE(Workload(Made()[1]).is_null());
}

TEST_F(PodParentsTest, WorkloadOfADeletedSetLosesItsFinalizer) {
  api_.Put(kLeaderWorkerSets, Set());
  Settle();
  const std::string name = Made()[0];
  api_.Remove(std::string(kLeaderWorkerSets) + "/lws");
  Settle();
  EXPECT_FALSE(Workload(name).is_null());  // until the garbage collector comes
  client_.Delete(api::KindOf<api::Workload>(), {"default", name}, {}, [](const berth::Status&) {});
  Settle();
  EXPECT_TRUE(Workload(name).is_null());
}

TEST_F(PodParentsTest, PodsWithoutAParentAreLeftAlone) {
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
  api_.Put(kLeaderWorkerSets, set);
  Settle();
  EXPECT_TRUE(Made().empty());
  for (const auto& request : api_.requests()) {
    EXPECT_EQ(request.query.find("leaderworkerset.sigs.k8s.io"), std::string::npos);
  }
}

}  // namespace
}  // namespace berth::integrations::pod_parents_test
