// core_bench PENDING QUEUES COHORTS classical|fair [CPU_SECONDS [CYCLES [PARKED]]] — how many heads
// the core decides per CPU second. After every cycle: admitted workloads start and run for their
// 10, 25 or 50 cycles, victims stop at once, what ends gives its quota back; a wake-up batch every
// 20 cycles. A cycle takes one second of the story, which is what the API's timestamps can tell
// apart; where nobody has a head the story goes on to the next wake-up, and nothing is counted.
// Runs until all have finished, or the CPU seconds or the cycles are used. PARKED more workloads,
// of eight shapes, ask for more than there can ever be: each wake-up tries one of a shape in a
// queue and parks all.
//
// CPU is that of RunCycle. Counted beside it: noting why each head that got nothing did not, as the
// controller does (admission/controller/decision_note.h, with each workload's history); writing the
// decisions into the objects (status and messages); and the reaction of the caches and queues to
// the changed objects. What berth.dev/explanation costs is tried on the last cycle.
#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include <unistd.h>

#include "admission/controller/decision_note.h"
#include "admission/lifecycle/workload_lifecycle.h"
#include "admission/messages.h"
#include "admission/scheduler.h"
#include "api/condition.h"
#include "api/reasons.h"
#include "integrations/release.h"
#include "tests/bench/core/bench_input.h"
#include "tests/bench/support/process.h"

namespace berth::bench {
namespace {

constexpr int kCyclesPerWakeUp = 20;
constexpr std::size_t kMostExplained = 1000;

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
  double worst_cycle = 0;
};

class Bench {
 public:
  Bench(const InputSize& size, const admission::SchedulerConfig& config)
      : pending_(size.pending), workloads_(MakeWorkloads(size)), scheduler_(config) {
    const double before = ResidentBytes();
    ApplyQueues(size, scheduler_);
    running_.resize(workloads_.size());
    for (const BenchWorkload& workload : workloads_)
      scheduler_.ApplyWorkload(workload.object, now_);
    bytes_per_workload_ =
        (ResidentBytes() - before) / static_cast<double>(size.pending + size.parked);
    index_by_number_.resize(workloads_.size());
    histories_.resize(workloads_.size());
    for (std::size_t i = 0; i < workloads_.size(); ++i) {
      const auto number = scheduler_.Find(workloads_[i].object->meta.key());
      index_by_number_[static_cast<std::size_t>(number.value())] = i;
    }
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

  // Microseconds for the JSON of one note.
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

  std::size_t IndexOf(admission::WorkloadId number) const {
    return index_by_number_[static_cast<std::size_t>(number)];
  }

  // To the next wake-up.
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
    const double noted = OwnCpuSeconds();
    std::vector<std::shared_ptr<const api::Workload>> changed;
    for (std::size_t i = 0; i < result.decisions.size(); ++i) {
      Write(result.decisions[i], notes_[i].get(), changed);
    }
    const double written = OwnCpuSeconds();
    for (auto& object : changed) scheduler_.ApplyWorkload(std::move(object), now_);
    FinishThoseDue();
    ++totals_.cycles;
    if (time_ % kCyclesPerWakeUp == 0) scheduler_.RunWakeUps(now_);
    totals_.heads += static_cast<long>(result.decisions.size());
    totals_.deciding += decided - begin;
    totals_.noting += noted - decided;
    totals_.writing += written - noted;
    totals_.reacting += OwnCpuSeconds() - written;
    totals_.worst_cycle = std::max(totals_.worst_cycle, decided - begin);
  }

  void Note(const admission::Decision& decision) {
    notes_.push_back(admission::DecisionNote::Of(decision, scheduler_));
    if (notes_.back() == nullptr) return;
    histories_[IndexOf(decision.workload)].Note(notes_.back(), now_);
  }

  void Write(const admission::Decision& decision, const admission::DecisionNote* note,
             std::vector<std::shared_ptr<const api::Workload>>& changed) {
    const std::size_t index = IndexOf(decision.workload);
    const std::string& queue = scheduler_.state().queue(decision.cluster_queue).name;
    const api::Workload& known = *workloads_[index].object;
    std::shared_ptr<api::Workload> next;
    if (decision.outcome == admission::Outcome::kAdmitted) {
      next = std::make_shared<api::Workload>(known);
      admission::ReserveQuota(next->status,
                              admission::AdmissionOf(decision, scheduler_.vocabulary(), queue),
                              decision.checks, 1, now_);
      ++totals_.admitted;
      // The cycle that admits it counts as the first.
      running_[index] = {true, time_ + workloads_[index].runs_for_cycles - 1};
      ends_[running_[index].ends_at].push_back(index);
    } else {
      for (const admission::Victim& victim : decision.victims) Stop(decision, victim, changed);
      if (note == nullptr) return;
      const std::string& reason = note->reason();
      const std::string message = note->message();
      // What says nothing new is not written.
      const api::Condition* told = api::FindCondition(known.status.conditions, api::kQuotaReserved);
      if (told != nullptr && told->status == api::ConditionStatus::kFalse &&
          told->reason == reason && told->message == message) {
        return;
      }
      next = std::make_shared<api::Workload>(known);
      admission::SetUnadmitted(next->status, reason, message, 1, now_);
    }
    workloads_[index].object = next;
    changed.push_back(std::move(next));
  }

