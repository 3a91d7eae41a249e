// readapi_bench [WORKLOADS] [SUBSCRIBERS] — what the read model of /api/v1 costs.
//
// WORKLOADS rows (100,000) in 1,000 queues and 300 namespaces are put into the model: processor
// time of a row, resident memory of all. Then pages are read: filters, orders, sights. Then 200
// changes a second come for ten seconds of virtual time, in ticks of 100 ms, and SUBSCRIBERS (200)
// read each tick: half of them see everything, half one namespace. Printed: processor time of a
// change, of a subscriber's tick, and of a second of the whole; no network is involved.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <vector>

#include <unistd.h>

#include "base/random.h"
#include "base/rfc3339.h"
#include "readapi/cell_text.h"
#include "readapi/model.h"

namespace berth::readapi {
namespace {

constexpr int kQueueCount = 1000;
constexpr int kNamespaces = 300;

double ProcessorMicros() {
  return 1e6 * static_cast<double>(std::clock()) / static_cast<double>(CLOCKS_PER_SEC);
}

double ResidentMegabytes() {
  std::ifstream file("/proc/self/statm");
  double total = 0;
  double resident = 0;
  file >> total >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e6;
}

class Load {
 public:
  explicit Load(int workloads) : workloads_(workloads) {
    for (int i = 0; i < kNamespaces; ++i) {
      audiences_.push_back(std::make_shared<const std::vector<std::string>>(
          std::vector<std::string>{"team-" + std::to_string(i)}));
    }
  }

