// How fast the embedded API server is on this machine: start, memory, durable creates, reads, watch
// delivery. `berth_bench_apiserver [SECONDS [creates]]` prints one line per figure. The server is
// a process of its own: "server" and "client" are the processor time that each took per request. If
// SECONDS is long, the last line is the memory of many objects.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>
#include <signal.h>
#include <unistd.h>

#include "local/apiserver/api_server.h"
#include "net/client.h"
#include "net/io_pool.h"
#include "tests/bench/support/load.h"
#include "tests/bench/support/process.h"

namespace berth::local {
namespace {

using Instant = std::chrono::steady_clock::time_point;

double Since(Instant start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::string JobBody(const std::string& name) {
  const Json container{{"name", "c"},
                       {"image", "busybox"},
                       {"resources", {{"requests", {{"cpu", "1"}, {"memory", "1Gi"}}}}}};
  const Json pod{{"restartPolicy", "Never"}, {"containers", Json::array({container})}};
  return Json{{"apiVersion", "batch/v1"},
              {"kind", "Job"},
              {"metadata", {{"name", name}, {"labels", {{"kueue.x-k8s.io/queue-name", "q"}}}}},
              {"spec", {{"suspend", true}, {"template", {{"spec", pod}}}}}}
      .dump();
}

std::string MapBody(const std::string& name) {
  return Json{{"apiVersion", "v1"},
              {"kind", "ConfigMap"},
              {"metadata", {{"name", name}}},
              {"data", {{"filler", std::string(1500, 'x')}}}}
      .dump();
}

struct Address {
  std::string url;
  std::string ca_pem;
  std::string token;
  double start_seconds = 0;
};

// The child process: serves until SIGTERM.
int Serve(const std::string& folder, int report) {
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTERM);
  sigprocmask(SIG_BLOCK, &stop, nullptr);
  ApiServerOptions options;
  options.data_directory = folder;
  const Instant start = std::chrono::steady_clock::now();
  auto server = ApiServer::Start(options);
  if (!server) {
    std::fprintf(stderr, "%s\n", server.error().message.c_str());
    return 1;
  }
  const std::string text = Json{
      {"url", (*server)->url()},
      {"ca", (*server)->ca_pem()},
      {"token", (*server)->token()},
      {"start", Since(start)}}.dump();
  if (write(report, text.data(), text.size()) < 0) return 1;
  close(report);
  int signal = 0;
  sigwait(&stop, &signal);
  (*server)->Stop();
  return 0;
}

Address ReadAddress(int report) {
  std::string text;
  char buffer[4096];
  for (ssize_t count = 0; (count = read(report, buffer, sizeof(buffer))) > 0;) {
    text.append(buffer, static_cast<std::size_t>(count));
  }
  close(report);
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) std::exit(1);  // NOLINT(concurrency-mt-unsafe): before any thread
  return {json["url"], json["ca"], json["token"], json["start"]};
}

class Bench {
 public:
  Bench(double seconds, pid_t server, Address address)
      : seconds_(seconds), server_(server), address_(std::move(address)) {}

  void Creates(const char* what, const char* path, std::string (*body)(const std::string&),
               int writers);
  void Reads(int readers);
  void Watches(int watchers);
  int created() const { return created_; }

 private:
  std::unique_ptr<net::HttpClient> NewClient();

