// Goal: Deployments and ReplicaSets bring pods to life through the API, in spite of refusals.
// Method: virtual time on the embedded API in memory; the test plays kubelet.
#include "local/cluster/replicas/deployment_controller.h"

#include <gtest/gtest.h>

#include "local/cluster/garbage/garbage_collector.h"
#include "local/cluster/objects/resource_ids.h"
#include "local/cluster/replicas/replica_set_controller.h"
#include "scenarios/world/sim_executor.h"
#include "tests/local/support/test_api.h"

namespace berth::local::cluster {
namespace {

class DeploymentControllerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const ResourceId* resource : {&kPods, &kReplicaSets, &kDeployments}) {
      ASSERT_TRUE(cache_.Track(*resource));
    }
    sets_.Start();
    deployments_.Start();
    garbage_.Start();
  }

  void CreateDeployment(std::int64_t replicas, const Json& spec = Json::object()) {
    Json deployment = {
        {"metadata", {{"name", "web"}}},
        {"spec",
         {{"replicas", replicas},
          {"selector", {{"matchLabels", {{"app", "web"}}}}},
          {"template",
           {{"metadata", {{"labels", {{"app", "web"}}}}},
            {"spec", {{"containers", Json::array({{{"name", "c"}, {"image", "a"}}})}}}}}}}};
    deployment["spec"].merge_patch(spec);
    const auto created = api_.Create(kDeployments, "default", deployment, {});
    ASSERT_TRUE(created) << created.error().message;
  }

  void PatchDeployment(const Json& patch) {
    ASSERT_TRUE(api_.Patch(kDeployments, "default", "web", PatchType::kMerge, patch, {}));
  }
  void SetImage(const std::string& image) {
    PatchDeployment(
        {{"spec",
          {{"template",
            {{"spec", {{"containers", Json::array({{{"name", "c"}, {"image", image}}})}}}}}}}});
  }

  Json Deployment() { return **api_.Get(kDeployments, "default", "web"); }
  std::vector<Object> Pods() { return api_.List(kPods, "default", {})->items; }
  std::vector<Object> Sets() { return api_.List(kReplicaSets, "default", {})->items; }

  // Makes pods ready until nothing changes.
  void Play() {
    for (int round = 0; round < 50; ++round) {
      executor_.RunFor(std::chrono::seconds(1));
      bool moved = false;
      for (const Object& pod : Pods()) {
        if (ConditionIs(*pod, "Ready", "True")) continue;
        Json ready = *pod;
        ready["status"]["phase"] = "Running";
        SetCondition(ready["status"], {"Ready", "True", "", ""}, clock_.Now());
        WriteOptions options;
        options.subresource = "status";
        moved = moved || api_.Update(kPods, "default", NameOf(*pod), ready, options);
      }
      if (!moved) return;
    }
    ADD_FAILURE() << "never quiet";
  }

  FakeClock clock_;
  SimExecutor executor_{clock_};
  test::TestApi api_{clock_, &executor_};
  ObjectCache cache_{api_, executor_};
  ReplicaSetController sets_{api_, cache_, executor_, executor_, clock_, ReplicaKinds::kSets};
  DeploymentController deployments_{api_, cache_, executor_, executor_, clock_};
  GarbageCollector garbage_{api_, cache_, executor_, clock_};
};

TEST_F(DeploymentControllerTest, DeploymentRunsRollsOutAndUndoes) {
  CreateDeployment(3);
  Play();
  ASSERT_EQ(Pods().size(), 3U);
  EXPECT_EQ(Deployment()["status"]["availableReplicas"], 3);
  EXPECT_EQ(LabelOf(*Pods()[0], "app"), "web");
  EXPECT_EQ(StringAt(*ControllerRef(*Pods()[0]), {"name"}), NameOf(*Sets()[0]));
  SetImage("b");
  Play();
  ASSERT_EQ(Pods().size(), 3U);
  for (const Object& pod : Pods()) EXPECT_EQ((*pod)["spec"]["containers"][0]["image"], "b");
  EXPECT_EQ(Sets().size(), 2U);
  EXPECT_EQ(AnnotationOf(Deployment(), kRevision), "2");
  EXPECT_EQ(Deployment()["status"]["observedGeneration"], 2);
  SetImage("a");
  Play();
  EXPECT_EQ(Sets().size(), 2U);
  EXPECT_EQ(AnnotationOf(Deployment(), kRevision), "3");
  EXPECT_TRUE(ConditionIs(Deployment(), "Available", "True"));
}

