// core_bench PENDING QUEUES COHORTS classical|fair [CPU_SECONDS [CYCLES [PARKED
// [UNCHANGED]]]] — heads decided per CPU second. After every cycle: admitted workloads
// start and run for their 10, 25 or 50 cycles, victims stop at once, finished workloads
// release their quota; a wake-up batch every 20 cycles. A cycle takes one second of the
// story, the resolution of the API's timestamps; while no queue has a head the story
// advances to the next wake-up, uncounted. Runs until all workloads have finished, or the
// CPU seconds or the cycles are used. PARKED more workloads, of eight shapes, request
// more than any quota: each wake-up tries one of a shape in a queue and parks all.
// UNCHANGED more queues exist from the start without changes: every other one is empty,
// the rest are full, each with one more workload that was refused. CPU is that of
// RunCycle. Measured beside it: noting why each head without quota waits, as the
// controller does (admission/controller/notes/decision_note.h, with each workload's history);
// writing the decisions into the objects (status and messages); and the reaction: victims
// stop, caches and queues get the changed objects. The cost of berth.dev/explanation is
// measured on the last cycle. Reading the clock costs time too, which is measured first
// and subtracted.
#include <algorithm>
#include <charconv>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

#include "admission/controller/notes/decision_note.h"
#include "admission/driver.h"
#include "admission/lifecycle/workload_lifecycle.h"
#include "api/condition.h"
#include "api/reasons.h"
#include "simulation/agenda.h"
#include "simulation/workloads.h"
#include "tests/bench/core/bench_input.h"
#include "tests/bench/support/process.h"

namespace berth::bench {
namespace {

constexpr int kCyclesPerWakeUp = 20;
constexpr std::size_t kMostExplained = 1000;

constexpr char kUsage[] =
    "usage: core_bench PENDING QUEUES COHORTS classical|fair [CPU_SECONDS [CYCLES [PARKED "
    "[UNCHANGED]]]]\n"
    "  PENDING, QUEUES, COHORTS, CYCLES: whole numbers above 0; PARKED, UNCHANGED: 0 or more\n";

double ResidentBytes() { return ResidentMegabytes(getpid()) * 1024 * 1024; }

struct Totals {
  int cycles = 0;
  long heads = 0;
  long admitted = 0;
  long preempted = 0;
  long finished = 0;
  double deciding = 0;
  double noting = 0;
  double writing = 0;
  double reacting = 0;
  double first_cycle = 0;
  double worst_cycle = 0;  // the worst of the others
};

class Bench {
 public:
  Bench(const InputSize& size, const admission::SchedulerConfig& config)
      : pending_(size.pending),
        made_(MakeWorkloads(size)),
        driver_({.scheduler = config}),
        workloads_(driver_, made_.size()),
        clock_takes_(OwnClockTakes()) {
    ApplyUnchangedQueues(size, scheduler_, now_);
    const double before = ResidentBytes();
    ApplyQueues(size, scheduler_);
    running_.resize(made_.size());
    for (std::size_t i = 0; i < made_.size(); ++i) workloads_.Set(i, made_[i].object, now_);
    bytes_per_workload_ =
        (ResidentBytes() - before) / static_cast<double>(size.pending + size.parked);
    histories_.resize(made_.size());
  }

  void Run(double cpu_limit, int cycle_limit) {
    while (totals_.finished < pending_ && totals_.deciding < cpu_limit &&
           totals_.cycles < cycle_limit) {
      if (scheduler_.HasHeads()) {
        Cycle();
      } else {
        LetTimePass();
      }
    }
  }

  // The microseconds for the JSON of one note.
  double ExplainingTakes() const {
    std::size_t bytes = 0;
    std::size_t count = 0;
    const double begin = OwnCpuSeconds();
    for (const auto& note : notes_) {
      if (note == nullptr || count == kMostExplained) continue;
      bytes += note->explanation().size();
      ++count;
    }
    return bytes == 0 ? 0 : (OwnCpuSeconds() - begin) * 1e6 / static_cast<double>(count);
  }

