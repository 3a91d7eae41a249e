// queue_bench QUEUES [FLAVORS] — the cost of adding and changing ClusterQueues and ResourceFlavors:
// QUEUES in one cohort, all with one flavor, or, with FLAVORS above 0, each with so many flavors of
// its own. CPU milliseconds of: adding the flavors and queues, in both orders; removing and adding
// one flavor; changing one queue's quota, and its cohort; the wake-up of each change; removing and
// adding a queue, with the next cycle; with the queues in 100 cohorts below one root, the
// shares of all cohorts after a change of one queue's quota; and a chain of 2,000 cohorts above one
// queue, added in both orders, with its wake-up.
#include <charconv>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "admission/cluster_state.h"
#include "admission/quota/dominant_share.h"
#include "admission/scheduler.h"
#include "tests/bench/support/process.h"

namespace berth::bench {
namespace {

constexpr int kRepeats = 20;

struct QueueInput {
  int queues = 0;
  int own_flavors = 0;  // the flavors of each queue; 0: all share one
};

class QueueBench {
 public:
  explicit QueueBench(const QueueInput& input)
      : input_(input),
        scheduler_(std::make_unique<admission::Scheduler>(admission::SchedulerConfig{})) {}

  void ApplyFlavors() {
    if (input_.own_flavors == 0) return ApplyFlavor("shared");
    for (int queue = 0; queue < input_.queues; ++queue) {
      for (int i = 0; i < input_.own_flavors; ++i) ApplyFlavor(FlavorOf(queue, i));
    }
  }
  void ApplyQueues() {
    for (int queue = 0; queue < input_.queues; ++queue) ApplyQueue(queue, 10'000, "all");
  }
  void ApplyFlavor(const std::string& name) {
    api::ResourceFlavor flavor;
    flavor.meta.name = name;
    scheduler_->Apply(flavor);
  }
  void ApplyQueue(int number, std::int64_t nominal, const std::string& cohort) {
    scheduler_->Apply(MakeQueue(number, nominal, cohort));
  }
  api::ClusterQueue MakeQueue(int number, std::int64_t nominal, const std::string& cohort) const {
    api::ClusterQueue queue;
    queue.meta.name = "q" + std::to_string(number);
    queue.spec.cohort_name = cohort;
    queue.spec.namespace_selector.emplace();
    queue.spec.preemption.reclaim_within_cohort = api::PreemptionPolicy::kAny;
    api::ResourceGroup group;
    group.covered_resources = {"cpu"};
    const int flavors = input_.own_flavors == 0 ? 1 : input_.own_flavors;
    for (int i = 0; i < flavors; ++i) {
      api::ResourceQuota quota;
      quota.resource = "cpu";
      quota.nominal_quota = nominal;
      group.flavors.push_back({FlavorOf(number, i), {quota}});
    }
    queue.spec.resource_groups.push_back(std::move(group));
    return queue;
  }
  std::string FlavorOf(int queue, int index) const {
    if (input_.own_flavors == 0) return "shared";
    return "f" + std::to_string(queue) + "-" + std::to_string(index);
  }
  admission::Scheduler& scheduler() { return *scheduler_; }

 private:
  QueueInput input_;
  std::unique_ptr<admission::Scheduler> scheduler_;
};

double Takes(const std::function<void()>& work) {
  const double begin = OwnCpuSeconds();
  work();
  return (OwnCpuSeconds() - begin) * 1e3;
}

void Print(const char* what, double milliseconds) {
  std::printf("  %-44s %10.3f ms\n", what, milliseconds);
}

void Change(const char* what, QueueBench& bench, const std::function<void(int)>& change) {
  double changing = 0;
  double waking = 0;
  for (int i = 0; i < kRepeats; ++i) {
    changing += Takes([&] { change(i); });
    waking += Takes([&] { bench.scheduler().RunWakeUps(WallTime(std::chrono::seconds(i))); });
  }
  Print(what, changing / kRepeats);
  Print("  and its wake-up", waking / kRepeats);
}

// Each cohort borrows, so that each has a share.
void MeasureShares(const QueueInput& input, const QueueBench& bench) {
  constexpr int kCohorts = 100;
  const auto cohort_of = [](int queue) { return "c" + std::to_string(queue % kCohorts); };
  queue::QueueSet queues(true);
  admission::ClusterState state(queues);
  for (int i = 0; i < kCohorts; ++i) {
    api::Cohort cohort;
    cohort.meta.name = cohort_of(i);
    cohort.spec.parent_name = "all";
    state.SetCohort(cohort);
  }
  for (int i = 0; i < input.queues; ++i) {
    state.SetClusterQueue(bench.MakeQueue(i, 10'000, cohort_of(i)));
  }
  for (int i = 0; i < kCohorts && i < input.queues; ++i) {
    const admission::QueueState& queue =
        state.queue(queues.ClusterQueueNumber("q" + std::to_string(i)));
    state.tree().AddUsage(queue.node,
                          {{queue.groups.front().flavor_resources.front(), 10'000'000}});
  }
  admission::DominantShares shares(state);
  double sum = 0;
  double takes = 0;
  for (int i = 0; i < kRepeats; ++i) {
    const int changed = input.queues / 2;
    state.SetClusterQueue(bench.MakeQueue(changed, 20'000 + i, cohort_of(changed)));
    takes += Takes([&] {
      for (int cohort = 0; cohort < kCohorts && cohort < input.queues; ++cohort) {
        const admission::NodeId node = state.cohorts().Find(cohort_of(cohort)).value();
        sum += shares.Of(node).unweighted;
        sum += shares.Of(state.tree().children(node).front()).unweighted;
      }
    });
  }
  Print("shares of 100 cohorts after such a change", takes / kRepeats);
  if (sum == 0) std::printf("  no cohort borrows\n");
}

void MeasureChain(const QueueBench& bench) {
  constexpr int kDepth = 2'000;
  const auto name_of = [](int number) { return "chain" + std::to_string(number); };
  for (const bool root_first : {true, false}) {
    admission::Scheduler scheduler{admission::SchedulerConfig{}};
    scheduler.Apply(bench.MakeQueue(0, 10'000, name_of(kDepth - 1)));
    const double adding = Takes([&] {
      for (int i = 0; i < kDepth; ++i) {
        const int number = root_first ? i : kDepth - 1 - i;
        api::Cohort cohort;
        cohort.meta.name = name_of(number);
        if (number > 0) cohort.spec.parent_name = name_of(number - 1);
        scheduler.Apply(cohort);
      }
    });
    Print(root_first ? "a chain of 2,000 cohorts, the root first"
                     : "a chain of 2,000 cohorts, the root last",
          adding);
    Print("  and its wake-up", Takes([&] { scheduler.RunWakeUps(WallTime{}); }));
  }
}

int Run(const QueueInput& input) {
  {
    QueueBench bench(input);
    const double flavors = Takes([&] { bench.ApplyFlavors(); });
    Print("flavors, then queues", flavors + Takes([&] { bench.ApplyQueues(); }));
  }
  QueueBench bench(input);
  const double queues = Takes([&] { bench.ApplyQueues(); });
  Print("queues, then flavors", queues + Takes([&] { bench.ApplyFlavors(); }));
  const std::string flavor = bench.FlavorOf(input.queues / 2, 0);
  Change("a flavor goes and comes back", bench, [&](int) {
    bench.scheduler().Forget<api::ResourceFlavor>(flavor);
    bench.ApplyFlavor(flavor);
  });
  Change("a queue with another quota", bench,
         [&](int i) { bench.ApplyQueue(input.queues / 2, 20'000 + i, "all"); });
  Change("a queue leaves the cohort and comes back", bench, [&](int) {
    bench.ApplyQueue(input.queues / 2, 10'000, "");
    bench.ApplyQueue(input.queues / 2, 10'000, "all");
  });
  bench.scheduler().RunCycle(WallTime{});
  double comes = 0;
  double cycle = 0;
  for (int i = 0; i < kRepeats; ++i) {
    comes += Takes([&] {
      bench.scheduler().Forget<api::ClusterQueue>("q" + std::to_string(input.queues / 2));
      bench.ApplyQueue(input.queues / 2, 10'000, "all");
    });
    cycle += Takes([&] { bench.scheduler().RunCycle(WallTime{}); });
  }
  Print("a queue goes and comes back", comes / kRepeats);
  Print("  and the next cycle, without heads", cycle / kRepeats);
  MeasureShares(input, bench);
  MeasureChain(bench);
  return 0;
}

bool Parse(std::string_view text, int least, int& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number >= least;
}

int Main(int argc, char** argv) {
  QueueInput input;
  const bool understood = (argc == 2 || argc == 3) && Parse(argv[1], 1, input.queues) &&
                          (argc == 2 || Parse(argv[2], 0, input.own_flavors));
  if (!understood) {
    std::fprintf(stderr, "usage: queue_bench QUEUES [FLAVORS]\n");
    return 2;
  }
  std::printf("%d queues in one cohort, %s\n", input.queues,
              input.own_flavors == 0
                  ? "one flavor for all"
                  : (std::to_string(input.own_flavors) + " flavors of their own each").c_str());
  return Run(input);
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) { return berth::bench::Main(argc, argv); }