TEST_F(DeploymentControllerTest, DeletionRemovesReplicaSetsAndPods) {
  CreateDeployment(2);
  Play();
  ASSERT_TRUE(api_.Delete(kDeployments, "default", "web", {}));
  Play();
  EXPECT_TRUE(Pods().empty());
  EXPECT_TRUE(Sets().empty());
}

TEST_F(DeploymentControllerTest, DeletedPodIsReplaced) {
  CreateDeployment(2);
  Play();
  const std::string gone = NameOf(*Pods()[0]);
  DeleteOptions options;
  options.grace_period_seconds = 0;
  ASSERT_TRUE(api_.Delete(kPods, "default", gone, options));
  Play();
  ASSERT_EQ(Pods().size(), 2U);
  for (const Object& pod : Pods()) EXPECT_NE(NameOf(*pod), gone);
}

TEST_F(DeploymentControllerTest, AdoptsReplicaSetsThatItsSelectorMatches) {
  CreateDeployment(1);
  Play();
  const std::string set = NameOf(*Sets()[0]);
  DeleteOptions orphan;
  orphan.propagation_policy = "Orphan";
  ASSERT_TRUE(api_.Delete(kDeployments, "default", "web", orphan));
  Play();
  ASSERT_EQ(Sets().size(), 1U);
  EXPECT_EQ(ControllerRef(*Sets()[0]), nullptr);
  const std::string pod = NameOf(*Pods()[0]);
  CreateDeployment(1);
  Play();
  ASSERT_EQ(Sets().size(), 1U);
  EXPECT_EQ(NameOf(*Sets()[0]), set);
  ASSERT_EQ(Pods().size(), 1U);
  EXPECT_EQ(NameOf(*Pods()[0]), pod);
}

TEST_F(DeploymentControllerTest, RefusedPodIsReportedAndRetried) {
  const ApiError full{403, "Forbidden", "quota is used up", nullptr};
  bool refuse = true;
  api_.set_refusal([&](const std::string& verb, const ResourceId& resource) {
    return refuse && verb == "create" && resource == kPods ? &full : nullptr;
  });
  CreateDeployment(1);
  Play();
  EXPECT_TRUE(Pods().empty());
  const Json deployment = Deployment();
  const Json* failure = FindCondition(deployment, "ReplicaFailure");
  ASSERT_NE(failure, nullptr);
  EXPECT_EQ(StringAt(*failure, {"message"}), "quota is used up");
  refuse = false;
  executor_.RunFor(std::chrono::minutes(10));
  Play();
  EXPECT_EQ(Pods().size(), 1U);
  EXPECT_EQ(FindCondition(Deployment(), "ReplicaFailure"), nullptr);
}

TEST_F(DeploymentControllerTest, BadSpecsAreRefusedByField) {
  const auto refused = [&](const Json& spec) {
    Json deployment = {{"metadata", {{"name", "web"}}}, {"spec", spec}};
    const auto created = api_.Create(kDeployments, "default", deployment, {});
    return created ? std::string("accepted") : created.error().message;
  };
  const Json containers = Json::array({{{"name", "c"}, {"image", "a"}}});
  Json good = {
      {"selector", {{"matchLabels", {{"app", "x"}}}}},
      {"template",
       {{"metadata", {{"labels", {{"app", "x"}}}}}, {"spec", {{"containers", containers}}}}}};
  const auto with = [&](const Json& patch) {
    Json spec = good;
    spec.merge_patch(patch);
    return refused(spec);
  };
  EXPECT_NE(with({{"selector", nullptr}}).find("spec.selector: Required value"), std::string::npos);
  EXPECT_NE(
      with({{"selector", {{"matchLabels", {{"app", "y"}}}}}}).find("`selector` does not match"),
      std::string::npos);
  EXPECT_NE(with({{"template", {{"spec", {{"restartPolicy", "Never"}}}}}}).find("restartPolicy"),
            std::string::npos);
  EXPECT_NE(with({{"strategy", {{"rollingUpdate", {{"maxSurge", 0}, {"maxUnavailable", 0}}}}}})
                .find("may not be 0 when `maxSurge` is 0"),
            std::string::npos);
  EXPECT_NE(with({{"strategy", {{"rollingUpdate", {{"maxSurge", "x"}}}}}}).find("maxSurge"),
            std::string::npos);
  EXPECT_EQ(with(Json::object()), "accepted");
}

}  // namespace
}  // namespace berth::local::cluster
