// condition_bench — the cost of matchConditions in the embedded API: microseconds of CPU for all
// conditions of a webhook of manifests/webhook and one write, median of nine rounds. The writes are
// those that Berth's controller and Kubernetes' Job controller send.
#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "local/apiserver/webhooks/match_conditions.h"
#include "tests/bench/support/process.h"
#include "tests/support/project_manifests.h"

namespace berth::bench {
namespace {

using Json = nlohmann::json;

constexpr int kRounds = 9;
constexpr int kOperations = 5000;

constexpr char kJob[] = R"({
  "apiVersion": "batch/v1", "kind": "Job",
  "metadata": {"name": "j", "namespace": "n", "uid": "u", "labels": {
      "kueue.x-k8s.io/queue-name": "q", "kueue.x-k8s.io/priority-class": "p"}},
  "spec": {"suspend": true, "parallelism": 4, "completions": 4, "template": {
      "metadata": {"labels": {"a": "b"}},
      "spec": {"restartPolicy": "Never", "containers": [
          {"name": "c", "image": "none", "resources": {"requests": {"cpu": "1"}}}]}}}})";

constexpr char kWorkload[] = R"({
  "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",
  "metadata": {"name": "w", "namespace": "n", "uid": "u"},
  "spec": {"queueName": "q", "podSets": [{"name": "main", "count": 4, "template": {"spec": {
      "restartPolicy": "Never", "containers": [
          {"name": "c", "image": "none", "resources": {"requests": {"cpu": "1"}}}]}}}]},
  "status": {
      "admission": {"clusterQueue": "cq", "podSetAssignments": [{"name": "main", "count": 4,
          "flavors": {"cpu": "f"}, "resourceUsage": {"cpu": "4"}}]},
      "conditions": [
          {"type": "QuotaReserved", "status": "True"}, {"type": "Admitted", "status": "True"}]}})";

struct Write {
  const char* name;
  const char* hook;
  Json object;
  Json old;  // null: a creation
};

std::vector<Write> Writes() {
  const Json job = Json::parse(kJob);
  Json running = job;
  running["spec"]["suspend"] = false;
  const Json admitted = Json::parse(kWorkload);
  Json pending = admitted;
  pending.erase("status");
  Json ready = admitted;
  ready["status"]["conditions"].push_back({{"type", "PodsReady"}, {"status", "True"}});
  return {{"a Job is created", "mjob.kb.io", job, nullptr},
          {"a Job is created", "vjob.kb.io", job, nullptr},
          {"a Job starts", "vjob.kb.io", running, job},
          {"a Workload is admitted", "vworkload.kb.io", admitted, pending},
          {"the pods of a Workload are ready", "vworkload.kb.io", ready, admitted}};
}

double MicrosecondsOf(const Json& hook, const Write& write) {
  const Json request = {{"operation", write.old.is_null() ? "CREATE" : "UPDATE"},
                        {"userInfo", {{"username", "ann"}}}};
  std::array<double, kRounds> times{};
  for (double& time : times) {
    const double begin = OwnCpuSeconds();
    for (int i = 0; i < kOperations; ++i) {
      (void)local::EvaluateConditions(hook,
                                      {.object = &write.object,
                                       .old_object = write.old.is_null() ? nullptr : &write.old,
                                       .request = [&request] { return &request; }});
    }
    time = (OwnCpuSeconds() - begin) * 1e6 / kOperations;
  }
  std::nth_element(times.begin(), times.begin() + kRounds / 2, times.end());
  return times[kRounds / 2];
}

int Run() {
  const auto manifests = ReadProjectManifests("manifests/webhook/webhooks.yaml");
  if (!manifests) {
    std::printf("%s\n", manifests.error().message.c_str());
    return 1;
  }
  std::printf("%-36s %-18s %12s\n", "write", "webhook", "µs");
  for (const Write& write : Writes()) {
    for (const Json& configuration : *manifests) {
      for (const Json& hook : configuration.value("webhooks", Json::array())) {
        if (hook.value("name", "") != write.hook) continue;
        std::printf("%-36s %-18s %12.2f\n", write.name, write.hook, MicrosecondsOf(hook, write));
      }
    }
  }
  return 0;
}

}  // namespace
}  // namespace berth::bench

int main() { return berth::bench::Run(); }
