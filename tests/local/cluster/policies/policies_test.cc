// Goal: ResourceQuotas, LimitRanges, RuntimeClasses and PodDisruptionBudgets are enforced, and
// their status tells the truth. Method: virtual time on the embedded API in memory; the test plays
// kubelet.
#include <gtest/gtest.h>

#include "local/cluster/objects/resource_ids.h"
#include "local/cluster/policies/disruption_controller.h"
#include "local/cluster/policies/quota_controller.h"
#include "scenarios/world/sim_executor.h"
#include "tests/local/support/test_api.h"

namespace berth::local::cluster {
namespace {

const ResourceId kLimitRanges{"", "v1", "limitranges"};
const ResourceId kRuntimeClasses{"node.k8s.io", "v1", "runtimeclasses"};

class PoliciesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const ResourceId* resource : {&kPods, &kReplicaSets, &kStatefulSets, &kDeployments,
                                       &kDisruptionBudgets, &kResourceQuotas}) {
      ASSERT_TRUE(cache_.Track(*resource));
    }
    budgets_.Start();
    quotas_.Start();
  }

  ApiResult<Object> Create(const ResourceId& resource, const std::string& name, const Json& spec) {
    const Json object = {{"metadata", {{"name", name}, {"labels", {{"app", "a"}}}}},
                         {"spec", spec}};
    auto created = api_.Create(resource, "default", object, {});
    executor_.RunFor(std::chrono::seconds(1));
    return created;
  }
  // "": it was created.
  std::string CreatePod(const std::string& name, const Json& resources = Json::object(),
                        const Json& more = Json::object()) {
    Json spec = {
        {"containers", Json::array({{{"name", "c"}, {"image", "i"}, {"resources", resources}}})}};
    spec.merge_patch(more);
    const auto created = Create(kPods, name, spec);
    return created ? "" : created.error().message;
  }
  Json Get(const ResourceId& resource, const std::string& name) {
    return **api_.Get(resource, "default", name);
  }
  Json Used(const std::string& quota) { return Get(kResourceQuotas, quota)["status"]["used"]; }
  void SetPhase(const std::string& name, const std::string& phase, bool ready) {
    Json pod = Get(kPods, name);
    pod["status"]["phase"] = phase;
    SetCondition(pod["status"], {"Ready", ready ? "True" : "False", "", ""}, clock_.Now());
    WriteOptions options;
    options.subresource = "status";
    ASSERT_TRUE(api_.Update(kPods, "default", name, pod, options));
    executor_.RunFor(std::chrono::seconds(1));
  }
  ApiResult<Object> Evict(const std::string& name) {
    WriteOptions options;
    options.subresource = "eviction";
    auto evicted = api_.Create(
        kPods, "default",
        {{"apiVersion", "policy/v1"}, {"kind", "Eviction"}, {"metadata", {{"name", name}}}},
        options);
    executor_.RunFor(std::chrono::seconds(1));
    return evicted;
  }

  FakeClock clock_;
  SimExecutor executor_{clock_};
  test::TestApi api_{clock_, &executor_};
  ObjectCache cache_{api_, executor_};
  DisruptionController budgets_{api_, cache_, executor_, clock_};
  QuotaController quotas_{api_, cache_, executor_, clock_};
};

Json Requests(const char* cpu) { return {{"requests", {{"cpu", cpu}}}}; }

TEST_F(PoliciesTest, QuotaCountsTheGrowthOfChangedObjects) {
  const ResourceId claims{"", "v1", "persistentvolumeclaims"};
  const ResourceId services{"", "v1", "services"};
  const ResourceId classes{"storage.k8s.io", "v1", "storageclasses"};
  ASSERT_TRUE(Create(kResourceQuotas, "q",
                     {{"hard", {{"requests.storage", "5Gi"}, {"services.loadbalancers", "1"}}}}));
  ASSERT_TRUE(api_.Create(classes, "",
                          {{"metadata", {{"name", "grows"}}},
                           {"provisioner", "a.io/b"},
                           {"allowVolumeExpansion", true}},
                          {}));
  const auto asks = [](const char* storage) -> Json {
    return {{"resources", {{"requests", {{"storage", storage}}}}}};
  };
  Json spec = asks("2Gi");
  spec["accessModes"] = {"ReadWriteOnce"};
  spec["storageClassName"] = "grows";
  ASSERT_TRUE(Create(claims, "c", spec));
  const auto patch = [&](const ResourceId& resource, const std::string& name, const Json& change) {
    const auto patched =
        api_.Patch(resource, "default", name, PatchType::kMerge, {{"spec", change}}, {});
    executor_.RunFor(std::chrono::seconds(1));
    return patched ? std::string() : patched.error().message;
  };
  EXPECT_EQ(patch(claims, "c", asks("4Gi")), "");
  EXPECT_EQ(Used("q")["requests.storage"], "4Gi");
  EXPECT_EQ(patch(claims, "c", asks("6Gi")),
            "persistentvolumeclaims \"c\" is forbidden: exceeded quota: q, requested: "
            "requests.storage=2Gi, used: requests.storage=4Gi, limited: requests.storage=5Gi");
  for (const char* name : {"a", "b"}) {
    ASSERT_TRUE(Create(services, name, {{"ports", Json::array({{{"port", 80}}})}}));
  }
  EXPECT_EQ(patch(services, "a", {{"type", "LoadBalancer"}}), "");
  EXPECT_EQ(Used("q")["services.loadbalancers"], "1");
  EXPECT_EQ(patch(services, "b", {{"type", "LoadBalancer"}}),
            "services \"b\" is forbidden: exceeded quota: q, requested: services.loadbalancers=1, "
            "used: services.loadbalancers=1, limited: services.loadbalancers=1");
  EXPECT_EQ(patch(services, "a", {{"sessionAffinity", "ClientIP"}}), "") << "takes nothing more";
}

