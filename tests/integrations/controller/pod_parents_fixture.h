// tests/integrations/controller/pod_parents_fixture.h — the job controllers of parents of pods,
// with the real API in memory and virtual time. The test plays webhooks, scheduler, kubelet,
// garbage collector and the objects' operators.
//
// Threads: one.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "integrations/controller/job_controllers.h"
#include "integrations/kind_catalogue.h"
#include "kube/runtime/manager.h"
#include "scenarios/world/sim_executor.h"
#include "tests/support/registry_transport.h"

namespace berth::integrations {

class PodParentsFixture : public ::testing::Test {
 protected:
  using Json = nlohmann::json;

  static constexpr char kPods[] = "/api/v1/namespaces/default/pods";
  static constexpr char kLeaderWorkerSets[] =
      "/apis/leaderworkerset.x-k8s.io/v1/namespaces/default/leaderworkersets";
  static constexpr char kStatefulSets[] = "/apis/apps/v1/namespaces/default/statefulsets";
  static constexpr char kWorkloads[] = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads";
  static constexpr char kLeaderWorkerSet[] = "leaderworkerset.x-k8s.io/leaderworkerset";

  // `kinds`: names of those that are managed.
  explicit PodParentsFixture(const std::vector<const char*>& kinds) {
    JobControllersOptions options{
        .pods = JobControllersOptions::Pods::kOfParents,
        .job = {.namespace_selector = DefaultManagedNamespaces("kueue-system")}};
    for (const char* kind : kinds) options.kinds.push_back(FindBuiltInKind(kind));
    controllers_.emplace(manager_, clock_, events_, std::move(options));
    PutOpenCrd("leaderworkerset.x-k8s.io", "LeaderWorkerSet", "leaderworkersets");
    api_.Put(
        "/apis/kueue.x-k8s.io/v1beta2/resourceflavors",
        {{"metadata", {{"name", "spot"}}}, {"spec", {{"nodeLabels", {{"capacity", "spot"}}}}}});
    manager_.StartInformers();
    manager_.StartControllers();
    Settle();
  }
  void Settle() { executor_.RunFor(std::chrono::seconds(40)); }

  // A kind that takes any fields.
  void PutOpenCrd(const std::string& group, const std::string& kind, const std::string& plural) {
    Json crd = Json::parse(R"({"metadata": {}, "spec": {"scope": "Namespaced",
        "versions": [{"name": "v1", "served": true, "storage": true,
          "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
          "subresources": {"status": {}}}]}})");
    crd["metadata"]["name"] = plural + "." + group;
    crd["spec"]["group"] = group;
    crd["spec"]["names"] = {
        {"kind", kind}, {"plural", plural}, {"singular", plural}, {"listKind", kind + "List"}};
    api_.Put("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd);
  }
  static Json OwnerOf(const Json& object, const char* kind, const char* api_version) {
    return {{"apiVersion", api_version},
            {"kind", kind},
            {"name", object["metadata"]["name"]},
            {"uid", object["metadata"]["uid"]},
            {"controller", true}};
  }
  static Json PodSpec() {
    return Json::parse(
        R"({"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]})");
  }
  // `owner` null: no object owns it.
  Json PutStatefulSet(const std::string& name, const Json& owner, const Json& labels) {
    Json set = {
        {"metadata", {{"name", name}, {"namespace", "default"}, {"labels", labels}}},
        {"spec",
         {{"replicas", 1},
          {"serviceName", name},
          {"selector", {{"matchLabels", {{"app", name}}}}},
          {"template", {{"metadata", {{"labels", {{"app", name}}}}}, {"spec", PodSpec()}}}}}};
    if (!owner.is_null()) set["metadata"]["ownerReferences"].push_back(owner);
    api_.Put(kStatefulSets, set);
    Settle();
    return Object(std::string(kStatefulSets) + "/" + name);
  }
  // null: there is no such object.
  Json Object(const std::string& path) {
    const Json* found = api_.Find(path);
    return found == nullptr ? Json() : *found;
  }
  Json Pod(const std::string& name) { return Object(std::string(kPods) + "/" + name); }
  Json Workload(const std::string& name) { return Object(std::string(kWorkloads) + "/" + name); }
  // Gives all pods of the Workload the flavor, with the conditions, as the scheduler does.
  void Admit(const std::string& name,
             const std::vector<std::string>& conditions = {"QuotaReserved", "Admitted"}) {
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

  FakeClock clock_;
  SimExecutor executor_{clock_};
  kube::RegistryTransport api_{executor_, clock_};
  kube::ApiClient client_{api_, executor_};
  kube::EventRecorder events_{
      client_, clock_, {.controller = "kueue-job", .first_api = kube::EventApi::kCore}};
  kube::Manager manager_{client_, executor_};
  std::optional<JobControllers> controllers_;
};

}  // namespace berth::integrations
