// Goal: objects are deleted after their owners, in the requested order; namespaces are
// emptied.
// Method: the collector and the namespace controller on the embedded API in memory in virtual time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "local/cluster/garbage/garbage_collector.h"
#include "local/cluster/garbage/namespace_controller.h"
#include "local/cluster/objects/resource_ids.h"
#include "scenarios/world/sim_executor.h"
#include "tests/local/support/test_api.h"

namespace berth::local::cluster {
namespace {

using std::chrono::seconds;

TEST(GarbagePlanTest, OwnersDecideWhatIsDeleted) {
  const Json object = {{"metadata", {{"name", "x"}}}};
  const OwnerView there{"t", OwnerState::kThere};
  const OwnerView gone{"g", OwnerState::kGone};
  const OwnerView waiting{"w", OwnerState::kWaiting};
  using Action = GarbagePlan::Action;
  EXPECT_EQ(PlanGarbage(object, {}, false), (GarbagePlan{}));
  EXPECT_EQ(PlanGarbage(object, {there}, false), (GarbagePlan{}));
  EXPECT_EQ(PlanGarbage(object, {there, gone}, false),
            (GarbagePlan{Action::kDropOwners, {"g"}, ""}));
  EXPECT_EQ(PlanGarbage(object, {there, waiting}, false),
            (GarbagePlan{Action::kDropOwners, {"w"}, ""}));
  EXPECT_EQ(PlanGarbage(object, {gone, gone}, true),
            (GarbagePlan{Action::kDelete, {}, "Background"}));
  EXPECT_EQ(PlanGarbage(object, {waiting}, true), (GarbagePlan{Action::kDelete, {}, "Foreground"}));
  EXPECT_EQ(PlanGarbage(object, {waiting}, false),
            (GarbagePlan{Action::kDelete, {}, "Background"}));
}

class GarbageTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(api_.Create(kNamespaces, "", {{"metadata", {{"name", "other"}}}}, {}));
    ASSERT_TRUE(cache_.Track(kNamespaces));
    collector_.Start();
    namespaces_.Start();
    executor_.RunReady();
  }

  Json Create(const std::string& name, const Json& metadata = Json::object(),
              const std::string& namespace_name = "default") {
    Json object = {{"metadata", metadata}};
    object["metadata"]["name"] = name;
    const auto created = api_.Create(kConfigMaps, namespace_name, object, {});
    EXPECT_TRUE(created);
    executor_.RunReady();
    return **created;
  }
  static Json OwnedBy(const Json& owner, bool blocks = true) {
    return {{"ownerReferences", Json::array({{{"apiVersion", "v1"},
                                              {"kind", "ConfigMap"},
                                              {"name", NameOf(owner)},
                                              {"uid", UidOf(owner)},
                                              {"blockOwnerDeletion", blocks}}})}};
  }
  bool Exists(const std::string& name, const std::string& namespace_name = "default") {
    return static_cast<bool>(api_.Get(kConfigMaps, namespace_name, name));
  }
  void Delete(const std::string& name, const std::string& policy) {
    DeleteOptions options;
    options.propagation_policy = policy;
    ASSERT_TRUE(api_.Delete(kConfigMaps, "default", name, options));
  }

  FakeClock clock_;
  SimExecutor executor_{clock_};
  test::TestApi api_{clock_, &executor_};
  ObjectCache cache_{api_, executor_};
  GarbageCollector collector_{api_, cache_, executor_, clock_};
  NamespaceController namespaces_{api_, cache_, executor_, clock_};
};

TEST_F(GarbageTest, BackgroundDeletionReachesEveryGeneration) {
  const Json owner = Create("owner");
  const Json child = Create("child", OwnedBy(owner));
  Create("grandchild", OwnedBy(child));
  Delete("owner", "Background");
  executor_.RunReady();
  EXPECT_FALSE(Exists("child"));
  EXPECT_FALSE(Exists("grandchild"));
}

TEST_F(GarbageTest, ForegroundDeletionWaitsForBlockingDependents) {
  const Json owner = Create("owner");
  Json metadata = OwnedBy(owner);
  metadata["finalizers"] = Json::array({"example.com/hold"});
  Create("held", metadata);
  Create("free", OwnedBy(owner, false));
  Delete("owner", "Foreground");
  executor_.RunReady();
  EXPECT_TRUE(Exists("owner"));
  ASSERT_TRUE(Exists("held"));
  EXPECT_TRUE(IsDeleting(**api_.Get(kConfigMaps, "default", "held")));
  ASSERT_TRUE(api_.Patch(kConfigMaps, "default", "held", PatchType::kMerge,
                         {{"metadata", {{"finalizers", nullptr}}}}, {}));
  executor_.RunReady();
  EXPECT_FALSE(Exists("held"));
  EXPECT_FALSE(Exists("owner"));
  EXPECT_FALSE(Exists("free"));
}

