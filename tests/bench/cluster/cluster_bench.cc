// The load of Kueue's scheduler performance test, on any API server under any manager: 5 cohorts of
// 6 ClusterQueues, in each 350 small, 100 medium and 50 large Workloads that come at their own
// pace.
//
//   berth_bench_cluster KUBECONFIG [--share PERCENT] [--timeout SECONDS]
//
// Prints one JSON object. --share: that part of the Workloads of each class (100).
//
// Source: Kueue test/performance/scheduler, configs/baseline.
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "api/queues.h"
#include "base/system_clock.h"
#include "kube/runtime/controller_program.h"
#include "tests/bench/cluster/job_player.h"

namespace berth::bench {
namespace {

using kube::Json;
using std::chrono::milliseconds;

constexpr int kCohorts = 5;
constexpr int kQueuesOfCohort = 6;
constexpr std::chrono::milliseconds kLook{100};

struct WorkloadClass {
  const char* name;
  int count;  // of each ClusterQueue
  milliseconds interval;
  milliseconds run_time;
  int priority;
  const char* cpu;
};

constexpr WorkloadClass kClasses[] = {
    {"small", 350, milliseconds(100), milliseconds(200), 50, "1"},
    {"medium", 100, milliseconds(500), milliseconds(500), 100, "5"},
    {"large", 50, milliseconds(1200), milliseconds(1000), 200, "20"},
};

[[noreturn]] void GiveUp(const std::string& why) {
  std::cerr << "berth_bench_cluster: " << why << "\n";
  std::_Exit(1);
}

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

Json WorkloadOf(const WorkloadClass& kind, const std::string& queue, int number) {
  const Json container = {
      {"name", "c"}, {"image", "none"}, {"resources", {{"requests", {{"cpu", kind.cpu}}}}}};
  const Json pods = {
      {"name", "main"},
      {"count", 1},
      {"template",
       {{"spec", {{"restartPolicy", "Never"}, {"containers", Json::array({container})}}}}}};
  Json workload =
      Object("Workload", queue + "-" + kind.name + "-" + std::to_string(number),
             {{"queueName", queue}, {"priority", kind.priority}, {"podSets", Json::array({pods})}});
  workload["metadata"]["labels"] = {{kClassLabel, kind.name}};
  return workload;
}

class Bench {
 public:
  Bench(kube::ControllerProgram& program, const Clock& clock, int share)
      : program_(program), client_(program.client()), clock_(clock), share_(share) {
    std::map<std::string, Duration> run_times;
    for (const WorkloadClass& kind : kClasses) run_times[kind.name] = kind.run_time;
    player_ = std::make_unique<JobPlayer>(program.manager(), clock, std::move(run_times));
    queues_ = &program.manager().InformerFor<api::ClusterQueue>();
  }

  void MakeQueues();
  void StartGenerators();
  // Whether every Workload has finished and every queue says that nothing waits or reserves.
  bool IsDone() const;
  Json Report(Duration wall) const;
  bool has_open_creates() const { return open_creates_ > 0; }
  std::size_t finished() const { return player_->finished(); }
  std::size_t expected() const { return expected_; }

 private:
  void Create(const api::ResourceKind& kind, const std::string& space, const Json& object);
  void Generate(const WorkloadClass& kind, const std::string& queue, int number, int count,
                SteadyTime due);

