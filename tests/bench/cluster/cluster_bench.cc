// A load of Kueue's scheduler performance tests (load_tests.h) on any API server under any manager.
//
//   berth_bench_cluster KUBECONFIG [--test NAME] [--share PERCENT] [--timeout SECONDS]
//   [--create-only]
//
// Prints one JSON object. --share: that part of the Workloads of each class (100). --create-only:
// ends when the queues and Workloads are created.
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/system_clock.h"
#include "kube/runtime/controller_program.h"
#include "tests/bench/cluster/kueue_load.h"

namespace berth::bench {
namespace {

constexpr std::chrono::milliseconds kLook{100};

[[noreturn]] void GiveUp(const std::string& why) {
  std::cerr << "berth_bench_cluster: " << why << "\n";
  std::_Exit(1);
}

int Run(const std::string& kubeconfig, const LoadTest& test, int share,
        std::chrono::seconds timeout, bool create_only) {
  const SystemClock clock;
  Result<kube::KubeConfig> config = kube::FindKubeConfig({.path = kubeconfig, .context = ""});
  if (!config) GiveUp(config.error().message);
  kube::ControllerProgramOptions options;
  options.config = *std::move(config);
  options.identity = "bench";
  options.transport.max_connections = 64;
  auto program = kube::ControllerProgram::Create(clock, std::move(options));
  if (!program) GiveUp(program.error().message);
  std::unique_ptr<KueueLoad> load;
  (*program)->RunOnStrand([&] {
    load = std::make_unique<KueueLoad>(
        (*program)->manager(), clock, test, share,
        [](const std::string& error) { GiveUp("the API server refused an object: " + error); });
  });
  (*program)->Start([](const std::string&) {});
  if (const Status running = (*program)->WaitUntilRunning(timeout); !running) {
    GiveUp(running.error().message);
  }
  (*program)->RunOnStrand([&] { load->MakeQueues(); });
  for (bool open = true; open;) {
    std::this_thread::sleep_for(kLook);
    (*program)->RunOnStrand([&] { open = load->has_open_creates(); });
  }
  const SteadyTime start = clock.SteadyNow();
  (*program)->RunOnStrand([&] { load->StartGenerators(); });
  bool done = false;
  std::size_t finished = 0;
  while (!done && clock.SteadyNow() - start < timeout) {
    std::this_thread::sleep_for(kLook);
    (*program)->RunOnStrand([&] {
      done = create_only ? load->AreCreated() : load->IsDone();
      finished = load->finished();
    });
  }
  const Duration wall = clock.SteadyNow() - start;
  if (!done) {
    std::cerr << "not done in time: " << finished << " of " << load->expected() << " finished\n";
  }
  std::cout << load->Report(wall).dump(1) << "\n";
  (*program)->Stop();
  return done ? 0 : 1;
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  std::string kubeconfig;
  std::string test = "baseline";
  int share = 100;
  int timeout = 900;
  bool create_only = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool has_value = i + 1 < words.size();
    if (words[i] == "--test" && has_value) {
      test = words[++i];
    } else if (words[i] == "--share" && has_value) {
      share = std::atoi(words[++i].c_str());
    } else if (words[i] == "--timeout" && has_value) {
      timeout = std::atoi(words[++i].c_str());
    } else if (words[i] == "--create-only") {
      create_only = true;
    } else {
      kubeconfig = words[i];
    }
  }
  if (kubeconfig.empty()) berth::bench::GiveUp("which cluster? give a kubeconfig");
  const berth::bench::LoadTest* known = berth::bench::FindLoadTest(test);
  if (known == nullptr) berth::bench::GiveUp("--test: one of " + berth::bench::LoadTestNames());
  return berth::bench::Run(kubeconfig, *known, share, std::chrono::seconds(timeout), create_only);
}
