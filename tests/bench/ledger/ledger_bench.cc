// ledger_bench WORKLOADS — what the ledger costs: each Workload waits, is admitted, has its pods
// ready and finishes. Processor time of a change on the thread that observes, processor time of a
// record on the ledger's thread, records a second, bytes of an attempt; then the same objects
// again, as after a restart, and a report of everything.
#include <charconv>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "admission/lifecycle/workload_lifecycle.h"
#include "api/reasons.h"
#include "base/system_clock.h"
#include "ledger/accounts.h"
#include "ledger/controller/observation.h"
#include "ledger/ledger.h"
#include "ledger/ledger_reader.h"
#include "tests/bench/support/process.h"

namespace berth::bench {
namespace {

constexpr int kStates = 4;
constexpr double kMicro = 1e6;

double ThreadCpuSeconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

WallTime At(int seconds) { return WallTime(std::chrono::seconds(1'767'225'600 + seconds)); }

// The states of one Workload.
std::vector<api::Workload> LifeOf(int number) {
  api::Workload workload;
  const std::string name = "job-train-" + std::to_string(number);
  workload.meta.namespace_name = "team-" + std::to_string(number % 30);
  workload.meta.name = name + "-5c1f2";
  workload.meta.uid = "0f159f1d-8ad4-4f61-9b91-" + std::to_string(100'000'000'000 + number);
  workload.meta.creation_timestamp = At(0);
  workload.meta.owner_references = {
      {.api_version = "batch/v1", .kind = "Job", .name = name, .controller = true}};
  workload.meta.labels = {{"kueue.x-k8s.io/job-uid", "x"}, {"team", "vision"}};
  workload.spec.queue_name = "main";
  workload.status.resource_requests = {{"main", {{"cpu", 8000}, {"nvidia.com/gpu", 1}}}};
  std::vector<api::Workload> states;
  api::WorkloadStatus& status = workload.status;
  admission::SetUnadmitted(status, api::kWaitingForQuota, "no quota", 1, At(1));
  states.push_back(workload);
  api::Admission admission{.cluster_queue = "gpus"};
  admission.pod_set_assignments.push_back({.name = "main",
                                           .flavors = {{"cpu", "h100"}, {"nvidia.com/gpu", "h100"}},
                                           .resource_usage = {{"cpu", 8000}, {"nvidia.com/gpu", 1}},
                                           .count = 1});
  admission::ReserveQuota(status, admission, {}, 1, At(60));
  states.push_back(workload);
  const auto set = [&](const char* type, const char* reason, int at) {
    api::SetCondition(status.conditions, {.type = type,
                                          .status = api::ConditionStatus::kTrue,
                                          .reason = reason,
                                          .last_transition_time = At(at)});
    states.push_back(workload);
  };
  set(api::kPodsReady, "Started", 65);
  set(api::kFinished, api::kSucceeded, 600);
  return states;
}

void Pace(ledger::Ledger& ledger) {
  if (ledger.stats().queued > ledger.queue_size() / 2) ledger.Flush();
}

struct Cost {
  double observing = 0;  // processor seconds
  double writing = 0;
  double wall = 0;
  ledger::LedgerStats stats;
};

Cost Observe(const std::string& path, const std::vector<std::vector<api::Workload>>& lives,
             bool again) {
  const SystemClock clock;
  auto ledger =
      ledger::Ledger::Open(clock, {.path = path, .limits = {.age = std::chrono::days(3650)}});
  if (!ledger) {
    std::fprintf(stderr, "%s\n", ledger.error().message.c_str());
    std::exit(1);
  }
  Cost cost;
  const double process = OwnCpuSeconds();
  const double thread = ThreadCpuSeconds();
  const SteadyTime start = clock.SteadyNow();
  for (int state = again ? kStates - 1 : 0; state < kStates; ++state) {
    for (const std::vector<api::Workload>& life : lives) {
      const auto place = static_cast<std::size_t>(state);
      const api::Workload* before = state == 0 || again ? nullptr : &life[place - 1];
      for (auto& record : ledger::NewsOf(before, life[place], At(600))) {
        (*ledger)->Append(std::move(record));
      }
      Pace(**ledger);
    }
  }
  cost.observing = ThreadCpuSeconds() - thread;
  (*ledger)->Flush();
  cost.wall = std::chrono::duration<double>(clock.SteadyNow() - start).count();
  cost.writing = OwnCpuSeconds() - process - (ThreadCpuSeconds() - thread);
  cost.stats = (*ledger)->stats();
  return cost;
}

void Show(const char* what, const Cost& cost) {
  const auto records = static_cast<double>(cost.stats.written);
  std::printf(
      "%-9s %8.0f records  %5.2f us a record observed  %5.2f us a record written  %7.0f records/s  "
      "%lld changed, %lld dropped\n",
      what, records, cost.observing / records * kMicro, cost.writing / records * kMicro,
      records / cost.wall, static_cast<long long>(cost.stats.changed),
      static_cast<long long>(cost.stats.dropped));
}

int Run(int workloads) {
  const ScratchFolder folder;
  const std::string path = folder.path() + "/ledger.db";
  std::vector<std::vector<api::Workload>> lives;
  lives.reserve(static_cast<std::size_t>(workloads));
  for (int i = 0; i < workloads; ++i) lives.push_back(LifeOf(i));
  Show("lives", Observe(path, lives, false));
  Show("again", Observe(path, lives, true));
  std::printf("file      %8.0f bytes an attempt\n",
              static_cast<double>(std::filesystem::file_size(path)) / workloads);
  const double start = OwnCpuSeconds();
  auto reader = ledger::LedgerReader::Open(path);
  const auto attempts = reader->Attempts({});
  const auto lines = ledger::MakeReport(*attempts, {}, ledger::ReportBy::kQueue, "",
                                        {0, ledger::ToSeconds(At(1000))});
  std::printf("report    %8zu attempts, %zu lines, %.2f s of processor time\n", attempts->size(),
              lines.size(), OwnCpuSeconds() - start);
  return 0;
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) {
  int workloads = 0;
  const std::string_view given = argc == 2 ? argv[1] : "";
  std::from_chars(given.data(), given.data() + given.size(), workloads);
  if (workloads < 1) {
    std::fprintf(stderr, "usage: ledger_bench WORKLOADS\n");
    return 2;
  }
  return berth::bench::Run(workloads);
}