  kube::ControllerProgram& program_;
  kube::ApiClient& client_;
  const Clock& clock_;
  const int share_;
  std::size_t expected_ = 0;
  std::size_t open_creates_ = 0;
  std::vector<std::string> names_;
  std::unique_ptr<JobPlayer> player_;
  const kube::Informer<api::ClusterQueue>* queues_ = nullptr;
};

void Bench::Create(const api::ResourceKind& kind, const std::string& space, const Json& object) {
  ++open_creates_;
  client_.Create(kind, space, object, {}, [this](const Result<kube::JsonPtr>& made) {
    if (!made) GiveUp("a create was refused: " + made.error().message);
    --open_creates_;
  });
}

void Bench::MakeQueues() {
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

void Bench::StartGenerators() {
  for (const std::string& name : names_) {
    Create(api::KindOf<api::LocalQueue>(), name,
           Object("LocalQueue", name, {{"clusterQueue", name}}));
    for (const WorkloadClass& kind : kClasses) {
      const int count = kind.count * share_ / 100;
      expected_ += static_cast<std::size_t>(count);
      Generate(kind, name, 0, count, clock_.SteadyNow());
    }
  }
}

void Bench::Generate(const WorkloadClass& kind, const std::string& queue, int number, int count,
                     SteadyTime due) {
  if (number >= count) return;
  client_.executor().PostAfter(due - clock_.SteadyNow(), [=, this, &kind] {
    client_.Create(api::KindOf<api::Workload>(), queue, WorkloadOf(kind, queue, number), {},
                   [=, this, &kind](const Result<kube::JsonPtr>& made) {
                     if (!made) GiveUp("a Workload was refused: " + made.error().message);
                     Generate(kind, queue, number + 1, count, clock_.SteadyNow() + kind.interval);
                   });
  });
}

bool Bench::IsDone() const {
  if (player_->finished() < expected_) return false;
  for (const auto& queue : queues_->objects()) {
    if (queue->status.pending_workloads != 0 || queue->status.reserving_workloads != 0)
      return false;
  }
  return true;
}

double Mean(const std::vector<double>& values) {
  return values.empty() ? 0
                        : std::accumulate(values.begin(), values.end(), 0.0) /
                              static_cast<double>(values.size());
}

Json Bench::Report(Duration wall) const {
  Json result = {{"wall_s", std::chrono::duration<double>(wall).count()},
                 {"workloads", expected_},
                 {"classes", Json::object()}};
  for (const auto& [name, seen] : player_->results()) {
    result["classes"][name] = {{"finished", seen.finished},
                               {"admission_s", Mean(seen.admission_seconds)},
                               {"evictions", seen.evictions},
                               {"most_evictions_of_one", seen.most_evictions},
                               {"held_before_eviction_s", Mean(seen.held_seconds)}};
  }
  return result;
}

int Run(const std::string& kubeconfig, int share, std::chrono::seconds timeout) {
  const SystemClock clock;
  Result<kube::KubeConfig> config = kube::FindKubeConfig({.path = kubeconfig, .context = ""});
  if (!config) GiveUp(config.error().message);
  kube::ControllerProgramOptions options;
  options.config = *std::move(config);
  options.identity = "bench";
  options.transport.max_connections = 64;
  auto program = kube::ControllerProgram::Create(clock, std::move(options));
  if (!program) GiveUp(program.error().message);
  std::unique_ptr<Bench> bench;
  (*program)->RunOnStrand([&] { bench = std::make_unique<Bench>(**program, clock, share); });
  (*program)->Start([] {});
  if (const Status running = (*program)->WaitUntilRunning(timeout); !running) {
    GiveUp(running.error().message);
  }
  (*program)->RunOnStrand([&] { bench->MakeQueues(); });
  for (bool open = true; open;) {
    std::this_thread::sleep_for(kLook);
    (*program)->RunOnStrand([&] { open = bench->has_open_creates(); });
  }
  const SteadyTime start = clock.SteadyNow();
  (*program)->RunOnStrand([&] { bench->StartGenerators(); });
  bool done = false;
  std::size_t finished = 0;
  while (!done && clock.SteadyNow() - start < timeout) {
    std::this_thread::sleep_for(kLook);
    (*program)->RunOnStrand([&] {
      done = bench->IsDone();
      finished = bench->finished();
    });
  }
  const Duration wall = clock.SteadyNow() - start;
  if (!done) {
    std::cerr << "not done in time: " << finished << " of " << bench->expected() << " finished\n";
  }
  std::cout << bench->Report(wall).dump(1) << "\n";
  (*program)->Stop();
  return done ? 0 : 1;
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  std::string kubeconfig;
  int share = 100;
  int timeout = 900;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool has_value = i + 1 < words.size();
    if (words[i] == "--share" && has_value) {
      share = std::atoi(words[++i].c_str());
    } else if (words[i] == "--timeout" && has_value) {
      timeout = std::atoi(words[++i].c_str());
    } else {
      kubeconfig = words[i];
    }
  }
  if (kubeconfig.empty()) berth::bench::GiveUp("which cluster? give a kubeconfig");
  return berth::bench::Run(kubeconfig, share, std::chrono::seconds(timeout));
}
