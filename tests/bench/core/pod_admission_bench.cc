// pod_admission_bench [PODS] — queued pods compared with Jobs, all controllers against the API
// server in memory, in virtual time: admitted and started per CPU second, in groups of ten pods and
// as Jobs of one pod; and the memory of a queued pod beside its spec.
//
// The CPU of the API server counts in both.
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <malloc.h>
#include <nlohmann/json.hpp>

#include "api/codec/shared_parts.h"
#include "integrations/pods/queued_pod.h"
#include "kube/runtime/events.h"
#include "kube/runtime/metrics.h"
#include "program/controller_set.h"
#include "scenarios/world/embedded_api.h"
#include "scenarios/world/sim_executor.h"
#include "scenarios/world/sim_transport.h"
#include "tests/bench/support/process.h"

namespace berth::bench {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;

constexpr int kGroup = 10;

[[noreturn]] void GiveUp(const std::string& why) {
  std::cerr << "pod_admission_bench: " << why << "\n";
  std::_Exit(1);
}

std::string NameOf(const char* kind, int number) {
  return std::string(kind) + "-" + std::to_string(number);
}

Json PodSpec() {
  return {{"restartPolicy", "Never"},
          {"containers",
           Json::array({{{"name", "c"},
                         {"image", "registry.example.com/train:1"},
                         {"resources", {{"requests", {{"cpu", "1"}, {"memory", "1Gi"}}}}}}})}};
}

// A pod in the form that its review leaves.
Json PodOf(int number) {
  const std::string group = NameOf("group", number / kGroup);
  Json spec = PodSpec();
  spec["schedulingGates"] = {{{"name", "kueue.x-k8s.io/admission"}},
                             {{"name", "kueue.x-k8s.io/topology"}}};
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata",
           {{"name", group + "-" + std::to_string(number % kGroup)},
            {"namespace", "default"},
            {"finalizers", {"kueue.x-k8s.io/managed"}},
            {"labels",
             {{"kueue.x-k8s.io/queue-name", "lq"},
              {"kueue.x-k8s.io/managed", "true"},
              {"kueue.x-k8s.io/pod-group-name", group}}},
            {"annotations",
             {{"kueue.x-k8s.io/pod-group-total-count", std::to_string(kGroup)},
              {"kueue.x-k8s.io/role-hash", "c0ffee00"}}}}},
          {"spec", std::move(spec)}};
}

Json JobOf(int number) {
  return {{"apiVersion", "batch/v1"},
          {"kind", "Job"},
          {"metadata",
           {{"name", NameOf("job", number)},
            {"namespace", "default"},
            {"labels", {{"kueue.x-k8s.io/queue-name", "lq"}}}}},
          {"spec", {{"suspend", true}, {"template", {{"spec", PodSpec()}}}}}};
}

class World {
 public:
  explicit World(int cpu) {
    auto api = EmbeddedApi::Start(clock_, {.deliver_on = &executor_});
    if (!api) GiveUp(api.error().message);
    api_ = *std::move(api);
    network_ = std::make_unique<sim::SimTransport>(api_->registry(), executor_,
                                                   sim::SimTransportOptions{.latency = 200us});
    client_ = std::make_unique<kube::ApiClient>(*network_, executor_);
    manager_ = std::make_unique<kube::Manager>(*client_, executor_);
    events_ = std::make_unique<kube::EventRecorder>(
        *client_, clock_, kube::EventRecorder::Options{.controller = "kueue-admission"});
    admission::Configuration configuration;
    configuration.frameworks = {"batch/job", "pod"};
    controllers_ = std::make_unique<program::ControllerSet>(*manager_, clock_, *events_, metrics_,
                                                            configuration);
    manager_->StartInformers();
    manager_->StartControllers();
    Apply({{"apiVersion", "kueue.x-k8s.io/v1beta2"},
           {"kind", "ResourceFlavor"},
           {"metadata", {{"name", "f"}}},
           {"spec", {{"nodeLabels", {{"pool", "f"}}}}}});
    Json resources = Json::array({{{"name", "cpu"}, {"nominalQuota", std::to_string(cpu)}},
                                  {{"name", "memory"}, {"nominalQuota", "1000Ti"}}});
    Apply(
        {{"apiVersion", "kueue.x-k8s.io/v1beta2"},
         {"kind", "ClusterQueue"},
         {"metadata", {{"name", "cq"}}},
         {"spec",
          {{"namespaceSelector", Json::object()},
           {"resourceGroups",
            Json::array({{{"coveredResources", {"cpu", "memory"}},
                          {"flavors", Json::array({{{"name", "f"},
                                                    {"resources", std::move(resources)}}})}}})}}}});
    Apply({{"apiVersion", "kueue.x-k8s.io/v1beta2"},
           {"kind", "LocalQueue"},
           {"metadata", {{"name", "lq"}, {"namespace", "default"}}},
           {"spec", {{"clusterQueue", "cq"}}}});
    executor_.RunFor(5s);
  }