  Row Make(int number, int life) const {
    const Resource& resource = Resources()[kWorkloads];
    const int space = number % kNamespaces;
    const bool runs = (number + life) % 10 == 0;
    const std::string name = "job-sweep-" + std::to_string(number) + "-5c1f2";
    Row row{.id = audiences_[static_cast<std::size_t>(space)]->front() + "/" + name,
            .cells = std::vector<std::string>(resource.fields.size(), "null"),
            .audience = audiences_[static_cast<std::size_t>(space)]};
    const auto set = [&](const char* field, std::string cell) {
      row.cells[*resource.Find(field)] = std::move(cell);
    };
    const std::string created =
        FormatTime(WallTime(std::chrono::seconds(1'790'000'000 + number / 3)));
    const std::string message = "nvidia.com/gpu in flavor a100: needs " +
                                std::to_string(1 + number % 8) + ", 0 free of 64 (borrowingLimit)" +
                                (life == 0 ? "" : ", attempt " + std::to_string(life));
    set("namespace", QuoteJson(row.audience->front()));
    set("workload", QuoteJson(name));
    set("name", QuoteJson("sweep-" + std::to_string(number)));
    set("kind", "\"Job\"");
    set("localQueue", QuoteJson("queue-" + std::to_string(number % 3)));
    set("clusterQueue", QuoteJson("cq-" + std::to_string(number % kQueueCount)));
    set("priority", std::to_string(number % 5 * 10));
    set("state", runs ? "\"running\"" : "\"waiting\"");
    set("cause", runs ? "\"\"" : "\"quota\"");
    set("createdAt", QuoteJson(created));
    set("requests", R"([{"amount":)" + std::to_string(1000 * (1 + number % 8)) +
                        R"(,"resource":"cpu","unit":"milliCPU"},{"amount":)" +
                        std::to_string(1 + number % 8) +
                        R"(,"resource":"nvidia.com/gpu","unit":"items"}])");
    set("remark", runs ? "\"a100: gke-a100-pool-3f2a\"" : QuoteJson("quota: " + message));
    if (!runs) {
      set("waitingSince", QuoteJson(created));
      set("reason", R"({"kind":"quota","message":)" + QuoteJson(message) + "}");
      set("notPreempted", "[]");
    }
    return row;
  }

  int workloads() const { return workloads_; }

 private:
  int workloads_;
  std::vector<Audience> audiences_;
};

void BenchPages(const Load& load, Model& model) {
  struct PageRow {
    const char* words;
    Parameters parameters;
    Sight sight;
  };
  const Sight all{.everywhere = true, .namespaces = {}};
  const Sight tenant{.everywhere = false, .namespaces = {"team-7"}};
  const PageRow rows[] = {
      {"all, by id", {}, all},
      {"all, latest first", {{"sort", "-createdAt"}}, all},
      {"one queue, by priority", {{"clusterQueue", "cq-7"}, {"sort", "-priority"}}, all},
      {"running, oldest first", {{"state", "running"}, {"sort", "createdAt"}}, all},
      {"waiting, oldest wait first", {{"state", "waiting"}, {"sort", "waitingSince"}}, all},
      {"a tenant's, by priority", {{"sort", "-priority"}}, tenant},
      {"none matches", {{"state", "failed"}, {"sort", "priority"}}, all},
      {"no name begins so", {{"name", "no-such-job"}}, all}};
  constexpr int kTimes = 200;
  for (const PageRow& row : rows) {
    const Result<Query> query = ParseQuery(Resources()[kWorkloads], row.parameters);
    if (!query) std::abort();
    std::size_t bytes = 0;
    double micros = 0;
    for (int i = 0; i < kTimes; ++i) {
      model.Put(kWorkloads, load.Make(0, 1 + i % 2));  // a page is kept until a change
      const double begun = ProcessorMicros();
      bytes += model.ReadPage(kWorkloads, *query, row.sight).body.size();
      micros += (ProcessorMicros() - begun) / kTimes;
    }
    std::printf("page: %-28s %8.1f us, %zu rows looked at, %zu bytes\n", row.words, micros,
                model.table(kWorkloads).looked_at(), bytes / kTimes);
  }
}

void BenchChanges(const Load& load, Model& model, int subscribers) {
  constexpr int kTicks = 100;
  constexpr int kChangesPerTick = 20;
  constexpr std::size_t kBatchBytes = 256 * 1024;
  std::vector<Sights> sights;
  for (int i = 0; i < subscribers; ++i) {
    const Sight sight{.everywhere = i % 2 == 0,
                      .namespaces = {"team-" + std::to_string(i % kNamespaces)}};
    sights.emplace_back(Resources().size(), std::make_shared<const Sight>(sight));
  }
  std::vector<std::uint64_t> positions(sights.size(), model.feed().revision());
  Random random(1);
  double change_micros = 0;
  double read_micros = 0;
  std::size_t bytes = 0;
  for (int tick = 0; tick < kTicks; ++tick) {
    std::vector<Row> rows;
    for (int i = 0; i < kChangesPerTick; ++i) {
      const auto number =
          static_cast<int>(random.Below(static_cast<std::uint64_t>(load.workloads())));
      rows.push_back(load.Make(number, 1 + tick));
    }
    double begun = ProcessorMicros();
    for (Row& row : rows) model.Put(kWorkloads, std::move(row));
    change_micros += ProcessorMicros() - begun;
    begun = ProcessorMicros();
    for (std::size_t i = 0; i < sights.size(); ++i) {
      const Feed::Batch batch = model.feed().Read(positions[i], sights[i], kBatchBytes);
      positions[i] = batch.position;
      bytes += batch.text.size();
    }
    read_micros += ProcessorMicros() - begun;
  }
  std::printf("change: %.1f us; a tick of one subscriber: %.1f us\n",
              change_micros / (kTicks * kChangesPerTick),
              read_micros / (kTicks * static_cast<double>(sights.size())));
  std::printf("a second with 200 changes and %d subscribers: %.1f ms of processor time, %.1f MB\n",
              subscribers, (change_micros + read_micros) / 1e3 / 10,
              static_cast<double>(bytes) / 1e6 / 10);
}

int Main(int workloads, int subscribers) {
  const Load load(workloads);
  const double before = ResidentMegabytes();
  Model model("bench");
  std::vector<Row> rows;
  double micros = 0;
  for (int i = 0; i < workloads; ++i) {
    Row row = load.Make(i, 0);
    const double begun = ProcessorMicros();
    model.Put(kWorkloads, std::move(row));
    micros += ProcessorMicros() - begun;
  }
  std::printf(
      "%d rows: %.1f us a row, %.1f MB resident (the feed's ring has at most 16 MB of it)\n",
      workloads, micros / workloads, ResidentMegabytes() - before);
  BenchPages(load, model);
  BenchChanges(load, model, subscribers);
  std::printf("resident at the end: %.1f MB\n", ResidentMegabytes() - before);
  return 0;
}

}  // namespace
}  // namespace berth::readapi

int main(int count, char** arguments) {
  return berth::readapi::Main(count > 1 ? std::atoi(arguments[1]) : 100'000,
                              count > 2 ? std::atoi(arguments[2]) : 200);
}
