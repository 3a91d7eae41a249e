// page_load [PAGES [WORKLOADS [ROUNDS [SECONDS]]]] — open pages beside a scheduler that decides.
//
//     thread that decides ─ 200 changes a second ─▶ strand: ReadMirror ─▶ Model ─▶ ReadServer (TLS)
//                                                                          PAGES clients, a process
//
// The mirror has WORKLOADS Workloads (100,000) in 1,000 queues and 300 namespaces. The thread that
// decides plays the input of core_bench without an end and makes the changes, as the informers of
// the controller do (program/read_feed.cc). Rounds without and with PAGES (200) open pages take
// turns, SECONDS each; half of the pages see one namespace. Printed: decisions for each second of
// this thread's processor time and of the clock, processor time of the rest of the process, memory,
// and the time from a change to its receipt. The clients are a process of their own. The thread
// that decides has the first processor; the rest of the program and the clients have the others.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <future>
#include <thread>

#include <sched.h>
#include <unistd.h>

#include "api/reasons.h"
#include "base/random.h"
#include "base/system_clock.h"
#include "net/certificates.h"
#include "net/file_limit.h"
#include "net/io_pool.h"
#include "program/read_mirror.h"
#include "readapi/controller/read_server.h"
#include "simulation/agenda.h"
#include "simulation/workloads.h"
#include "tests/bench/core/bench_input.h"
#include "tests/bench/readapi/page_clients.h"
#include "tests/bench/support/load.h"
#include "tests/view/view_builder.h"

namespace berth::bench {
namespace {

using namespace std::chrono_literals;

constexpr int kQueueCount = 1000;
constexpr int kNamespaces = 300;
constexpr int kChangesPerSecond = 200;
constexpr std::int64_t kBatchNanos = 50'000'000;  // the time of program/read_feed.cc

double ThreadCpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

// The scheduler on the input of core_bench without an end: what has finished comes again.
class Decider {
 public:
  Decider() {
    ApplyQueues(kSize, scheduler_);
    for (const BenchWorkload& each : MakeWorkloads(kSize)) {
      workloads_.Set(originals_.size(), each.object, now_);
      originals_.push_back(each.object);
    }
  }

  // Decides a cycle; returns the number of heads.
  long Cycle() {
    now_ += 1s;
    ++cycle_;
    long heads = 0;
    if (scheduler_.HasHeads()) {
      const admission::CycleResult& result = scheduler_.RunCycle(now_);
      for (const admission::Decision& decision : result.decisions) Carry(decision);
      heads = static_cast<long>(result.decisions.size());
      workloads_.ReleaseEvicted(now_);
      workloads_.Deliver(now_);
    }
    Finish();
    if (cycle_ % kCyclesPerWakeUp == 0) scheduler_.RunWakeUps(now_);
    return heads;
  }

