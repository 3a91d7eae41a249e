#include "tests/bench/cluster/kueue_load.h"

#include <numeric>
#include <utility>

#include <nlohmann/json.hpp>

namespace berth::bench {

using kube::Json;
using std::chrono::milliseconds;

struct KueueLoad::WorkloadClass {
  const char* name;
  int count;  // the number in each ClusterQueue
  milliseconds interval;
  milliseconds run_time;
  int priority;
  const char* cpu;
};

namespace {

constexpr int kCohorts = 5;
constexpr int kQueuesOfCohort = 6;

Json Object(const char* kind, const std::string& name, Json spec) {
  return {{"apiVersion", "kueue.x-k8s.io/v1beta2"},
          {"kind", kind},
          {"metadata", {{"name", name}}},
          {"spec", std::move(spec)}};
}

Json ClusterQueueOf(const std::string& name, const std::string& cohort) {
  const Json cpu = {{"name", "cpu"}, {"nominalQuota", "20"}, {"borrowingLimit", "100"}};
  const Json flavors = Json::array({{{"name", "rf"}, {"resources", Json::array({cpu})}}});
  return Object(
      "ClusterQueue", name,
      {{"cohortName", cohort},
       {"namespaceSelector", Json::object()},
       {"preemption", {{"reclaimWithinCohort", "Any"}, {"withinClusterQueue", "LowerPriority"}}},
       {"resourceGroups", Json::array({{{"coveredResources", {"cpu"}}, {"flavors", flavors}}})}});
}

Json WorkloadOf(const std::string& kind, int priority, const std::string& cpu,
                const std::string& queue, int number) {
  const Json container = {
      {"name", "c"}, {"image", "none"}, {"resources", {{"requests", {{"cpu", cpu}}}}}};
  const Json pods = {
      {"name", "main"},
      {"count", 1},
      {"template",
       {{"spec", {{"restartPolicy", "Never"}, {"containers", Json::array({container})}}}}}};
  Json workload =
      Object("Workload", queue + "-" + kind + "-" + std::to_string(number),
             {{"queueName", queue}, {"priority", priority}, {"podSets", Json::array({pods})}});
  workload["metadata"]["labels"] = {{kClassLabel, kind}};
  return workload;
}

double Mean(const std::vector<double>& values) {
  return values.empty() ? 0
                        : std::accumulate(values.begin(), values.end(), 0.0) /
                              static_cast<double>(values.size());
}

}  // namespace

const std::vector<KueueLoad::WorkloadClass>& KueueLoad::Classes() {
  static const std::vector<WorkloadClass> classes = {
      {"small", 350, milliseconds(100), milliseconds(200), 50, "1"},
      {"medium", 100, milliseconds(500), milliseconds(500), 100, "5"},
      {"large", 50, milliseconds(1200), milliseconds(1000), 200, "20"},
  };
  return classes;
}

std::map<std::string, Duration> KueueLoad::RunTimes() {
  std::map<std::string, Duration> run_times;
  for (const WorkloadClass& kind : Classes()) run_times[kind.name] = kind.run_time;
  return run_times;
}

KueueLoad::KueueLoad(kube::Manager& manager, const Clock& clock, int share,
                     std::function<void(const std::string& error)> refused)
    : client_(manager.client()),
      clock_(clock),
      share_(share),
      refused_(std::move(refused)),
      player_(manager, clock, RunTimes()),
      queues_(manager.InformerFor<api::ClusterQueue>()) {}

void KueueLoad::Create(const api::ResourceKind& kind, const std::string& space,
                       const Json& object) {
  ++open_creates_;
  client_.Create(kind, space, object, {}, [this](const Result<kube::JsonPtr>& made) {
    --open_creates_;
    if (!made) refused_(made.error().message);
  });
}

void KueueLoad::MakeQueues() {
  constexpr api::ResourceKind kNamespace{"", "v1", "Namespace", "namespaces", false};
  Create(api::KindOf<api::ResourceFlavor>(), "", Object("ResourceFlavor", "rf", Json::object()));
  for (int cohort = 0; cohort < kCohorts; ++cohort) {
    for (int queue = 0; queue < kQueuesOfCohort; ++queue) {
      const std::string name = "cq-" + std::to_string(cohort) + "-" + std::to_string(queue);
      names_.push_back(name);
      Create(kNamespace, "",
             {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", name}}}});
      Create(api::KindOf<api::ClusterQueue>(), "",
             ClusterQueueOf(name, "cohort-" + std::to_string(cohort)));
    }
  }
}

void KueueLoad::StartGenerators() {
  for (const std::string& name : names_) {
    Create(api::KindOf<api::LocalQueue>(), name,
           Object("LocalQueue", name, {{"clusterQueue", name}}));
    for (const WorkloadClass& kind : Classes()) {
      const int count = kind.count * share_ / 100;
      expected_ += static_cast<std::size_t>(count);
      Generate(kind, name, 0, count, clock_.SteadyNow());
    }
  }
}

void KueueLoad::Generate(const WorkloadClass& kind, const std::string& queue, int number, int count,
                         SteadyTime due) {
  if (number >= count) return;
  client_.executor().PostAfter(due - clock_.SteadyNow(), [=, this, &kind] {
    client_.Create(api::KindOf<api::Workload>(), queue,
                   WorkloadOf(kind.name, kind.priority, kind.cpu, queue, number), {},
                   [=, this, &kind](const Result<kube::JsonPtr>& made) {
                     if (!made) return refused_(made.error().message);
                     Generate(kind, queue, number + 1, count, clock_.SteadyNow() + kind.interval);
                   });
  });
}

bool KueueLoad::IsDone() const {
  if (player_.finished() < expected_) return false;
  for (const auto& queue : queues_.objects()) {
    if (queue->status.pending_workloads != 0 || queue->status.reserving_workloads != 0)
      return false;
  }
  return true;
}

Json KueueLoad::Report(Duration wall) const {
  Json result = {{"wall_s", std::chrono::duration<double>(wall).count()},
                 {"workloads", expected_},
                 {"classes", Json::object()}};
  for (const auto& [name, seen] : player_.results()) {
    result["classes"][name] = {{"finished", seen.finished},
                               {"admission_s", Mean(seen.admission_seconds)},
                               {"evictions", seen.evictions},
                               {"most_evictions_of_one", seen.most_evictions},
                               {"held_before_eviction_s", Mean(seen.held_seconds)}};
  }
  return result;
}

}  // namespace berth::bench