TEST_F(PoliciesTest, PodThatEntersAScopeIsCounted) {
  ASSERT_TRUE(
      Create(kResourceQuotas, "short", {{"hard", {{"pods", "1"}}}, {"scopes", {"Terminating"}}}));
  ASSERT_EQ(CreatePod("a", Json::object(), {{"activeDeadlineSeconds", 60}}), "");
  ASSERT_EQ(CreatePod("b"), "");
  const auto refused = api_.Patch(kPods, "default", "b", PatchType::kMerge,
                                  {{"spec", {{"activeDeadlineSeconds", 60}}}}, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "pods \"b\" is forbidden: exceeded quota: short, requested: pods=1, used: pods=1, "
            "limited: pods=1");
}

TEST_F(PoliciesTest, QuotaCountsPodsWithCrossNamespaceAffinity) {
  ASSERT_TRUE(Create(kResourceQuotas, "far",
                     {{"hard", {{"pods", "1"}}}, {"scopes", {"CrossNamespacePodAffinity"}}}));
  const auto affinity = [](const char* kind, const char* field, const Json& terms) {
    return Json{{"affinity", {{kind, {{field, terms}}}}}};
  };
  const char* required = "requiredDuringSchedulingIgnoredDuringExecution";
  const Json near{{{"topologyKey", "zone"}}};
  ASSERT_EQ(CreatePod("a", Json::object(), affinity("podAffinity", required, near)), "");
  const Json named{{{"topologyKey", "zone"}, {"namespaces", {"other"}}}};
  ASSERT_EQ(CreatePod("b", Json::object(), affinity("podAffinity", required, named)), "");
  const Json selected{
      {{"weight", 1},
       {"podAffinityTerm", {{"topologyKey", "zone"}, {"namespaceSelector", Json::object()}}}}};
  EXPECT_NE(CreatePod("c", Json::object(),
                      affinity("podAntiAffinity", "preferredDuringSchedulingIgnoredDuringExecution",
                               selected))
                .find("exceeded quota: far"),
            std::string::npos);
}

TEST_F(PoliciesTest, PodThatLeavesAScopeReleasesItsQuota) {
  ASSERT_TRUE(
      Create(kResourceQuotas, "long", {{"hard", {{"pods", "1"}}}, {"scopes", {"NotTerminating"}}}));
  ASSERT_EQ(CreatePod("a"), "");
  EXPECT_EQ(Used("long"), (Json{{"pods", "1"}}));
  ASSERT_TRUE(api_.Patch(kPods, "default", "a", PatchType::kMerge,
                         {{"spec", {{"activeDeadlineSeconds", 60}}}}, {}));
  executor_.RunFor(std::chrono::seconds(5));
  EXPECT_EQ(Used("long"), (Json{{"pods", "0"}}));
}

TEST_F(PoliciesTest, QuotaLimitsPods) {
  ASSERT_TRUE(Create(kResourceQuotas, "small", {{"hard", {{"pods", "3"}, {"requests.cpu", "1"}}}}));
  EXPECT_EQ(Used("small"), (Json{{"pods", "0"}, {"requests.cpu", "0"}}));
  EXPECT_EQ(CreatePod("a", Requests("600m")), "");
  EXPECT_EQ(Used("small"), (Json{{"pods", "1"}, {"requests.cpu", "600m"}}));
  EXPECT_EQ(CreatePod("b", Requests("500m")),
            "pods \"b\" is forbidden: exceeded quota: small, requested: requests.cpu=500m, used: "
            "requests.cpu=600m, limited: requests.cpu=1");
  EXPECT_EQ(CreatePod("b"),
            "pods \"b\" is forbidden: failed quota: small: must specify requests.cpu for: c");
  SetPhase("a", "Succeeded", false);  // the object stays, its resources are free
  EXPECT_EQ(Used("small"), (Json{{"pods", "0"}, {"requests.cpu", "0"}}));
  EXPECT_EQ(CreatePod("b", Requests("1")), "");
  DeleteOptions now;
  now.grace_period_seconds = 0;
  ASSERT_TRUE(api_.Delete(kPods, "default", "b", now));
  executor_.RunFor(std::chrono::seconds(1));
  EXPECT_EQ(Used("small"), (Json{{"pods", "0"}, {"requests.cpu", "0"}}));
}

