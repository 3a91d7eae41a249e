// preemptor_bench QUEUES [ABOVE] — the cost of a cycle in which many heads have preemption plans:
// QUEUES queues in one cohort, in each of which the head has preempted two workloads, one stopped
// and one not. ABOVE more queues have no quota and a head of higher priority, which would fit the
// quota that the stopped ones have freed. CPU milliseconds of a cycle, with classical preemption
// and with fair sharing.
#include <charconv>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "admission/driver.h"
#include "tests/bench/support/process.h"

namespace berth::bench {
namespace {

constexpr int kRepeats = 10;
constexpr std::int64_t kNominal = 4'000;

struct Input {
  int queues = 0;
  int above = 0;
};

class PreemptorBench {
 public:
  PreemptorBench(const Input& input, const admission::SchedulerConfig& config)
      : driver_({.scheduler = config}) {
    api::Namespace space;
    space.meta.name = "default";
    scheduler_.Apply(space);
    api::ResourceFlavor flavor;
    flavor.meta.name = "default";
    scheduler_.Apply(flavor);
    for (int i = 0; i < input.queues; ++i) ApplyQueue("q" + std::to_string(i), kNominal);
    for (int i = 0; i < input.queues; ++i) ApplyWorkload(i, "stopped", "q", 10, kNominal / 2);
    for (int i = 0; i < input.queues; ++i) ApplyWorkload(i, "stops", "q", 10, kNominal / 2);
    while (scheduler_.HasHeads()) Cycle();
    for (int i = 0; i < input.queues; ++i) ApplyWorkload(i, "preempts", "q", 100, kNominal);
    Cycle();
    for (int i = 0; i < input.queues; ++i) {
      scheduler_.Forget<api::Workload>({"default", "stopped" + std::to_string(i)});
    }
    for (int i = 0; i < input.above; ++i) ApplyQueue("above" + std::to_string(i), 0);
    for (int i = 0; i < input.above; ++i) ApplyWorkload(i, "above", "above", 1000, kNominal / 2);
  }

  void Cycle() {
    now_ += std::chrono::seconds(1);
    const admission::CycleResult& result = scheduler_.RunCycle(now_);
    preempting_ = held_back_ = 0;
    std::vector<std::shared_ptr<const api::Workload>> changed;
    for (const admission::Decision& decision : result.decisions) {
      if (decision.keeps_plan) ++preempting_;
      if (decision.remark == admission::Remark::kHeldForPreemptor) ++held_back_;
      for (const admission::DecidedWrite& write : driver_.WritesOf(decision)) {
        if (write.kind == admission::DecidedWrite::Kind::kExplain) continue;
        auto next = std::make_shared<api::Workload>(write.workload());
        driver_.Change(write, *next, next->status, now_);
        changed.push_back(std::move(next));
      }
    }
    for (auto& object : changed) scheduler_.ApplyWorkload(std::move(object), now_);
  }

  int preempting() const { return preempting_; }
  int held_back() const { return held_back_; }

 private:
  void ApplyQueue(const std::string& name, std::int64_t nominal) {
    api::ClusterQueue queue;
    queue.meta.name = name;
    queue.spec.cohort_name = "all";
    queue.spec.namespace_selector.emplace();
    queue.spec.preemption.within_cluster_queue = api::PreemptionPolicy::kLowerPriority;
    api::ResourceQuota quota;
    quota.resource = "cpu";
    quota.nominal_quota = nominal;
    if (nominal > 0) quota.borrowing_limit = 0;  // preemptors have only the quota that they free
    queue.spec.resource_groups.push_back({{"cpu"}, {{"default", {quota}}}});
    scheduler_.Apply(queue);
    api::LocalQueue local;
    local.meta.name = name;
    local.meta.namespace_name = "default";
    local.cluster_queue = name;
    scheduler_.Apply(local);
  }
  void ApplyWorkload(int number, const std::string& kind, const char* queue, int priority,
                     std::int64_t milli) {
    auto made = std::make_shared<api::Workload>();
    made->meta.name = kind + std::to_string(number);
    made->meta.namespace_name = "default";
    made->meta.uid = made->meta.name;
    made->meta.generation = 1;
    made->spec.queue_name = queue + std::to_string(number);
    made->spec.priority = priority;
    api::PodSet pod_set;
    pod_set.name = "main";
    pod_set.count = 1;
    api::Container container;
    container.requests["cpu"] = milli;
    pod_set.pod_template.spec.containers.push_back(std::move(container));
    made->spec.pod_sets.push_back(std::move(pod_set));
    scheduler_.ApplyWorkload(std::move(made), now_);
  }

  admission::Driver driver_;
  admission::Scheduler& scheduler_ = driver_.scheduler();
  WallTime now_ = WallTime(std::chrono::seconds(1'767'600'000));
  int preempting_ = 0;
  int held_back_ = 0;
};

void Measure(const char* mode, const Input& input, const admission::SchedulerConfig& config) {
  PreemptorBench bench(input, config);
  bench.Cycle();
  const double begin = OwnCpuSeconds();
  for (int i = 0; i < kRepeats; ++i) bench.Cycle();
  const double takes = (OwnCpuSeconds() - begin) * 1e3 / kRepeats;
  std::printf(
      "%6d preemptors, %6d heads above them, %-9s %10.3f ms a cycle (%d keep their plan, %d heads "
      "held "
      "back)\n",
      input.queues, input.above, mode, takes, bench.preempting(), bench.held_back());
}

bool Parse(std::string_view text, int least, int& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number >= least;
}

int Main(int argc, char** argv) {
  Input input;
  const bool understood = (argc == 2 || argc == 3) && Parse(argv[1], 1, input.queues) &&
                          (argc == 2 || Parse(argv[2], 0, input.above));
  if (!understood) {
    std::fprintf(stderr, "usage: preemptor_bench QUEUES [ABOVE]\n");
    return 2;
  }
  admission::SchedulerConfig config;
  Measure("classical", input, config);
  config.fair_sharing.emplace();
  Measure("fair", input, config);
  return 0;
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) { return berth::bench::Main(argc, argv); }
