// A load of Kueue's performance tests (tests/bench/cluster/load_tests.h) against the whole of Berth
// and an API server with few cores, in virtual time.
//
//   simulate_load [--test NAME] [--share PERCENT] [--cores N] [--slowness FACTOR]
//                 [--requeue-interval MS] [--shadow 1] [--trace WORD]
//
// Prints one JSON object: times, evictions and what they bought (eviction_record.h), requests.
// --shadow: a shadow decides beside Berth; the
// object has its comparisons. --trace: the life of each
// Workload whose name contains WORD, on stderr. Deterministic, but for processor times.
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "admission/controller/shadow/shadow.h"
#include "kube/runtime/events.h"
#include "kube/runtime/metrics.h"
#include "program/controller_set.h"
#include "scenarios/world/embedded_api.h"
#include "scenarios/world/sim_executor.h"
#include "scenarios/world/sim_transport.h"
#include "tests/bench/cluster/kueue_load.h"
#include "tests/load/busy_server.h"
#include "tests/load/eviction_record.h"

namespace berth::sim {
namespace {

using namespace std::chrono_literals;

struct LoadOptions {
  const bench::LoadTest* test = bench::FindLoadTest("baseline");
  int share = 100;
  std::size_t cores = 2;
  double slowness = 1;
  std::chrono::milliseconds requeue_interval{1000};
  bool shadow = false;
  std::string trace;
};

// A program of the cluster: its connection and its manager.
struct Program {
  Program(local::Registry& registry, Executor& executor, BusyServer& server)
      : network(registry, executor, {.latency = 200us}),
        transport(network, server),
        client(transport, executor),
        manager(client, executor) {}

  SimTransport network;
  BusyTransport transport;
  kube::ApiClient client;
  kube::Manager manager;
};

// One line for each change of QuotaReserved, Evicted and Finished.
void Trace(kube::Manager& manager, const FakeClock& clock, const std::string& word) {
  manager.InformerFor<api::Workload>().AddHandler(
      {.on_add = {},
       .on_update =
           [&clock, word](const auto& before, const auto& workload) {
             if (workload->meta.name.find(word) == std::string::npos) return;
             for (const char* type : {"QuotaReserved", "Evicted", "Preempted", "Finished"}) {
               const auto* old = api::FindCondition(before->status.conditions, type);
               const auto* now = api::FindCondition(workload->status.conditions, type);
               if (now == nullptr || (old != nullptr && *old == *now)) continue;
               std::cerr
                   << std::chrono::duration<double>(clock.SteadyNow().time_since_epoch()).count()
                   << " " << workload->meta.name << " " << workload->meta.uid << " " << type
                   << (now->status == api::ConditionStatus::kTrue ? " True " : " False ")
                   << now->reason << ": " << now->message << "\n";
             }
           },
       .on_delete = {}});
}

const api::Condition* Turned(const api::Workload& before, const api::Workload& now,
                             const char* type) {
  if (api::IsTrue(before.status.conditions, type)) return nullptr;
  const api::Condition* condition = api::FindCondition(now.status.conditions, type);
  return condition != nullptr && condition->status == api::ConditionStatus::kTrue ? condition
                                                                                  : nullptr;
}

// "… a workload (UID: 123, JobUID: …" → "123".
std::string PreemptorIn(const std::string& message) {
  constexpr std::string_view kMark = "(UID: ";
  const std::size_t at = message.find(kMark);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + kMark.size();
  return message.substr(begin, message.find(',', begin) - begin);
}

// Tells `record` of what Workloads go through. All resources of the load are processors.
void Record(kube::Manager& manager, const Clock& clock, EvictionRecord& record) {
  const auto& queues = manager.InformerFor<api::ClusterQueue>();
  const auto reserve = [&record, &clock, &queues](const api::Workload& workload) {
    const api::Admission& admission = *workload.status.admission;
    const auto queue = queues.Get({"", admission.cluster_queue});
    std::int64_t amount = 0;
    for (const api::PodSetAssignment& pods : admission.pod_set_assignments) {
      for (const auto& [resource, used] : pods.resource_usage) amount += used;
    }
    record.Reserved(workload.meta.uid, queue == nullptr ? "" : queue->spec.cohort_name, amount,
                    clock.SteadyNow());
  };
  const auto change = [&record, &clock, reserve](const api::Workload& before,
                                                 const api::Workload& now) {
    if (Turned(before, now, "QuotaReserved") && now.status.admission) reserve(now);
    if (Turned(before, now, "Admitted")) record.Started(now.meta.uid);
    if (Turned(before, now, "Finished")) record.Ended(now.meta.uid);
    const api::Condition* evicted = Turned(before, now, "Evicted");
    if (evicted == nullptr) return;
    record.Evicted(now.meta.uid, bench::EvictionReasonOf(now), PreemptorIn(evicted->message),
                   clock.SteadyNow());
  };
  manager.InformerFor<api::Workload>().AddHandler(
      {.on_add =
           [&record, &clock](const auto& workload) {
             record.Created(workload->meta.uid, workload->spec.priority.value_or(0),
                            clock.SteadyNow());
           },
       .on_update = [change](const auto& before, const auto& now) { change(*before, *now); },
       .on_delete = {}});
}

// A shadow beside the controller, as a program of its own.
struct ShadowProgram {
  ShadowProgram(local::Registry& registry, const Clock& clock, Executor& executor,
                BusyServer& server, const admission::Configuration& configuration)
      : program(registry, executor, server),
        shadow(program.manager, clock, metrics, {.driver = configuration.admission.driver}) {
    program.manager.StartInformers();
    program.manager.StartControllers();
  }