  void Stop(const admission::Decision& decision, const admission::Victim& victim,
            std::vector<std::shared_ptr<const api::Workload>>& changed) {
    const std::size_t index = IndexOf(victim.workload);
    if (!running_[index].runs) return;
    running_[index].runs = false;
    ++totals_.preempted;
    auto next = std::make_shared<api::Workload>(*workloads_[index].object);
    admission::Preempt(next->status, ToString(victim.reason),
                       admission::PreemptedMessage(*decision.object, victim.reason,
                                                   scheduler_.PathOf(decision.cluster_queue),
                                                   scheduler_.PathOf(victim.cluster_queue)),
                       1, now_);
    next->status = integrations::StatusAfterRelease(*next, now_);
    workloads_[index].object = next;
    changed.push_back(std::move(next));
  }

  void FinishThoseDue() {
    const auto due = ends_.find(time_);
    if (due == ends_.end()) return;
    for (const std::size_t index : due->second) {
      if (!running_[index].runs || running_[index].ends_at != time_) continue;  // it was stopped
      running_[index].runs = false;
      ++totals_.finished;
      auto next = std::make_shared<api::Workload>(*workloads_[index].object);
      api::SetCondition(next->status.conditions, {api::kFinished, api::ConditionStatus::kTrue,
                                                  api::kSucceeded, "", now_, 1});
      scheduler_.ApplyWorkload(std::move(next), now_);
    }
    ends_.erase(due);
  }

  long pending_;
  std::vector<BenchWorkload> workloads_;
  std::vector<admission::ReasonHistory> histories_;
  std::vector<std::shared_ptr<const admission::DecisionNote>> notes_;  // of the cycle's decisions
  std::vector<Running> running_;
  std::vector<std::size_t> index_by_number_;      // by WorkloadId
  std::map<int, std::vector<std::size_t>> ends_;  // by time
  admission::Scheduler scheduler_;
  WallTime now_ = WallTime(std::chrono::seconds(1767700000));
  int time_ = 0;  // in cycles, with those in which nobody had a head
  Totals totals_;
  double bytes_per_workload_ = 0;
};

int Main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr,
                 "usage: core_bench PENDING QUEUES COHORTS classical|fair [CPU_SECONDS [CYCLES "
                 "[PARKED]]]\n");
    return 2;
  }
  InputSize size;
  size.pending = std::atoi(argv[1]);
  size.queues = std::atoi(argv[2]);
  size.cohorts = std::atoi(argv[3]);
  size.parked = argc > 7 ? std::atoi(argv[7]) : 0;
  const std::string mode = argv[4];
  if (size.pending <= 0 || size.queues <= 0 || size.cohorts <= 0 ||
      (mode != "classical" && mode != "fair")) {
    std::fprintf(stderr, "core_bench: three counts above zero, then classical or fair\n");
    return 2;
  }
  admission::SchedulerConfig config;
  if (mode == "fair") config.fair_sharing.emplace();
  Bench bench(size, config);
  bench.Run(argc > 5 ? std::atof(argv[5]) : 25.0, argc > 6 ? std::atoi(argv[6]) : INT_MAX);
  const Totals& t = bench.totals();
  std::printf(
      "%7d %6d %-9s cycles %6d heads %8ld admitted %7ld preempted %6ld finished %6ld  "
      "CPU s: decide %7.3f note %7.3f write %7.3f react %7.3f  us/cycle %6.1f worst %8.1f  "
      "heads/CPU s %8.0f  with writing %8.0f  and notes %8.0f  bytes/workload %5.0f  "
      "us/explanation %4.1f\n",
      size.pending, size.queues, mode.c_str(), t.cycles, t.heads, t.admitted, t.preempted,
      t.finished, t.deciding, t.noting, t.writing, t.reacting, t.deciding * 1e6 / t.cycles,
      t.worst_cycle * 1e6, static_cast<double>(t.heads) / t.deciding,
      static_cast<double>(t.heads) / (t.deciding + t.writing),
      static_cast<double>(t.heads) / (t.deciding + t.writing + t.noting),
      bench.bytes_per_workload(), bench.ExplainingTakes());
  return 0;
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) { return berth::bench::Main(argc, argv); }