  const Totals& totals() const { return totals_; }
  double bytes_per_workload() const { return bytes_per_workload_; }

 private:
  struct Running {
    bool runs = false;
    int ends_at = 0;
  };

  // Advances the time to the next wake-up.
  void LetTimePass() {
    do {
      ++time_;
      FinishThoseDue();
    } while (time_ % kCyclesPerWakeUp != 0);
    scheduler_.RunWakeUps(now_);
  }

  void Cycle() {
    ++time_;
    now_ += std::chrono::seconds(1);
    const double begin = OwnCpuSeconds();
    const admission::CycleResult& result = scheduler_.RunCycle(now_);
    const double decided = OwnCpuSeconds();
    notes_.clear();
    for (const admission::Decision& decision : result.decisions) Note(decision);
    for (const auto& parked : result.bulk_parked) {
      if (notes_[parked.like] == nullptr) continue;
      histories_[workloads_.NumberOf(parked.workload)].Note(notes_[parked.like], now_);
    }
    const double noted = OwnCpuSeconds();
    for (std::size_t i = 0; i < result.decisions.size(); ++i) {
      Write(result.decisions[i], notes_[i].get());
    }
    const double written = OwnCpuSeconds();
    workloads_.ReleaseEvicted(now_);  // pods stop at once
    workloads_.Deliver(now_);
    FinishThoseDue();
    ++totals_.cycles;
    if (time_ % kCyclesPerWakeUp == 0) scheduler_.RunWakeUps(now_);
    totals_.heads += static_cast<long>(result.decisions.size());
    totals_.deciding += decided - begin - clock_takes_;
    totals_.noting += noted - decided - clock_takes_;
    totals_.writing += written - noted - clock_takes_;
    totals_.reacting += OwnCpuSeconds() - written - clock_takes_;
    const double took = decided - begin - clock_takes_;
    if (totals_.cycles == 1) totals_.first_cycle = took;
    if (totals_.cycles > 1) totals_.worst_cycle = std::max(totals_.worst_cycle, took);
  }

  void Note(const admission::Decision& decision) {
    notes_.push_back(admission::DecisionNote::Of(decision, scheduler_));
    if (notes_.back() == nullptr) return;
    histories_[workloads_.NumberOf(decision.workload)].Note(notes_.back(), now_);
  }

  void Write(const admission::Decision& decision, const admission::DecisionNote* note) {
    const std::size_t index = workloads_.NumberOf(decision.workload);
    const admission::Driver::Writes writes = driver_.WritesOf(decision);
    if (writes.front().kind == admission::DecidedWrite::Kind::kReserve) {
      workloads_.Write(index, writes.front(), now_);
      ++totals_.admitted;
      // The cycle that admits it counts as the first.
      running_[index] = {true, time_ + made_[index].runs_for_cycles - 1};
      ends_.Add(running_[index].ends_at, index);
      return;
    }
    for (const admission::DecidedWrite& write : writes) {
      if (write.kind == admission::DecidedWrite::Kind::kPreempt) Stop(write);
    }
    if (note == nullptr) return;
    const std::string_view reason = note->reason();
    const std::string message = note->message();
    // An unchanged condition is not written.
    const api::Condition* told =
        api::FindCondition(workloads_.object(index)->status.conditions, api::kQuotaReserved);
    if (told != nullptr && told->status == api::ConditionStatus::kFalse && told->reason == reason &&
        told->message == message) {
      return;
    }
    admission::SetUnadmitted(workloads_.Edit(index).status, reason, message, 1, now_);
  }

  void Stop(const admission::DecidedWrite& write) {
    const std::size_t index = workloads_.NumberOf(write.victim->workload);
    if (!running_[index].runs) return;
    running_[index].runs = false;
    ++totals_.preempted;
    workloads_.Write(index, write, now_);
  }

