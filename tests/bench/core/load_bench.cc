// load_bench WORKLOADS QUEUES — the cost of a start: Workloads as the API lists them (pages of 500,
// JSON text) are parsed, decoded and given to the scheduler. CPU microseconds per workload of each
// part.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "admission/scheduler.h"
#include "api/codec/codec.h"
#include "tests/bench/core/bench_input.h"
#include "tests/bench/support/process.h"

namespace berth::bench {
namespace {

constexpr std::size_t kPageSize = 500;

std::vector<std::string> MakePages(const InputSize& size) {
  std::vector<std::string> pages;
  nlohmann::json items = nlohmann::json::array();
  const auto close = [&pages, &items] {
    if (items.empty()) return;
    pages.push_back(nlohmann::json{{"items", std::move(items)}}.dump());
    items = nlohmann::json::array();
  };
  for (const BenchWorkload& workload : MakeWorkloads(size)) {
    items.push_back(api::Encode(*workload.object));
    if (items.size() == kPageSize) close();
  }
  close();
  return pages;
}

int Main(int argc, char** argv) {
  InputSize size;
  if (argc == 3) {
    size.pending = std::atoi(argv[1]);
    size.queues = std::atoi(argv[2]);
    size.cohorts = size.queues < 30 ? 1 : 30;
  }
  if (argc != 3 || size.pending <= 0 || size.queues <= 0) {
    std::fprintf(stderr, "usage: load_bench WORKLOADS QUEUES\n");
    return 2;
  }
  const std::vector<std::string> pages = MakePages(size);
  std::size_t bytes = 0;
  admission::Scheduler scheduler{admission::SchedulerConfig{}};
  ApplyQueues(size, scheduler);
  double parsing = 0;
  double decoding = 0;
  double applying = 0;
  for (const std::string& page : pages) {
    bytes += page.size();
    const double start = OwnCpuSeconds();
    const nlohmann::json list = nlohmann::json::parse(page);
    const double parsed = OwnCpuSeconds();
    std::vector<std::shared_ptr<const api::Workload>> objects;
    for (const nlohmann::json& item : list.at("items")) {
      Result<api::Workload> decoded = api::Decode<api::Workload>(item);
      if (!decoded) {
        std::fprintf(stderr, "load_bench: %s\n", decoded.error().message.c_str());
        return 1;
      }
      objects.push_back(std::make_shared<const api::Workload>(*std::move(decoded)));
    }
    const double decoded = OwnCpuSeconds();
    for (auto& object : objects) {
      scheduler.ApplyWorkload(std::move(object), WallTime(std::chrono::seconds(1767700000)));
    }
    parsing += parsed - start;
    decoding += decoded - parsed;
    applying += OwnCpuSeconds() - decoded;
  }
  const double micro = 1e6 / size.pending;
  std::printf(
      "%d workloads, %.0f bytes each: parse %.2f decode %.2f apply %.2f, together %.2f CPU us per "
      "workload\n",
      size.pending, static_cast<double>(bytes) / size.pending, parsing * micro, decoding * micro,
      applying * micro, (parsing + decoding + applying) * micro);
  return 0;
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) { return berth::bench::Main(argc, argv); }