TEST_F(PoliciesTest, QuotaCountsObjectsOfAnyKind) {
  ASSERT_TRUE(Create(kResourceQuotas, "few",
                     {{"hard", {{"count/deployments.apps", 1}, {"configmaps", "2"}}}}));
  EXPECT_EQ(Used("few")["configmaps"], "1");  // the CA of the namespace
  const Json map = {{"metadata", {{"name", "m"}}}};
  ASSERT_TRUE(api_.Create(kConfigMaps, "default", map, {}));
  const auto refused = api_.Create(kConfigMaps, "default", {{"metadata", {{"name", "n"}}}}, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, 403);
  ASSERT_TRUE(api_.Delete(kConfigMaps, "default", "m", {}));
  executor_.RunFor(std::chrono::seconds(1));
  EXPECT_EQ(Used("few")["configmaps"], "1");
  EXPECT_TRUE(api_.Create(kConfigMaps, "default", map, {}));
  ASSERT_TRUE(api_.Patch(kResourceQuotas, "default", "few", PatchType::kMerge,
                         {{"spec", {{"hard", {{"configmaps", "9"}}}}}}, {}));
  executor_.RunFor(std::chrono::seconds(1));
  EXPECT_EQ(Get(kResourceQuotas, "few")["status"]["hard"]["configmaps"], "9");
}

TEST_F(PoliciesTest, QuotaOfScopesCountsOnlyPodsOfTheScope) {
  ASSERT_TRUE(
      Create(kResourceQuotas, "rest", {{"hard", {{"pods", "1"}}}, {"scopes", {"BestEffort"}}}));
  EXPECT_EQ(CreatePod("a", Requests("1")), "");
  EXPECT_EQ(CreatePod("b"), "");
  EXPECT_NE(CreatePod("c").find("exceeded quota: rest"), std::string::npos);
  EXPECT_EQ(Used("rest")["pods"], "1");
}

TEST_F(PoliciesTest, LimitRangesSetDefaultsAndRefuseExcess) {
  ASSERT_TRUE(Create(kLimitRanges, "range",
                     {{"limits", Json::array({{{"type", "Container"},
                                               {"default", {{"cpu", "500m"}}},
                                               {"defaultRequest", {{"cpu", "100m"}}},
                                               {"max", {{"cpu", "1"}}},
                                               {"min", {{"cpu", "50m"}}}},
                                              {{"type", "Pod"}, {"max", {{"cpu", "2"}}}}})}}));
  EXPECT_EQ(CreatePod("a"), "");
  const Json pod = Get(kPods, "a");
  EXPECT_EQ(pod["spec"]["containers"][0]["resources"],
            Json::parse(R"({"limits": {"cpu": "500m"}, "requests": {"cpu": "100m"}})"));
  EXPECT_EQ(AnnotationOf(pod, "kubernetes.io/limit-ranger"),
            "LimitRanger plugin set: cpu limit for container c; cpu request for container c");
  EXPECT_EQ(CreatePod("b", {{"limits", {{"cpu", "2"}}}}),
            "pods \"b\" is forbidden: maximum cpu usage per Container is 1, but limit is 2");
  EXPECT_EQ(CreatePod("b", Requests("10m")),
            "pods \"b\" is forbidden: minimum cpu usage per Container is 50m, but request is 10m");
}

TEST_F(PoliciesTest, RuntimeClassesSetOverheadAndNodeSelector) {
  const Json runtime = {{"metadata", {{"name", "vm"}}},
                        {"handler", "vm"},
                        {"overhead", {{"podFixed", {{"cpu", "250m"}}}}},
                        {"scheduling", {{"nodeSelector", {{"vm", "yes"}}}}}};
  ASSERT_TRUE(api_.Create(kRuntimeClasses, "", runtime, {}));
  EXPECT_EQ(CreatePod("a", Json::object(), {{"runtimeClassName", "vm"}}), "");
  EXPECT_EQ(Get(kPods, "a")["spec"]["overhead"]["cpu"], "250m");
  EXPECT_EQ(Get(kPods, "a")["spec"]["nodeSelector"]["vm"], "yes");
  EXPECT_EQ(CreatePod("b", Json::object(), {{"runtimeClassName", "other"}}),
            "pods \"b\" is forbidden: pod rejected: RuntimeClass \"other\" not found");
  EXPECT_NE(CreatePod("b", Json::object(), {{"overhead", {{"cpu", "1"}}}}), "");
}

