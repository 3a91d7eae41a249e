// berth_bench_load BERTH WORKLOADS QUEUES [--admitted PERCENT] [--shared-templates]
//                  [--wait SECONDS]
// The cost of a start of `berth controller` with many waiting Workloads: its processor time and
// memory until every Workload is in its store and its queue, and until it writes its first
// admission. The API server is a separate process that lists generated objects over HTTPS.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "api/codec/codec.h"
#include "api/codec/json_text.h"
#include "api/codec/shared_parts.h"
#include "tests/bench/load/list_server.h"
#include "tests/bench/load/workload_text.h"
#include "tests/bench/support/process.h"

namespace berth::bench {
namespace {

struct Options {
  std::string berth;
  LoadSize size;
  int wait_seconds = 600;
};

struct Figures {
  double wall = 0;
  double cpu = 0;
  double megabytes = 0;
  double peak_megabytes = 0;
};

[[noreturn]] void GiveUp(const std::string& why) {
  std::fprintf(stderr, "berth_bench_load: %s\n", why.c_str());
  std::exit(1);  // NOLINT(concurrency-mt-unsafe)
}

// The resident bytes of one decoded Workload with all its parts.
double BytesPerObject(const LoadSize& size) {
  constexpr std::size_t kSample = 20'000;
  const WorkloadText text(size);
  api::SharedParts parts;
  using Kept = std::vector<std::shared_ptr<const api::Workload>>;
  const auto sample = [&](std::size_t count, Kept& kept) {
    std::string one;
    api::JsonText json;
    for (std::size_t number = 0; number < count; ++number) {
      one.clear();
      text.AppendWorkload(one, number);
      const Result<const api::JsonNode*> root = json.Parse(one);
      if (!root) GiveUp(root.error().message);
      Result<api::Workload> decoded = api::Decode<api::Workload>({**root, parts});
      if (!decoded) GiveUp(decoded.error().message);
      kept.push_back(std::make_shared<const api::Workload>(*std::move(decoded)));
    }
  };
  Kept kept;
  kept.reserve(2 * kSample);
  sample(100, kept);
  const double before = ResidentMegabytes(getpid());
  sample(kSample, kept);
  return (ResidentMegabytes(getpid()) - before) * 1024 * 1024 / kSample;
}

Figures Look(pid_t process, std::chrono::steady_clock::time_point start) {
  Figures figures;
  figures.cpu = CpuSeconds(process);
  figures.megabytes = ResidentMegabytes(process);
  figures.peak_megabytes = PeakResidentMegabytes(process);
  figures.wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return figures;
}

// The next byte of `news`; 0: the time is up, or the controller has ended.
char Hear(int news, Child& controller, std::chrono::steady_clock::time_point end) {
  while (controller.IsRunning() && std::chrono::steady_clock::now() < end) {
    pollfd wanted{news, POLLIN, 0};
    if (poll(&wanted, 1, 100) != 1) continue;
    char what = 0;
    if (read(news, &what, 1) == 1) return what;
  }
  return 0;
}

void Print(const char* what, const Figures& figures, const LoadSize& size) {
  const double count = static_cast<double>(size.workloads);
  std::printf(
      "%-22s %6.1f s of CPU, %5.1f us each; %6.1f s; resident %6.0f MB, peak %6.0f MB, %5.0f bytes "
      "each\n",
      what, figures.cpu, figures.cpu * 1e6 / count, figures.wall, figures.megabytes,
      figures.peak_megabytes, figures.megabytes * 1024 * 1024 / count);
  std::fflush(stdout);
}

Options Parse(int argc, char** argv) {
  Options options;
  std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() < 3) {
    GiveUp(
        "usage: berth_bench_load BERTH WORKLOADS QUEUES [--admitted PERCENT] "
        "[--shared-templates] [--wait SECONDS]");
  }
  options.berth = words[0];
  options.size.workloads = std::strtoul(words[1].c_str(), nullptr, 10);
  options.size.queues = std::strtoul(words[2].c_str(), nullptr, 10);
  options.size.cohorts = options.size.queues <= 30 ? 5 : 30;
  for (std::size_t i = 3; i < words.size(); ++i) {
    if (words[i] == "--shared-templates") {
      options.size.templates = Templates::kShared;
    } else if (words[i] == "--admitted" && i + 1 < words.size()) {
      options.size.admitted_percent = std::strtoul(words[++i].c_str(), nullptr, 10);
    } else if (words[i] == "--wait" && i + 1 < words.size()) {
      options.wait_seconds = std::atoi(words[++i].c_str());
    } else {
      GiveUp("what is " + words[i] + "?");
    }
  }
  if (options.size.workloads == 0 || options.size.queues == 0) GiveUp("nothing to load");
  return options;
}

int Main(int argc, char** argv) {
  const Options options = Parse(argc, argv);
  const ScratchFolder folder;
  const std::string kubeconfig = folder.path() + "/kubeconfig";
  const std::string log = folder.path() + "/log";
  int news[2];
  if (pipe(news) != 0) GiveUp("no pipe");
  Child server = Child::Fork([&] { return ServeLists(options.size, kubeconfig, news[1]); });
  while (!std::filesystem::exists(kubeconfig)) {
    if (!server.IsRunning()) GiveUp("the list server ended");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  const auto start = std::chrono::steady_clock::now();
  const auto end = start + std::chrono::seconds(options.wait_seconds);
  Child controller = Child::Run({options.berth, "controller", "--kubeconfig", kubeconfig,
                                 "--metrics-listen", "", "--health-listen", "", "--webhook-listen",
                                 "", "--visibility-listen", "", "--no-leader-elect"},
                                log);
  Figures loaded;
  Figures decided;
  while (loaded.cpu == 0 || decided.cpu == 0) {  // in either order
    const char what = Hear(news[0], controller, end);
    if (what == 0) break;
    (what == 'w' ? loaded : decided) = Look(controller.process(), start);
  }
  const bool gone = !controller.IsRunning();
  kill(controller.process(), SIGKILL);
  const int status = controller.Wait();
  if (gone) GiveUp("the controller ended early, exit status " + std::to_string(status));
  const double server_cpu = CpuSeconds(server.process());
  server.Stop();
  if (loaded.cpu == 0) {
    std::system(("tail -n 20 " + log).c_str());  // NOLINT
    GiveUp("the Workloads were not loaded in time");
  }
  std::string one;
  WorkloadText(options.size).AppendWorkload(one, options.size.workloads - 1);
  std::printf("%zu Workloads of %zu bytes in %zu queues, %zu %% admitted; server %.1f s of CPU\n",
              options.size.workloads, one.size(), options.size.queues,
              options.size.admitted_percent, server_cpu);
  Print("listed, in the queues", loaded, options.size);
  if (decided.cpu > 0) Print("first admission written", decided, options.size);
  std::printf("an object alone: %.0f bytes\n", BytesPerObject(options.size));
  return 0;
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) { return berth::bench::Main(argc, argv); }