  void Apply(const Json& object) {
    const auto done = api_->Apply(object);
    if (!done) GiveUp(done.error().message);
  }

  // Objects of the plural whose JSON `counts`.
  int Count(const std::string& path, const std::function<bool(const Json&)>& counts) {
    int count = 0;
    const auto answer = client_list(path);
    for (const Json& item : answer.at("items")) count += counts(item) ? 1 : 0;
    return count;
  }

  void RunFor(Duration span) { executor_.RunFor(span); }

 private:
  Json client_list(const std::string& path) {
    Json list;
    network_->Send({"GET", path, "", nullptr}, 30s, [&list](Result<kube::ApiResponse> answer) {
      if (answer && answer->body != nullptr) list = *answer->body;
    });
    executor_.RunFor(10ms);
    return list;
  }

  FakeClock clock_;
  SimExecutor executor_{clock_};
  std::unique_ptr<EmbeddedApi> api_;
  std::unique_ptr<sim::SimTransport> network_;
  std::unique_ptr<kube::ApiClient> client_;
  std::unique_ptr<kube::Manager> manager_;
  kube::Metrics metrics_;
  std::unique_ptr<kube::EventRecorder> events_;
  std::unique_ptr<program::ControllerSet> controllers_;
};

// Pods started per CPU second.
double RateOf(int pods, const char* what, const std::string& path, Json (*make)(int),
              const std::function<bool(const Json&)>& started) {
  World world(pods);
  for (int i = 0; i < pods; ++i) world.Apply(make(i));
  const double begin = OwnCpuSeconds();
  for (int second = 0; second < 600; second += 10) {
    world.RunFor(10s);
    if (second % 60 == 0 && world.Count(path, started) == pods) break;
  }
  const double took = OwnCpuSeconds() - begin;
  const int done = world.Count(path, started);
  if (done != pods) GiveUp(std::string(what) + ": only " + std::to_string(done) + " started");
  std::printf("%-18s %6d pods %8.2f CPU s %8.0f pods per CPU s\n", what, pods, took, pods / took);
  return pods / took;
}

void MeasureMemory() {
  constexpr int kPods = 10000;
  const std::string text = PodOf(0).dump();
  const std::size_t spec = PodOf(0)["spec"].dump().size();
  api::SharedParts parts;
  std::vector<integrations::QueuedPodPtr> pods;
  pods.reserve(kPods);
  const std::size_t before = mallinfo2().uordblks;
  for (int i = 0; i < kPods; ++i) {
    const Json object = PodOf(i);
    auto pod = integrations::DecodeQueuedPod(object);
    if (!pod) GiveUp(pod.error().message);
    pods.push_back(std::make_shared<const integrations::QueuedPod>(*std::move(pod)));
  }
  const std::size_t each = (mallinfo2().uordblks - before) / kPods;
  std::printf("memory of a queued pod: %zu bytes, of which its spec as text %zu (object %zu)\n",
              each, spec, text.size());
}

int Run(int pods) {
  MeasureMemory();
  const double jobs = RateOf(pods, "Jobs", "/apis/batch/v1/jobs", JobOf,
                             [](const Json& job) { return !job["spec"].value("suspend", false); });
  const double groups = RateOf(pods, "groups of ten", "/api/v1/pods", PodOf, [](const Json& pod) {
    return !pod["spec"].contains("schedulingGates");
  });
  std::printf("ratio %.2f (at least 0.50)\n", groups / jobs);
  return groups / jobs >= 0.5 ? 0 : 1;
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) {
  const int code = berth::bench::Run(argc > 1 ? std::atoi(argv[1]) : 10000);
  std::fflush(stdout);
  std::_Exit(code);
}