TEST_F(PoliciesTest, DisruptionBudgetLimitsEvictions) {
  ASSERT_TRUE(Create(kDisruptionBudgets, "two",
                     {{"minAvailable", 2}, {"selector", {{"matchLabels", {{"app", "a"}}}}}}));
  for (const char* name : {"a", "b", "c"}) {
    ASSERT_EQ(CreatePod(name), "");
    SetPhase(name, "Running", true);
  }
  EXPECT_EQ(Get(kDisruptionBudgets, "two")["status"]["disruptionsAllowed"], 1);
  ASSERT_TRUE(Evict("a"));
  EXPECT_EQ(Get(kDisruptionBudgets, "two")["status"]["disruptionsAllowed"], 0);
  const auto refused = Evict("b");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, 429);
  EXPECT_EQ(refused.error().details["causes"][0],
            (Json{{"reason", "DisruptionBudget"},
                  {"message",
                   "The disruption budget two needs 2 healthy pods and has 2 "
                   "currently"}}));
  EXPECT_TRUE(api_.Get(kPods, "default", "b"));
  SetPhase("b", "Running", false);  // unready, but the others do not suffice
  EXPECT_FALSE(Evict("b"));
  ASSERT_TRUE(api_.Patch(kDisruptionBudgets, "default", "two", PatchType::kMerge,
                         {{"spec", {{"unhealthyPodEvictionPolicy", "AlwaysAllow"}}}}, {}));
  executor_.RunFor(std::chrono::seconds(1));
  EXPECT_TRUE(Evict("b"));
}

TEST_F(PoliciesTest, DisruptionBudgetReadsTheSizeOfItsControllers) {
  const Json set = {{"replicas", 4},
                    {"selector", {{"matchLabels", {{"app", "a"}}}}},
                    {"template",
                     {{"metadata", {{"labels", {{"app", "a"}}}}},
                      {"spec", {{"containers", Json::array({{{"name", "c"}, {"image", "i"}}})}}}}}};
  const auto owner = Create(kReplicaSets, "web", set);
  ASSERT_TRUE(owner) << owner.error().message;
  const Json pod = {{"metadata",
                     {{"name", "a"},
                      {"labels", {{"app", "a"}}},
                      {"ownerReferences", Json::array({{{"apiVersion", "apps/v1"},
                                                        {"kind", "ReplicaSet"},
                                                        {"name", "web"},
                                                        {"uid", UidOf(**owner)},
                                                        {"controller", true}}})}}},
                    {"spec", {{"containers", Json::array({{{"name", "c"}, {"image", "i"}}})}}}};
  ASSERT_TRUE(api_.Create(kPods, "default", pod, {}));
  SetPhase("a", "Running", true);
  ASSERT_TRUE(Create(kDisruptionBudgets, "most",
                     {{"maxUnavailable", "50%"}, {"selector", Json::object()}}));
  const Json status = Get(kDisruptionBudgets, "most")["status"];
  EXPECT_EQ(status["expectedPods"], 4);
  EXPECT_EQ(status["desiredHealthy"], 2);
  EXPECT_EQ(status["currentHealthy"], 1);
  EXPECT_EQ(status["disruptionsAllowed"], 0);
}

TEST_F(PoliciesTest, DisruptionBudgetForgetsAnEvictionThatDidNotHappen) {
  ASSERT_TRUE(Create(kDisruptionBudgets, "one",
                     {{"maxUnavailable", 1}, {"selector", {{"matchLabels", {{"app", "a"}}}}}}));
  ASSERT_EQ(CreatePod("a"), "");
  SetPhase("a", "Running", true);
  Json budget = Get(kDisruptionBudgets, "one");
  budget["status"]["disruptedPods"] = {{"a", "2026-01-01T00:00:00Z"}};
  WriteOptions options;
  options.subresource = "status";
  ASSERT_TRUE(api_.Update(kDisruptionBudgets, "default", "one", budget, options));
  executor_.RunFor(std::chrono::seconds(1));
  EXPECT_EQ(Get(kDisruptionBudgets, "one")["status"]["disruptionsAllowed"], 0);
  executor_.RunFor(std::chrono::minutes(3));
  const Json status = Get(kDisruptionBudgets, "one")["status"];
  EXPECT_EQ(status["disruptionsAllowed"], 1);
  EXPECT_FALSE(status.contains("disruptedPods"));
}

}  // namespace
}  // namespace berth::local::cluster