  const double seconds_;
  const pid_t server_;
  const Address address_;
  net::IoPool io_{1};
  int round_ = 0;
  int created_ = 0;
};

std::unique_ptr<net::HttpClient> Bench::NewClient() {
  net::ClientOptions options;
  options.base_url = address_.url;
  options.ca_pem = address_.ca_pem;
  options.bearer_token = address_.token;
  auto client = net::HttpClient::Create(io_, std::move(options));
  if (!client) std::abort();
  return *std::move(client);
}

void Bench::Creates(const char* what, const char* path, std::string (*body)(const std::string&),
                    int writers) {
  const std::string prefix = "r" + std::to_string(++round_) + "-";
  const auto client = NewClient();
  const double server_before = bench::CpuSeconds(server_);
  const double client_before = bench::OwnCpuSeconds();
  bench::LoadResult load = bench::RunLoad(
      *client, {.writers = writers, .seconds = seconds_}, [&](int writer, int number) {
        const std::string name = prefix + std::to_string(writer) + "-" + std::to_string(number);
        return bench::JsonRequest("POST", path, body(name));
      });
  created_ += load.done;
  const double server = bench::CpuSeconds(server_) - server_before;
  const double client_cpu = bench::OwnCpuSeconds() - client_before;
  std::printf(
      "durable creates, %s, %2d writers: %6.0f/s  p50 %.2f ms  p99 %.2f ms  server %.0f us  "
      "client %.0f us each  failed %d %s\n",
      what, writers, load.done / load.seconds, bench::Percentile(load.milliseconds, 0.5),
      bench::Percentile(load.milliseconds, 0.99), server / load.done * 1e6,
      client_cpu / load.done * 1e6, load.failed, load.first_failure.c_str());
  std::fflush(stdout);
}

void Bench::Reads(int readers) {
  const auto client = NewClient();
  const double server_before = bench::CpuSeconds(server_);
  const bench::LoadResult load = bench::RunLoad(
      *client, {.writers = readers, .seconds = seconds_},
      [](int, int) { return bench::JsonRequest("GET", "/api/v1/namespaces/default"); });
  std::printf("gets, %d readers: %.0f/s  server %.0f us each\n", readers, load.done / load.seconds,
              (bench::CpuSeconds(server_) - server_before) / load.done * 1e6);
}

// Measures the time from the request of a write to the event at each watcher.
void Bench::Watches(int watchers) {
  constexpr const char* kMaps = "/api/v1/namespaces/kube-public/configmaps";
  constexpr int kWrites = 100;
  const std::string prefix = "w" + std::to_string(watchers) + "-";
  struct Shared {
    std::mutex mutex;
    Instant sent;
    std::vector<double> delays;
  };
  auto shared = std::make_shared<Shared>();
  const auto client = NewClient();
  std::vector<std::unique_ptr<net::StreamHandle>> handles;
  for (int i = 0; i < watchers; ++i) {
    net::StreamCallbacks callbacks;
    callbacks.on_head = [](int, const net::Headers&) {};
    callbacks.on_data = [shared](std::string_view) {
      const std::lock_guard lock(shared->mutex);
      shared->delays.push_back(Since(shared->sent) * 1000);
    };
    callbacks.on_end = [](const Status&) {};
    handles.push_back(client->Open(
        bench::JsonRequest("GET", std::string(kMaps) + "?watch=true&sendInitialEvents=false&"
                                                       "resourceVersionMatch=NotOlderThan"),
        std::chrono::seconds(60), callbacks));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  for (int i = 0; i < kWrites; ++i) {
    {
      const std::lock_guard lock(shared->mutex);
      shared->sent = std::chrono::steady_clock::now();
    }
    const auto written =
        client->SendAndWait(bench::JsonRequest("POST", kMaps, MapBody(prefix + std::to_string(i))),
                            std::chrono::seconds(30));
    if (!written) std::printf("%s\n", written.error().message.c_str());
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  for (const auto& handle : handles) handle->Cancel();
  const std::lock_guard lock(shared->mutex);
  std::printf(
      "watch delivery (from the request to the event), %3d watchers: %zu of %d events  p50 "
      "%.2f ms  p99 %.2f ms\n",
      watchers, shared->delays.size(), kWrites * watchers, bench::Percentile(shared->delays, 0.5),
      bench::Percentile(shared->delays, 0.99));
}

int Run(double seconds, bool creates_only) {
  const bench::ScratchFolder folder;
  int report[2];
  if (pipe(report) != 0) return 1;
  bench::Child server = bench::Child::Fork([&] {
    close(report[0]);
    return Serve(folder.path(), report[1]);
  });
  close(report[1]);
  const Address address = ReadAddress(report[0]);
  std::printf("start to ready: %.0f ms\n", address.start_seconds * 1000);
  std::printf("resident when idle: %.0f MB\n", bench::ResidentMegabytes(server.process()));
  int created = 0;
  {
    Bench bench(seconds, server.process(), address);
    for (const int writers : {1, 8, 32}) {
      bench.Creates("ConfigMaps of 1.5 kB", "/api/v1/namespaces/default/configmaps", MapBody,
                    writers);
    }
    for (const int writers : {1, 8, 32}) {
      bench.Creates("Jobs", "/apis/batch/v1/namespaces/default/jobs", JobBody, writers);
    }
    if (!creates_only) {
      bench.Reads(32);
      bench.Watches(1);
      bench.Watches(200);
    }
    created = bench.created();
  }
  std::printf("resident at the end: %.0f MB with %d objects created\n",
              bench::ResidentMegabytes(server.process()), created);
  return server.Stop();
}

}  // namespace
}  // namespace berth::local

int main(int argc, char** argv) {
  const bool creates_only = argc > 2 && std::string(argv[2]) == "creates";
  return berth::local::Run(argc > 1 ? std::atof(argv[1]) : 3, creates_only);
}
