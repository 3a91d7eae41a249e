// How fast the embedded API server is on this machine: start, memory, durable creates, reads, watch
// delivery. `berth_bench_apiserver [SECONDS]` prints one line per figure.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "local/apiserver/server.h"
#include "net/client.h"
#include "net/io_pool.h"

namespace berth::local {
namespace {

using Instant = std::chrono::steady_clock::time_point;

double Since(Instant start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double Percentile(std::vector<double>& values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
}

double ResidentMegabytes() {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("VmRSS:", 0) == 0) return std::strtod(line.c_str() + 6, nullptr) / 1024;
  }
  return 0;
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

class Bench {
 public:
  explicit Bench(double seconds) : seconds_(seconds) {}

  int Run();

 private:
  using Body = std::string (*)(const std::string& name);

  void Creates(const char* what, const char* path, Body body, int writers);
  void Reads(int readers);
  void Watches(int watchers);
  std::unique_ptr<net::HttpClient> NewClient();
  int Send(net::HttpClient& client, const char* method, const std::string& target,
           std::string body = "");

  const double seconds_;
  std::unique_ptr<net::IoPool> io_ = std::make_unique<net::IoPool>(2);
  std::unique_ptr<ApiServer> server_;
  int round_ = 0;
};

std::unique_ptr<net::HttpClient> Bench::NewClient() {
  net::ClientOptions options;
  options.base_url = server_->url();
  options.ca_pem = server_->ca_pem();
  options.bearer_token = server_->token();
  auto client = net::HttpClient::Create(*io_, std::move(options));
  if (!client) std::abort();
  return *std::move(client);
}

int Bench::Send(net::HttpClient& client, const char* method, const std::string& target,
                std::string body) {
  net::Request request;
  request.method = method;
  request.target = target;
  request.body = std::move(body);
  if (!request.body.empty()) request.headers.Add("Content-Type", "application/json");
  const auto response = client.SendAndWait(std::move(request), std::chrono::seconds(30));
  return response ? response->status : 0;
}

void Bench::Creates(const char* what, const char* path, Body body, int writers) {
  std::atomic<int> done{0};
  std::atomic<int> failed{0};
  std::vector<double> latencies;
  std::mutex mutex;
  const std::string prefix = "r" + std::to_string(++round_) + "-";
  const auto client = NewClient();
  const Instant start = std::chrono::steady_clock::now();
  std::vector<std::thread> threads;
  for (int t = 0; t < writers; ++t) {
    threads.emplace_back([&, t] {
      std::vector<double> mine;
      for (int i = 0; Since(start) < seconds_; ++i) {
        const Instant before = std::chrono::steady_clock::now();
        const std::string name = prefix + std::to_string(t) + "-" + std::to_string(i);
        if (Send(*client, "POST", path, body(name)) == 201) {
          ++done;
        } else {
          ++failed;
        }
        mine.push_back(Since(before) * 1000);
      }
      const std::lock_guard lock(mutex);
      latencies.insert(latencies.end(), mine.begin(), mine.end());
    });
  }
  for (std::thread& thread : threads) thread.join();
  const double rate = done / Since(start);
  std::printf("durable creates, %s, %2d writers: %6.0f/s  p50 %.2f ms  p99 %.2f ms  failed %d\n",
              what, writers, rate, Percentile(latencies, 0.5), Percentile(latencies, 0.99),
              failed.load());
}

void Bench::Reads(int readers) {
  std::atomic<int> done{0};
  const auto client = NewClient();
  const Instant start = std::chrono::steady_clock::now();
  std::vector<std::thread> threads;
  for (int t = 0; t < readers; ++t) {
    threads.emplace_back([&] {
      while (Since(start) < seconds_) {
        if (Send(*client, "GET", "/api/v1/namespaces/default") == 200) ++done;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::printf("gets, %d readers: %.0f/s\n", readers, done / Since(start));
}

// From the answer to the write to the arrival at each watcher.
void Bench::Watches(int watchers) {
  constexpr const char* kMaps = "/api/v1/namespaces/kube-public/configmaps";
  struct Shared {
    std::mutex mutex;
    Instant sent;
    std::vector<double> delays;
  };
  auto shared = std::make_shared<Shared>();
  const auto client = NewClient();
  std::vector<std::unique_ptr<net::StreamHandle>> handles;
  for (int i = 0; i < watchers; ++i) {
    net::Request request;
    request.method = "GET";
    request.target = std::string(kMaps) +
                     "?watch=true&sendInitialEvents=false&"
                     "resourceVersionMatch=NotOlderThan";
    net::StreamCallbacks callbacks;
    callbacks.on_head = [](int, const net::Headers&) {};
    callbacks.on_data = [shared](std::string_view) {
      const std::lock_guard lock(shared->mutex);
      shared->delays.push_back(Since(shared->sent) * 1000);
    };
    callbacks.on_end = [](const Status&) {};
    handles.push_back(client->Open(std::move(request), std::chrono::seconds(60), callbacks));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  constexpr int kWrites = 100;
  for (int i = 0; i < kWrites; ++i) {
    {
      const std::lock_guard lock(shared->mutex);
      shared->sent = std::chrono::steady_clock::now();
    }
    Send(*client, "POST", kMaps, MapBody("w" + std::to_string(i)));
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  for (const auto& handle : handles) handle->Cancel();
  const std::lock_guard lock(shared->mutex);
  std::printf(
      "watch delivery (from the request to the event), %d watchers: %zu of %d events  p50 "
      "%.2f ms  p99 %.2f ms\n",
      watchers, shared->delays.size(), kWrites * watchers, Percentile(shared->delays, 0.5),
      Percentile(shared->delays, 0.99));
}

int Bench::Run() {
  std::string folder = (std::filesystem::temp_directory_path() / "berth-bench-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return 1;
  ApiServerOptions options;
  options.data_directory = folder;
  const Instant start = std::chrono::steady_clock::now();
  auto started = ApiServer::Start(options);
  if (!started) {
    std::fprintf(stderr, "%s\n", started.error().message.c_str());
    return 1;
  }
  server_ = *std::move(started);
  std::printf("start to ready: %.0f ms\n", Since(start) * 1000);
  std::printf("resident when idle: %.0f MB\n", ResidentMegabytes());
  for (const int writers : {1, 8, 32}) {
    Creates("ConfigMaps of 1.5 kB", "/api/v1/namespaces/default/configmaps", MapBody, writers);
  }
  for (const int writers : {1, 8, 32}) {
    Creates("Jobs", "/apis/batch/v1/namespaces/default/jobs", JobBody, writers);
  }
  Reads(32);
  Watches(200);
  std::printf("resident at the end: %.0f MB\n", ResidentMegabytes());
  server_.reset();
  io_.reset();
  std::filesystem::remove_all(folder);
  return 0;
}

}  // namespace
}  // namespace berth::local

int main(int argc, char** argv) {
  return berth::local::Bench(argc > 1 ? std::atof(argv[1]) : 3).Run();
}