 private:
  static constexpr int kCyclesPerWakeUp = 20;
  static constexpr int kRunsForCycles = 10;
  static constexpr InputSize kSize{.pending = 20'000, .queues = 200, .cohorts = 20};

  void Carry(const admission::Decision& decision) {
    for (const admission::DecidedWrite& write : driver_.WritesOf(decision)) {
      if (write.kind == admission::DecidedWrite::Kind::kReserve) {
        const std::size_t number = workloads_.NumberOf(decision.workload);
        workloads_.Write(number, write, now_);
        ends_.Add(cycle_ + kRunsForCycles, number);
      } else if (write.kind == admission::DecidedWrite::Kind::kPreempt) {
        workloads_.Write(workloads_.NumberOf(write.victim->workload), write, now_);
      }
    }
  }

  // A job that ends comes again at once.
  void Finish() {
    while (const auto number = ends_.TakeDue(cycle_)) {
      if (!workloads_.object(*number)->status.admission) continue;  // it was preempted
      workloads_.Forget(*number);
      workloads_.Set(*number, originals_[*number], now_);
    }
  }

  admission::Driver driver_{admission::DriverOptions{}};
  admission::Scheduler& scheduler_ = driver_.scheduler();
  simulation::Workloads workloads_{driver_};  // by number
  std::vector<std::shared_ptr<const api::Workload>> originals_;
  simulation::Agenda<int> ends_;
  WallTime now_ = WallTime(1'767'700'000s);
  int cycle_ = 0;
};

// The served half: what cli::ReadFeed has, without informers.
class Served {
 public:
  explicit Served(int workloads) : workloads_(workloads) {
    net::CertificateRequest request;
    request.not_before = WallTime(1'700'000'000s);
    request.not_after = WallTime(4'000'000'000s);
    const auto authority =
        *net::MakeCertificateAuthority("ca", request.not_before, request.not_after);
    ca_pem_ = authority.certificate_chain_pem;
    request.common_name = "server";
    request.dns_names = {"localhost"};
    request.for_server = true;
    readapi::ReadServerOptions options;
    options.tls =
        std::make_shared<const net::TlsIdentity>(*net::IssueCertificate(authority, request));
    options.version = "bench";
    options.random = [](std::size_t count) { return std::string(count, 'r'); };
    options.max_requests_under_way = 4096;  // the pages of the bench open in the same instant
    server_ = *readapi::ReadServer::Start(
        pool_, clock_, std::move(options),
        {.strand = strand_.get(),
         .model = &model_,
         .is_ready = [] { return true; },
         .story = [](const std::string&, const std::string&) { return std::nullopt; }},
        &Served::Decide);
    Take(AllObjects());
  }
  ~Served() {
    server_->Stop();
    pool_.Stop();
  }
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;

  // Another state of a random Workload: mostly another message, else a start or an end.
  void Change(std::int64_t made) {
    const auto number = static_cast<int>(random_.Below(static_cast<std::uint64_t>(workloads_)));
    auto workload = Make(number, random_.Below(4) == 0, made);
    batch_.workloads[workload->meta.key()] = std::move(workload);
  }
  void Flush() {
    strand_->Post([this, batch = std::exchange(batch_, {})] {
      mirror_.Take(batch);
      Work();
    });
  }

  const std::string& ca_pem() const { return ca_pem_; }
  std::uint16_t port() const { return server_->port(); }

 private:
  static void Decide(const kube::AccessQuestion& question, const kube::AccessReviews::Done& done) {
    const bool is_own = question.resource && question.resource->namespace_name == question.token;
    const bool is_allowed = question.token == "admin" || is_own;
    done({.outcome = is_allowed ? kube::AccessAnswer::Outcome::kAllowed
                                : kube::AccessAnswer::Outcome::kDenied,
          .user = question.token,
          .error = ""});
  }

  static std::shared_ptr<const api::Workload> Make(int number, bool runs, std::int64_t made) {
    const std::string team = "team-" + std::to_string(number % kNamespaces);
    const std::string name = "sweep-" + std::to_string(number);
    const std::string queue = "cq-" + std::to_string(number % kQueueCount);
    const api::ResourceAmounts usage{{"cpu", 4000}, {"nvidia.com/gpu", 1}};
    if (runs) {
      auto workload = std::make_shared<api::Workload>(view::MakeRunning(team, name, queue, usage));
      workload->spec.queue_name = queue;
      return workload;
    }
    auto workload =
        std::make_shared<api::Workload>(view::MakeWorkload(team, name, queue, number % 86'400));
    workload->status.conditions = {view::FalseCondition(
        api::kQuotaReserved, "Pending",
        std::string("insufficient quota for nvidia.com/gpu in flavor t4, request > maximum "
                    "capacity (8 > 4), ") +
            kMadeMark + std::to_string(made) + ";",
        view::ViewTime())};
    return workload;
  }

  program::ReadBatch AllObjects() const {
    program::ReadBatch batch;
    for (int i = 0; i < kQueueCount; ++i) {
      const std::string name = "cq-" + std::to_string(i);
      const auto queue = std::make_shared<api::ClusterQueue>(
          view::MakeQueue(name, "cohort-" + std::to_string(i % 40), {{"nvidia.com/gpu", 8}},
                          {{"nvidia.com/gpu", 4}}));
      batch.cluster_queues[queue->meta.key()] = queue;
    }
    for (int i = 0; i < workloads_; ++i) {
      auto workload = Make(i, i % 10 == 0, 0);
      const std::string& name = workload->spec.queue_name;
      const auto local = std::make_shared<api::LocalQueue>(
          view::MakeLocalQueue(workload->meta.namespace_name, name, name));
      batch.local_queues[local->meta.key()] = local;
      batch.workloads[workload->meta.key()] = std::move(workload);
    }
    return batch;
  }

  void Take(const program::ReadBatch& batch) {
    std::promise<void> done;
    strand_->Post([&] {
      mirror_.Take(batch);
      while (mirror_.Work(200) == Duration::zero()) {
      }
      done.set_value();
    });
    done.get_future().wait();
  }

  void Work() {
    while (mirror_.Work(200) == Duration::zero()) {
    }
    server_->Changed();
  }

  const int workloads_;
  SystemClock clock_;
  net::IoPool pool_{1};  // the same as in program/read_feed.cc
  std::unique_ptr<Executor> strand_ = pool_.MakeStrand();
  readapi::Model model_{"bench"};
  program::ReadMirror mirror_{clock_, model_};
  Random random_{1};
  program::ReadBatch batch_;
  std::string ca_pem_;
  std::unique_ptr<readapi::ReadServer> server_;
};

struct Rates {
  double by_processor = 0;  // decisions for each second of the thread's processor time
  double by_clock = 0;
  double rest = 0;  // processor seconds of the other threads, for each second
};

Rates Decide(Decider& decider, Served& served, double seconds) {
  const std::int64_t begun = MonotonicNanos();
  const auto end = begun + static_cast<std::int64_t>(seconds * 1e9);
  const double cpu = ThreadCpuSeconds();
  const double process = OwnCpuSeconds();
  constexpr std::int64_t kEvery = 1'000'000'000 / kChangesPerSecond;
  std::int64_t next = begun;
  std::int64_t flush = begun + kBatchNanos;
  long heads = 0;
  std::int64_t now = begun;
  while (now < end) {
    heads += decider.Cycle();
    now = MonotonicNanos();
    for (; next <= now; next += kEvery) served.Change(next);
    if (now < flush) continue;
    served.Flush();
    flush = now + kBatchNanos;
  }
  const double took = ThreadCpuSeconds() - cpu;
  const double clock = static_cast<double>(now - begun) / 1e9;
  return {.by_processor = static_cast<double>(heads) / took,
          .by_clock = static_cast<double>(heads) / clock,
          .rest = (OwnCpuSeconds() - process - took) / clock};
}

struct Change {
  double percent = 0;
  double error = 0;  // standard error, in percentage points
};

Change ChangeOf(const std::vector<double>& ratios) {
  const auto count = static_cast<double>(ratios.size());
  double sum = 0;
  double squares = 0;
  for (const double ratio : ratios) sum += ratio;
  const double mean = sum / count;
  for (const double ratio : ratios) squares += (ratio - mean) * (ratio - mean);
  return {100 * (mean - 1), count < 2 ? 0 : 100 * std::sqrt(squares / (count - 1) / count)};
}

// Threads that begin later inherit the set.
void UseCpus(int from, int to) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int i = from; i < to; ++i) CPU_SET(static_cast<std::size_t>(i), &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) std::perror("sched_setaffinity");
}

int Main(int pages, int workloads, int rounds, double seconds) {
  const auto cpus = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  if (cpus > 1) UseCpus(1, cpus);
  PageClients clients = PageClients::Start();
  if (!net::RaiseFileLimit()) std::fprintf(stderr, "the limit of open files is low\n");
  Served served(workloads);
  if (cpus > 1) UseCpus(0, 1);
  Decider decider;
  Decide(decider, served, 2 * seconds);  // the ring of changes and the caches fill
  const double before = ResidentMegabytes(getpid());
  std::printf("%d workloads, %d changes a second, %.0f MB resident without pages\n", workloads,
              kChangesPerSecond, before);
  std::vector<double> by_processor;
  std::vector<double> by_clock;
  double most = 0;
  for (int round = 0; round < rounds; ++round) {
    const Rates without = Decide(decider, served, seconds);
    // The pages open while the scheduler decides.
    std::promise<void> opened;
    std::thread opening([&] {
      clients.Open(served.port(), served.ca_pem(), pages, kNamespaces);
      opened.set_value();
    });
    const double opening_cpu = OwnCpuSeconds() - ThreadCpuSeconds();
    auto is_open = opened.get_future();
    while (is_open.wait_for(0s) != std::future_status::ready) Decide(decider, served, 0.05);
    opening.join();
    const double opening_took = OwnCpuSeconds() - ThreadCpuSeconds() - opening_cpu;
    const double client_cpu = CpuSeconds(clients.process());
    const Rates with = Decide(decider, served, seconds);
    const double theirs = (CpuSeconds(clients.process()) - client_cpu) / seconds;
    most = std::max(most, ResidentMegabytes(getpid()));
    const PageTimes times = clients.Close();
    by_processor.push_back(with.by_processor / without.by_processor);
    by_clock.push_back(with.by_clock / without.by_clock);
    std::printf(
        "round %d: decisions for a CPU second %.0f, with %d pages %.0f (%+.1f %%); a second %.0f, "
        "%.0f; other threads %.3f, %.3f CPU s a second, clients %.3f; change to page: %ld, p50 "
        "%.0f ms, p99 %.0f ms, worst %.0f ms, %.1f MB a second; all opened at once: %.2f CPU s, "
        "first view p50 %.0f ms, p99 %.0f ms; %.0f answers a second, p50 %.1f ms, p99 %.0f ms; "
        "resyncs %d, lost %d, tried again %d\n",
        round + 1, without.by_processor, pages, with.by_processor, 100 * (by_processor.back() - 1),
        without.by_clock, with.by_clock, without.rest, with.rest, theirs, times.changes, times.p50,
        times.p99, times.worst, times.megabytes / seconds, opening_took, times.first_view_p50,
        times.first_view_p99, static_cast<double>(times.answers) / seconds, times.answer_p50,
        times.answer_p99, times.resyncs, times.lost, times.tried_again);
    std::fflush(stdout);
  }
  const Change cpu = ChangeOf(by_processor);
  const Change clock = ChangeOf(by_clock);
  std::printf(
      "mean of %d rounds: decisions for a CPU second %+.1f %% (standard error %.1f), for a second "
      "%+.1f %% (%.1f); at most %.0f MB more with %d pages\n",
      rounds, cpu.percent, cpu.error, clock.percent, clock.error, most - before, pages);
  return 0;
}

}  // namespace
}  // namespace berth::bench

int main(int count, char** arguments) {
  const auto given = [&](int index, int otherwise) {
    return count > index ? std::max(1, std::atoi(arguments[index])) : otherwise;
  };
  return berth::bench::Main(given(1, 200), given(2, 100'000), given(3, 5), given(4, 5));
}