  kube::Json Report(const Clock& clock) const {
    kube::Json report = kube::Json::parse(shadow.report().JsonText(clock.Now()));
    for (const char* list : {"differences", "agreements"}) report.erase(list);
    return report;
  }

  Program program;
  kube::Metrics metrics;
  admission::Shadow shadow;
};

[[noreturn]] void GiveUp(const std::string& why) {
  std::cerr << "simulate_load: " << why << "\n";
  std::_Exit(1);
}

int Run(const LoadOptions& options) {
  FakeClock clock;
  SimExecutor executor(clock);
  auto api = EmbeddedApi::Start(clock, {.deliver_on = &executor});
  if (!api) GiveUp(api.error().message);
  BusyServer server(executor, options.cores, options.slowness);

  Program controller((*api)->registry(), executor, server);
  kube::Metrics metrics;
  kube::EventRecorder events(controller.client, clock,
                             {.controller = "kueue-admission", .instance = "sim"});
  admission::Configuration configuration;
  configuration.admission.driver.wake_up_batch = options.requeue_interval;
  program::ControllerSet controllers(controller.manager, clock, events, metrics, configuration);
  controller.manager.StartInformers();
  controller.manager.StartControllers();

  std::optional<ShadowProgram> shadow;
  if (options.shadow) shadow.emplace((*api)->registry(), clock, executor, server, configuration);

  Program player((*api)->registry(), executor, server);
  bench::KueueLoad load(player.manager, clock, *options.test, options.share, GiveUp);
  EvictionRecord evictions;
  Record(player.manager, clock, evictions);
  if (!options.trace.empty()) Trace(player.manager, clock, options.trace);
  player.manager.StartInformers();
  player.manager.StartControllers();
  executor.RunFor(5s);

  load.MakeQueues();
  executor.RunUntil([&] { return !load.has_open_creates(); });
  const SteadyTime start = clock.SteadyNow();
  load.StartGenerators();
  bool done = false;
  while (!done && clock.SteadyNow() - start < 1h) {
    executor.RunFor(100ms);
    done = load.IsDone();
  }
  kube::Json report = load.Report(clock.SteadyNow() - start);
  report["done"] = done;
  report["evictions_by_cause"] = evictions.Table();
  report["busy_s"] = std::chrono::duration<double>(server.busy()).count();
  report["cpu_s"] = static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
  if (shadow) report["shadow"] = shadow->Report(clock);
  for (const auto& [request, count] : server.counts()) {
    if (count >= 100) report["requests"][request] = count;
  }
  std::cout << report.dump(1) << std::endl;
  std::_Exit(done ? 0 : 1);  // half of the time would go into freeing memory
}

}  // namespace
}  // namespace berth::sim

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  berth::sim::LoadOptions options;
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
    if (words[i] == "--test") options.test = berth::bench::FindLoadTest(words[i + 1]);
    if (words[i] == "--shadow") options.shadow = words[i + 1] != "0";
    if (words[i] == "--share") options.share = std::atoi(words[i + 1].c_str());
    if (words[i] == "--trace") options.trace = words[i + 1];
    if (words[i] == "--cores") options.cores = std::strtoul(words[i + 1].c_str(), nullptr, 10);
    if (words[i] == "--requeue-interval") {
      options.requeue_interval = std::chrono::milliseconds(std::atoi(words[i + 1].c_str()));
    }
    if (words[i] == "--slowness") options.slowness = std::strtod(words[i + 1].c_str(), nullptr);
  }
  if (options.test == nullptr) berth::sim::GiveUp("--test: baseline, topology or queues");
  return berth::sim::Run(options);
}