  void FinishThoseDue() {
    while (const auto index = ends_.TakeDue(time_)) {
      if (!running_[*index].runs || running_[*index].ends_at != time_) continue;  // preempted
      running_[*index].runs = false;
      ++totals_.finished;
      workloads_.Finish(*index, now_);
      workloads_.Deliver(now_);
    }
  }

  long pending_;
  std::vector<BenchWorkload> made_;
  std::vector<admission::ReasonHistory> histories_;
  // Notes of the cycle's decisions.
  std::vector<std::shared_ptr<const admission::DecisionNote>> notes_;
  std::vector<Running> running_;
  simulation::Agenda<int> ends_;  // by time
  admission::Driver driver_;
  admission::Scheduler& scheduler_ = driver_.scheduler();
  simulation::Workloads workloads_;  // by index
  WallTime now_ = WallTime(std::chrono::seconds(1767700000));
  int time_ = 0;  // in cycles, with those without any head
  double clock_takes_ = 0;
  Totals totals_;
  double bytes_per_workload_ = 0;
};

struct Arguments {
  InputSize size;
  std::string mode;
  double cpu_seconds = 25.0;
  int cycles = INT_MAX;
};

// Parses all of `word`; a number below `least` is an error.
template <typename Number>
bool Read(std::string_view word, Number least, Number& number) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  return error == std::errc() && end == word.data() + word.size() && number >= least;
}

std::optional<Arguments> Parse(const std::vector<std::string_view>& words) {
  if (words.size() < 4 || words.size() > 8) return std::nullopt;
  Arguments read;
  read.mode = words[3];
  const auto given = [&words](std::size_t index) { return words.size() > index; };
  const bool good = Read(words[0], 1, read.size.pending) && Read(words[1], 1, read.size.queues) &&
                    Read(words[2], 1, read.size.cohorts) &&
                    (read.mode == "classical" || read.mode == "fair") &&
                    (!given(4) || Read(words[4], 0.0, read.cpu_seconds)) &&
                    (!given(5) || Read(words[5], 1, read.cycles)) &&
                    (!given(6) || Read(words[6], 0, read.size.parked)) &&
                    (!given(7) || Read(words[7], 0, read.size.unchanged));
  if (!good) return std::nullopt;
  return read;
}

int Main(int argc, char** argv) {
  const std::optional<Arguments> arguments = Parse({argv + 1, argv + argc});
  if (!arguments) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  const InputSize& size = arguments->size;
  const std::string& mode = arguments->mode;
  admission::SchedulerConfig config;
  config.listing = queue::Listing::kNew;  // the controller has the same
  if (mode == "fair") config.fair_sharing.emplace();
  Bench bench(size, config);
  bench.Run(arguments->cpu_seconds, arguments->cycles);
  const Totals& t = bench.totals();
  std::printf(
      "%7d %6d %-9s cycles %6d heads %8ld admitted %7ld preempted %6ld finished %6ld  "
      "CPU s: decide %7.3f note %7.3f write %7.3f react %7.3f  us/cycle %6.1f first %8.1f worst "
      "%8.1f  "
      "heads/CPU s %8.0f  with writing %8.0f  and notes %8.0f  bytes/workload %5.0f  "
      "us/explanation %4.1f\n",
      size.pending, size.queues, mode.c_str(), t.cycles, t.heads, t.admitted, t.preempted,
      t.finished, t.deciding, t.noting, t.writing, t.reacting,
      (t.deciding - t.first_cycle) * 1e6 / std::max(t.cycles - 1, 1), t.first_cycle * 1e6,
      t.worst_cycle * 1e6, static_cast<double>(t.heads) / t.deciding,
      static_cast<double>(t.heads) / (t.deciding + t.writing),
      static_cast<double>(t.heads) / (t.deciding + t.writing + t.noting),
      bench.bytes_per_workload(), bench.ExplainingTakes());
  return 0;
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) { return berth::bench::Main(argc, argv); }
