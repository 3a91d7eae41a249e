// tests/integrations/controller/described_jobs_fixture.h — a JobSet and its controllers on the real
// API in memory, in virtual time; the test plays scheduler and JobSet's controller.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "integrations/controller/job_controllers.h"
#include "integrations/kind_catalogue.h"
#include "kube/runtime/manager.h"
#include "scenarios/world/sim_executor.h"
#include "tests/support/registry_transport.h"

namespace berth::integrations::described_jobs_test {

using Json = nlohmann::json;
using namespace std::chrono_literals;

inline constexpr char kCrds[] = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
inline constexpr char kJobSets[] = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets";
inline constexpr char kJobSet[] = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets/train";
inline constexpr char kWorkloadsPath[] =
    "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads";
inline constexpr char kFlavorsPath[] = "/apis/kueue.x-k8s.io/v1beta2/resourceflavors";

// Open, as Kueue's tests need no more of it.
inline Json JobSetCrd() {
  return Json::parse(R"({
    "metadata": {"name": "jobsets.jobset.x-k8s.io"},
    "spec": {"group": "jobset.x-k8s.io", "scope": "Namespaced",
      "names": {"kind": "JobSet", "plural": "jobsets", "singular": "jobset", "listKind": "JobSetList"},
      "versions": [{"name": "v1alpha2", "served": true, "storage": true,
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
        "subresources": {"status": {}}}]}})");
}

inline Json JobSet() {
  return Json::parse(R"({
    "metadata": {"name": "train", "namespace": "default", "labels": {"kueue.x-k8s.io/queue-name": "lq"}},
    "spec": {"suspend": true, "unknown": {"kept": [1, 2]}, "replicatedJobs": [
      {"name": "driver", "replicas": 1, "template": {"spec": {"template": {"spec": {
        "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]}}}}},
      {"name": "workers", "replicas": 2, "template": {"spec": {"parallelism": 3, "completions": 3,
        "template": {"spec": {"nodeSelector": {"pool": "a"},
          "containers": [{"name": "c", "image": "i", "resources": {"requests": {"nvidia.com/gpu": "1"}}}]}}}}}]}})");
}

class DescribedJobsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    controllers_.emplace(
        manager_, clock_, events_,
        JobControllersOptions{
            .kinds = {FindBuiltInKind("jobset.x-k8s.io/jobset")},
            .job = {.namespace_selector = DefaultManagedNamespaces("kueue-system")},
            .concurrency = concurrency_});
    api_.Put(kFlavorsPath, {{"metadata", {{"name", "spot"}}},
                            {"spec",
                             {{"nodeLabels", {{"capacity", "spot"}}},
                              {"tolerations", {{{"key", "spot"}, {"operator", "Exists"}}}}}}});
  }
  void Start() {
    manager_.StartInformers();
    manager_.StartControllers();
    Settle();
  }
  void Settle() { executor_.RunFor(40s); }
  void Submit(const Json& job = JobSet()) {
    api_.Put(kJobSets, job);
    Settle();
  }
  Json Job() { return *api_.Find(kJobSet); }
  // The messages of the events with the reason.
  std::vector<std::string> Told(const std::string& reason) {
    std::vector<std::string> messages;
    for (const auto& request : api_.requests()) {
      if (request.method != "POST" || request.path.find("/events") == std::string::npos) continue;
      if (request.body["reason"] == reason) messages.push_back(request.body["message"]);
    }
    return messages;
  }
  void ExpectRest() {
    const std::size_t requests = api_.requests().size();
    executor_.RunFor(60s);
    EXPECT_EQ(api_.requests().size(), requests) << "nothing spins";
  }
  std::string WorkloadPath() {
    for (const auto& request : api_.requests()) {
      if (request.method == "POST" && request.path == kWorkloadsPath) {
        return std::string(kWorkloadsPath) + "/" +
               request.body["metadata"]["name"].get<std::string>();
      }
    }
    return "";
  }
  Json Workload() { return *api_.Find(WorkloadPath()); }
  // Applies as the scheduler does, so that a later apply without the field removes it.
  void Apply(const std::vector<std::string>& conditions) {
    Apply(conditions,
          {{{"name", "driver"}, {"count", 1}, {"flavors", {{"cpu", "spot"}}}},
           {{"name", "workers"}, {"count", 6}, {"flavors", {{"nvidia.com/gpu", "spot"}}}}});
  }
  void Apply(const std::vector<std::string>& conditions, const Json& assignments) {
    Json workload = Workload();
    workload.erase("spec");
    workload["metadata"].erase("managedFields");
    workload["status"] = {
        {"admission", {{"clusterQueue", "cq"}, {"podSetAssignments", assignments}}}};
    for (const std::string& type : conditions) {
      workload["status"]["conditions"].push_back({{"type", type},
                                                  {"status", "True"},
                                                  {"reason", "Test"},
                                                  {"message", "said by the test"},
                                                  {"lastTransitionTime", "2026-01-01T00:00:00Z"}});
    }
    client_.Patch(
        api::KindOf<api::Workload>(), {"default", workload["metadata"]["name"]},
        kube::PatchType::kApply, workload,
        {.field_manager = "kueue-admission", .force = kube::Force::kYes, .subresource = "status"},
        [](const Result<kube::JsonPtr>& done) { EXPECT_TRUE(done); });
    Settle();
  }
  void Status(const Json& status) {
    Json job = Job();
    job["status"] = status;
    api_.Put(kJobSets, job);
    Settle();
  }
  static Json TemplateOf(const Json& job, std::size_t index) {
    return job["spec"]["replicatedJobs"][index]["template"]["spec"]["template"];
  }

  // The concurrency of the controllers; set before SetUp.
  std::map<std::string, std::size_t> concurrency_;
  FakeClock clock_;
  SimExecutor executor_{clock_};
  kube::RegistryTransport api_{executor_, clock_};
  kube::ApiClient client_{api_, executor_};
  kube::EventRecorder events_{
      client_, clock_, {.controller = "kueue-job", .first_api = kube::EventApi::kCore}};
  kube::Manager manager_{client_, executor_};
  std::optional<JobControllers> controllers_;
};

}  // namespace berth::integrations::described_jobs_test
