// Goal: StatefulSets bring pods, revisions and claims to life through the API, in spite of
// refusals. Method: virtual time on the embedded API in memory; the test plays kubelet, and lets
// deleted claims go.
#include "local/cluster/replicas/stateful_set_controller.h"

#include <gtest/gtest.h>

#include "local/cluster/garbage/garbage_collector.h"
#include "local/cluster/objects/resource_ids.h"
#include "scenarios/world/sim_executor.h"
#include "tests/local/support/test_api.h"

namespace berth::local::cluster {
namespace {

class StatefulSetControllerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const ResourceId* resource : {&kPods, &kControllerRevisions, &kStatefulSets}) {
      ASSERT_TRUE(cache_.Track(*resource));
    }
    sets_.Start();
    garbage_.Start();
  }

  void CreateSet(std::int64_t replicas, const Json& spec = Json::object()) {
    Json set = {{"metadata", {{"name", "db"}}},
                {"spec",
                 {{"replicas", replicas},
                  {"serviceName", "peers"},
                  {"selector", {{"matchLabels", {{"app", "db"}}}}},
                  {"template",
                   {{"metadata", {{"labels", {{"app", "db"}}}}},
                    {"spec", {{"containers", Json::array({{{"name", "c"}, {"image", "a"}}})}}}}}}}};
    set["spec"].merge_patch(spec);
    const auto created = api_.Create(kStatefulSets, "default", set, {});
    ASSERT_TRUE(created) << created.error().message;
  }
  void PatchSet(const Json& patch) {
    const auto patched = api_.Patch(kStatefulSets, "default", "db", PatchType::kMerge, patch, {});
    ASSERT_TRUE(patched) << patched.error().message;
  }
  void SetImage(const std::string& image) {
    PatchSet(
        {{"spec",
          {{"template",
            {{"spec", {{"containers", Json::array({{{"name", "c"}, {"image", image}}})}}}}}}}});
  }

  Json Set() { return **api_.Get(kStatefulSets, "default", "db"); }
  std::vector<Object> All(const ResourceId& resource) {
    return api_.List(resource, "default", {})->items;
  }
  std::string Names(const ResourceId& resource) {
    std::string names;
    for (const Object& one : All(resource)) names += (names.empty() ? "" : " ") + NameOf(*one);
    return names;
  }

  // Makes pods ready until nothing changes.
  void Play() {
    for (int round = 0; round < 60; ++round) {
      executor_.RunFor(std::chrono::seconds(1));
      bool moved = false;
      for (const Object& claim : All(kPersistentVolumeClaims)) {
        if (!IsDeleting(*claim)) continue;
        moved = api_.Patch(kPersistentVolumeClaims, "default", NameOf(*claim), PatchType::kMerge,
                           {{"metadata", {{"finalizers", nullptr}}}}, {}) ||
                moved;
      }
      for (const Object& pod : All(kPods)) {
        if (ConditionIs(*pod, "Ready", "True")) continue;
        Json ready = *pod;
        ready["status"]["phase"] = "Running";
        SetCondition(ready["status"], {"Ready", "True", "", ""}, clock_.Now());
        WriteOptions options;
        options.subresource = "status";
        moved = api_.Update(kPods, "default", NameOf(*pod), ready, options) || moved;
      }
      if (!moved) return;
    }
    ADD_FAILURE() << "never quiet";
  }

  FakeClock clock_;
  SimExecutor executor_{clock_};
  test::TestApi api_{clock_, &executor_};
  ObjectCache cache_{api_, executor_};
  StatefulSetController sets_{api_, cache_, executor_, executor_, clock_};
  GarbageCollector garbage_{api_, cache_, executor_, clock_};
};

