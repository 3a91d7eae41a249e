// Goal: the removal of the gate of elastic jobs is timed. Method: the ungater on the real API in
// memory, in virtual time; the test plays scheduler and Job controller.
#include "integrations/controller/slice_ungater.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "scenarios/world/sim_executor.h"
#include "tests/support/registry_transport.h"

namespace berth::integrations {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;

TEST(SliceUngaterTest, TheRemovalOfTheGateIsTimed) {
  FakeClock clock;
  SimExecutor executor(clock);
  kube::RegistryTransport api(executor, clock);
  kube::ApiClient client(api, executor);
  kube::Manager manager(client, executor);
  kube::Metrics metrics;
  SliceUngater ungater(manager, clock, &metrics);
  ungater.Watch(manager.AddController(ungater, {}));
  manager.StartInformers();
  manager.StartControllers();
  executor.RunFor(1s);
  api.Put("/apis/kueue.x-k8s.io/v1beta2/namespaces/team/workloads", Json::parse(R"({
      "metadata": {"name": "w", "annotations": {"kueue.x-k8s.io/elastic-job": "true",
        "kueue.x-k8s.io/workload-slice-name": "w"}},
      "spec": {"podSets": [
        {"name": "main", "count": 2, "template": {"spec": {"containers": [{"name": "c"}]}}}]},
      "status": {"conditions": [
          {"type": "QuotaReserved", "status": "True", "reason": "R", "message": "",
           "lastTransitionTime": "2026-01-01T00:00:00Z"},
          {"type": "Admitted", "status": "True", "reason": "R", "message": "",
           "lastTransitionTime": "2026-01-01T00:00:00Z"}],
        "admission": {"clusterQueue": "cq", "podSetAssignments": [{"name": "main", "count": 2}]}}})"));
  for (const char* name : {"a", "b"}) {
    Json pod = Json::parse(R"({
        "metadata": {"labels": {"kueue.x-k8s.io/podset": "main"},
          "annotations": {"kueue.x-k8s.io/workload-slice-name": "w"}},
        "spec": {"containers": [{"name": "c", "image": "i"}],
          "schedulingGates": [{"name": "kueue.x-k8s.io/elastic-job"}]},
        "status": {"phase": "Pending"}})");
    pod["metadata"]["name"] = name;
    api.Put("/api/v1/namespaces/team/pods", pod);
  }
  executor.RunFor(2s);
  EXPECT_THAT(metrics.Text(),
              ::testing::HasSubstr("kueue_pod_scheduling_gate_removal_seconds_count{"
                                   "cluster_queue=\"cq\",is_group=\"false\","
                                   "name=\"kueue.x-k8s.io/elastic-job\"} 2"));
}

}  // namespace
}  // namespace berth::integrations
