#include "tests/bench/core/bench_input.h"

#include <array>
#include <random>
#include <sstream>
#include <string>

namespace berth::bench {
namespace {

constexpr std::size_t kWords = 624;
constexpr std::int64_t kNominal = 20'000;
constexpr std::int64_t kMostBorrowed = 100'000;

// CPython's random.Random(seed): the Mersenne Twister, seeded from an array of one word.
class PythonRandom {
 public:
  explicit PythonRandom(std::uint32_t seed) {
    std::array<std::uint32_t, kWords> words{};
    words[0] = 19650218;
    for (std::size_t i = 1; i < kWords; ++i) words[i] = Mix(words[i - 1], 1812433253U, i);
    std::size_t at = 1;
    const auto step = [&at, &words] {
      if (++at >= kWords) {
        words[0] = words[kWords - 1];
        at = 1;
      }
    };
    for (std::size_t k = 0; k < kWords; ++k) {
      words[at] = (words[at] ^ Mix(words[at - 1], 1664525U, 0)) + seed;
      step();
    }
    for (std::size_t k = 0; k + 1 < kWords; ++k) {
      words[at] = (words[at] ^ Mix(words[at - 1], 1566083941U, 0)) - static_cast<std::uint32_t>(at);
      step();
    }
    words[0] = 0x80000000U;
    std::stringstream state;
    for (const std::uint32_t word : words) state << word << ' ';
    state << kWords;
    state >> engine_;
  }

  double Unit() {
    const auto high = static_cast<std::uint32_t>(engine_()) >> 5U;
    const auto low = static_cast<std::uint32_t>(engine_()) >> 6U;
    return (static_cast<double>(high) * 67108864.0 + static_cast<double>(low)) / 9007199254740992.0;
  }

  // A number in [low, high].
  int Between(int low, int high) {
    const auto count = static_cast<std::uint32_t>(high - low + 1);
    int bits = 0;
    while ((count >> static_cast<unsigned>(bits)) != 0) ++bits;
    std::uint32_t drawn = count;
    while (drawn >= count) {
      drawn = static_cast<std::uint32_t>(engine_()) >> static_cast<unsigned>(32 - bits);
    }
    return low + static_cast<int>(drawn);
  }

 private:
  static std::uint32_t Mix(std::uint32_t word, std::uint32_t factor, std::size_t plus) {
    return (word ^ (word >> 30U)) * factor + static_cast<std::uint32_t>(plus);
  }
  std::mt19937 engine_;
};

std::shared_ptr<const api::Workload> MakeWorkload(int number, int queues, int priority, int pods,
                                                  int milli_per_pod) {
  auto made = std::make_shared<api::Workload>();
  made->meta.name = "w" + std::to_string(number);
  made->meta.namespace_name = "default";
  made->meta.uid = "uid-" + std::to_string(number);
  made->meta.generation = 1;
  made->meta.creation_timestamp = WallTime(std::chrono::seconds(1767600000 + number / 50));
  made->spec.queue_name = "q" + std::to_string(number % queues);
  made->spec.priority = priority;
  api::PodSet pod_set;
  pod_set.name = "main";
  pod_set.count = pods;
  api::Container container;
  container.requests["cpu"] = milli_per_pod;
  pod_set.pod_template.spec.containers.push_back(std::move(container));
  made->spec.pod_sets.push_back(std::move(pod_set));
  return made;
}

void ApplyBasics(admission::Scheduler& scheduler) {
  api::Namespace space;
  space.meta.name = "default";
  scheduler.Apply(space);
  api::ResourceFlavor flavor;
  flavor.meta.name = "default";
  scheduler.Apply(flavor);
}

void ApplyQueue(const std::string& name, const std::string& cohort, std::int64_t most_borrowed,
                admission::Scheduler& scheduler) {
  api::ClusterQueue queue;
  queue.meta.name = name;
  queue.spec.cohort_name = cohort;
  queue.spec.namespace_selector.emplace();
  queue.spec.preemption.within_cluster_queue = api::PreemptionPolicy::kLowerPriority;
  queue.spec.preemption.reclaim_within_cohort = api::PreemptionPolicy::kAny;
  api::ResourceQuota quota;
  quota.resource = "cpu";
  quota.nominal_quota = kNominal;
  quota.borrowing_limit = most_borrowed;
  queue.spec.resource_groups.push_back({{"cpu"}, {{"default", {quota}}}});
  scheduler.Apply(queue);
  api::LocalQueue local;
  local.meta.name = name;
  local.meta.namespace_name = "default";
  local.cluster_queue = name;
  scheduler.Apply(local);
}

}  // namespace

std::vector<BenchWorkload> MakeWorkloads(const InputSize& size) {
  constexpr std::array<int, 3> kPodCounts{1, 2, 4};
  PythonRandom random(size.seed);
  std::vector<BenchWorkload> made;
  made.reserve(static_cast<std::size_t>(size.pending + size.parked));
  for (int number = 0; number < size.pending; ++number) {
    const double kind = random.Unit();
    int cores = 0;
    int priority = 200;
    int runs = 50;
    if (kind < 0.7) {
      cores = random.Between(1, 2);
      priority = 50;
      runs = 10;
    } else if (kind < 0.9) {
      cores = random.Between(4, 6);
      priority = 100;
      runs = 25;
    } else {
      cores = random.Between(12, 20);
    }
    int pods = kPodCounts[static_cast<std::size_t>(random.Between(0, 2))];
    while (cores % pods != 0) pods /= 2;
    made.push_back({MakeWorkload(number, size.queues, priority, pods, cores * 1000 / pods), runs});
  }
  constexpr int kShapes = 8;
  for (int i = 0; i < size.parked; ++i) {
    const int kilocores = 10 + i / size.queues % kShapes;
    made.push_back(
        {MakeWorkload(size.pending + i, size.queues, 1000, 1, kilocores * 1'000'000), 1});
  }
  return made;
}

void ApplyUnchangedQueues(const InputSize& size, admission::Scheduler& scheduler, WallTime now) {
  if (size.unchanged == 0) return;
  constexpr int kQueuesInCohort = 10;
  constexpr int kPriority = 100;
  ApplyBasics(scheduler);
  for (int i = 0; i < size.unchanged; ++i) {
    const std::string name = "unchanged" + std::to_string(i);
    ApplyQueue(name, "quiet" + std::to_string(i / kQueuesInCohort), 0, scheduler);
    if (i % 2 == 0) continue;
    for (const char* part : {"-runs", "-waits"}) {
      auto made = std::make_shared<api::Workload>(*MakeWorkload(0, 1, kPriority, 1, int{kNominal}));
      made->meta.name = made->meta.uid = name + part;
      made->spec.queue_name = name;
      scheduler.ApplyWorkload(std::move(made), now);
    }
  }
  do {
    while (scheduler.HasHeads()) scheduler.RunCycle(now);
    scheduler.RunWakeUps(now);
  } while (scheduler.HasHeads());
}

void ApplyQueues(const InputSize& size, admission::Scheduler& scheduler) {
  ApplyBasics(scheduler);
  for (int i = 0; i < size.queues; ++i) {
    ApplyQueue("q" + std::to_string(i), "co" + std::to_string(i % size.cohorts), kMostBorrowed,
               scheduler);
  }
}

}  // namespace berth::bench