TEST_F(GarbageTest, OrphansLoseTheirOwnerReferenceAndStay) {
  const Json owner = Create("owner");
  Create("child", OwnedBy(owner));
  Delete("owner", "Orphan");
  executor_.RunReady();
  EXPECT_FALSE(Exists("owner"));
  ASSERT_TRUE(Exists("child"));
  EXPECT_TRUE(ArrayAt(**api_.Get(kConfigMaps, "default", "child"), {"metadata", "ownerReferences"})
                  .empty());
}

TEST_F(GarbageTest, SecondOwnerKeepsTheDependent) {
  const Json first = Create("first");
  const Json second = Create("second");
  Json metadata = OwnedBy(first);
  metadata["ownerReferences"].push_back(OwnedBy(second)["ownerReferences"][0]);
  Create("child", metadata);
  Delete("first", "Background");
  executor_.RunReady();
  ASSERT_TRUE(Exists("child"));
  EXPECT_EQ(
      ArrayAt(**api_.Get(kConfigMaps, "default", "child"), {"metadata", "ownerReferences"}).size(),
      1U);
}

TEST_F(GarbageTest, MissingOrForeignOwnerDeletesTheDependent) {
  Json absent = OwnedBy({{"metadata", {{"name", "no"}, {"uid", "never"}}}});
  Create("stray", absent);
  EXPECT_FALSE(Exists("stray"));
  const Json elsewhere = Create("owner", Json::object(), "other");
  Create("foreign", OwnedBy(elsewhere));
  EXPECT_FALSE(Exists("foreign"));
  Json unknown = absent;
  unknown["ownerReferences"][0]["kind"] = "Unheard";
  Create("unknown", unknown);
  EXPECT_TRUE(Exists("unknown")) << "nobody can say that its owner is gone";
}

TEST_F(GarbageTest, CycleOfOwnersIsDeleted) {
  const Json first = Create("first");
  const Json second = Create("second", OwnedBy(first));
  const Json third = Create("third", OwnedBy(second));
  ASSERT_TRUE(api_.Patch(kConfigMaps, "default", "first", PatchType::kMerge,
                         {{"metadata", OwnedBy(third)}}, {}));
  executor_.RunReady();
  Delete("first", "Foreground");
  executor_.RunFor(seconds(5));
  EXPECT_FALSE(Exists("first"));
  EXPECT_FALSE(Exists("second"));
  EXPECT_FALSE(Exists("third"));
}

TEST_F(GarbageTest, NamespaceIsEmptiedAndDeleted) {
  ASSERT_TRUE(api_.Create(
      kNamespaces, "",
      {{"metadata", {{"name", "team"}}}, {"spec", {{"finalizers", Json::array({"kubernetes"})}}}},
      {}));
  Create("plain", Json::object(), "team");
  Create("held", {{"finalizers", Json::array({"example.com/hold"})}}, "team");
  ASSERT_TRUE(api_.Delete(kNamespaces, "", "team", {}));
  executor_.RunFor(seconds(2));
  EXPECT_FALSE(Exists("plain", "team"));
  const auto waiting = api_.Get(kNamespaces, "", "team");
  ASSERT_TRUE(waiting);
  EXPECT_EQ(FindCondition(**waiting, "NamespaceContentRemaining")->at("message"),
            "Some resources are remaining: configmaps has 1 resource instances");
  EXPECT_EQ(FindCondition(**waiting, "NamespaceFinalizersRemaining")->at("message"),
            "Some content in the namespace has finalizers remaining: example.com/hold in 1 "
            "resource instances");
  ASSERT_TRUE(api_.Patch(kConfigMaps, "team", "held", PatchType::kMerge,
                         {{"metadata", {{"finalizers", nullptr}}}}, {}));
  executor_.RunFor(seconds(2));
  EXPECT_FALSE(api_.Get(kNamespaces, "", "team"));
}

TEST_F(GarbageTest, NamespaceDeletesItsPodsBeforeTheRest) {
  ASSERT_TRUE(api_.Create(
      kNamespaces, "",
      {{"metadata", {{"name", "team"}}}, {"spec", {{"finalizers", Json::array({"kubernetes"})}}}},
      {}));
  Create("needed", Json::object(), "team");
  const Json pod{{"metadata", {{"name", "p"}, {"finalizers", Json::array({"example.com/hold"})}}},
                 {"spec", {{"containers", Json::array({{{"name", "c"}, {"image", "i"}}})}}}};
  ASSERT_TRUE(api_.Create(kPods, "team", pod, {}));
  ASSERT_TRUE(api_.Delete(kNamespaces, "", "team", {}));
  executor_.RunFor(seconds(2));
  const auto held = api_.Get(kPods, "team", "p");
  ASSERT_TRUE(held);
  EXPECT_TRUE(IsDeleting(**held));
  EXPECT_TRUE(Exists("needed", "team"));
  ASSERT_TRUE(api_.Patch(kPods, "team", "p", PatchType::kMerge,
                         {{"metadata", {{"finalizers", nullptr}}}}, {}));
  executor_.RunFor(seconds(2));
  EXPECT_FALSE(api_.Get(kNamespaces, "", "team"));
}

}  // namespace
}  // namespace berth::local::cluster