TEST_F(StatefulSetControllerTest, StatefulSetRunsRollsOutAndUndoes) {
  CreateSet(3);
  Play();
  EXPECT_EQ(Names(kPods), "db-0 db-1 db-2");
  EXPECT_EQ(Set()["status"]["availableReplicas"], 3);
  SetImage("b");
  Play();
  EXPECT_EQ(Names(kPods), "db-0 db-1 db-2");
  for (const Object& pod : All(kPods)) EXPECT_EQ((*pod)["spec"]["containers"][0]["image"], "b");
  EXPECT_EQ(All(kControllerRevisions).size(), 2U);
  EXPECT_EQ(Set()["status"]["currentRevision"], Set()["status"]["updateRevision"]);
  // kubectl's `rollout undo` does the same: the revision is a patch of the set.
  Json first;
  for (const Object& one : All(kControllerRevisions)) {
    if ((*one)["revision"] == 1) first = (*one)["data"];
  }
  const auto undone = api_.Patch(kStatefulSets, "default", "db", PatchType::kStrategic, first, {});
  ASSERT_TRUE(undone) << undone.error().message;
  Play();
  for (const Object& pod : All(kPods)) EXPECT_EQ((*pod)["spec"]["containers"][0]["image"], "a");
  EXPECT_EQ(All(kControllerRevisions).size(), 2U);
}

TEST_F(StatefulSetControllerTest, DeletionRemovesPodsAndRevisions) {
  CreateSet(2, {{"podManagementPolicy", "Parallel"}});
  Play();
  ASSERT_TRUE(api_.Delete(kStatefulSets, "default", "db", {}));
  Play();
  EXPECT_EQ(Names(kPods), "");
  EXPECT_EQ(Names(kControllerRevisions), "");
}

TEST_F(StatefulSetControllerTest, ClaimsAreKeptOrDeletedByTheRetentionPolicy) {
  const Json claim = {
      {"metadata", {{"name", "data"}}},
      {"spec",
       {{"accessModes", {"ReadWriteOnce"}}, {"resources", {{"requests", {{"storage", "1Gi"}}}}}}}};
  CreateSet(2, {{"volumeClaimTemplates", Json::array({claim})}});
  Play();
  EXPECT_EQ(Names(kPersistentVolumeClaims), "data-db-0 data-db-1");
  PatchSet({{"spec", {{"replicas", 1}}}});
  Play();
  EXPECT_EQ(Names(kPods), "db-0");
  EXPECT_EQ(Names(kPersistentVolumeClaims), "data-db-0 data-db-1");
  PatchSet({{"spec", {{"replicas", 2}}}});
  Play();
  PatchSet({{"spec", {{"persistentVolumeClaimRetentionPolicy", {{"whenScaled", "Delete"}}}}}});
  PatchSet({{"spec", {{"replicas", 1}}}});
  Play();
  EXPECT_EQ(Names(kPersistentVolumeClaims), "data-db-0");
  PatchSet({{"spec", {{"persistentVolumeClaimRetentionPolicy", {{"whenDeleted", "Delete"}}}}}});
  Play();
  ASSERT_TRUE(api_.Delete(kStatefulSets, "default", "db", {}));
  Play();
  EXPECT_EQ(Names(kPersistentVolumeClaims), "");
}

TEST_F(StatefulSetControllerTest, RetriesRefusedPods) {
  const ApiError refusal{403, "Forbidden", "no room", Json()};
  bool refuses = true;
  api_.set_refusal([&](const std::string& verb, const ResourceId& resource) {
    return refuses && verb == "create" && resource.resource == "pods" ? &refusal : nullptr;
  });
  CreateSet(1);
  Play();
  EXPECT_EQ(Names(kPods), "");
  refuses = false;
  executor_.RunFor(std::chrono::minutes(5));
  EXPECT_EQ(Names(kPods), "db-0");
}

TEST_F(StatefulSetControllerTest, RefusesChangesOfImmutableFields) {
  CreateSet(1);
  const auto changed = api_.Patch(kStatefulSets, "default", "db", PatchType::kMerge,
                                  {{"spec", {{"serviceName", "others"}}}}, {});
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().code, 422);
}

}  // namespace
}  // namespace berth::local::cluster
