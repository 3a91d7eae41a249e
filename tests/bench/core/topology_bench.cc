// topology_bench BLOCKS RACKS NODES [CPU_SECONDS] — the cost of topology-aware scheduling on BLOCKS
// blocks of RACKS racks of NODES nodes (96 cores each), filled.
//
// Four kinds of workloads, in turn: 4 pods of 8 cores anywhere, 16 of 16 in one rack, 64 of 24
// preferably in one block, 32 of 8 in one block in slices of 8 per rack.
//
//   cycle      the Scheduler with 10 queues: each head is placed; an unplaced head waits until
//              the workloads that have run longest end. CPU of RunCycle per head.
//   placement  the placement of one workload on the full nodes, with the booking and another's
//              release before it, so that each placement finds changed nodes. CPU per placement.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <string>
#include <vector>

#include "admission/driver.h"
#include "api/labels.h"
#include "simulation/workloads.h"
#include "tests/bench/support/process.h"

namespace berth::bench {
namespace {

constexpr int kQueues = 10;
constexpr std::int64_t kCoresPerNode = 96;
const char* const kKinds[] = {"anywhere", "one rack", "one block", "slices"};

struct Size {
  int blocks = 0;
  int racks = 0;
  int nodes = 0;
  int total() const { return blocks * racks * nodes; }
};

std::string Padded(const char* prefix, int number) {
  char text[32];
  std::snprintf(text, sizeof text, "%s%05d", prefix, number);
  return text;
}

std::vector<api::Node> MakeNodes(const Size& size) {
  std::vector<api::Node> nodes;
  for (int block = 0; block < size.blocks; ++block) {
    for (int rack = 0; rack < size.racks; ++rack) {
      for (int i = 0; i < size.nodes; ++i) {
        api::Node& node = nodes.emplace_back();
        node.meta.name = Padded("node-", static_cast<int>(nodes.size()) - 1);
        node.meta.labels = {{"block", Padded("b", block)},
                            {"rack", Padded("r", block * size.racks + rack)},
                            {api::kHostnameLabel, node.meta.name}};
        node.allocatable = {
            {"cpu", kCoresPerNode * 1000}, {"memory", std::int64_t{1} << 39U}, {"pods", 110}};
        node.conditions.push_back({"Ready", api::ConditionStatus::kTrue, "", "", {}, 0});
      }
    }
  }
  return nodes;
}

api::Topology MakeTopology() {
  api::Topology topology;
  topology.meta.name = "dc";
  topology.levels = {"block", "rack", api::kHostnameLabel};
  return topology;
}

api::ResourceFlavor MakeFlavor() {
  api::ResourceFlavor flavor;
  flavor.meta.name = "tas";
  flavor.topology_name = "dc";
  return flavor;
}

void ApplyQueues(const Size& size, admission::Scheduler& scheduler) {
  api::Namespace space;
  space.meta.name = "default";
  scheduler.Apply(space);
  scheduler.Apply(MakeTopology());
  scheduler.Apply(MakeFlavor());
  const std::int64_t quota = kCoresPerNode * 1000 * size.total();  // nodes decide, not quota
  for (int i = 0; i < kQueues; ++i) {
    api::ClusterQueue queue;
    queue.meta.name = "q" + std::to_string(i);
    queue.spec.namespace_selector.emplace();
    queue.spec.resource_groups = {{{"cpu"}, {{"tas", {{"cpu", quota, {}, {}}}}}}};
    scheduler.Apply(queue);
    api::LocalQueue local;
    local.meta.name = queue.meta.name;
    local.meta.namespace_name = "default";
    local.cluster_queue = queue.meta.name;
    scheduler.Apply(local);
  }
}

api::Workload WorkloadOf(int number) {
  api::Workload workload;
  workload.meta.name = Padded("w", number);
  workload.meta.namespace_name = "default";
  workload.meta.uid = workload.meta.name;
  workload.meta.creation_timestamp = WallTime(std::chrono::seconds(1767700000 + number));
  workload.spec.queue_name = "q" + std::to_string(number % kQueues);
  api::PodSet& pods = workload.spec.pod_sets.emplace_back();
  api::TopologyRequest request;
  std::int64_t cores = 0;
  switch (number / kQueues % 4) {
    case 0:
      pods.count = 4;
      cores = 8;
      request.unconstrained = true;
      break;
    case 1:
      pods.count = 16;
      cores = 16;
      request.required = "rack";
      break;
    case 2:
      pods.count = 64;
      cores = 24;
      request.preferred = "block";
      break;
    default:
      pods.count = 32;
      cores = 8;
      request.required = "block";
      request.slice_required_topology = "rack";
      request.slice_size = 8;
  }
  pods.topology_request = request;
  pods.pod_template.spec.containers.emplace_back().requests = {{"cpu", cores * 1000}};
  return workload;
}

class Bench {
 public:
  Bench(const Size& size, std::size_t workloads)
      : size_(size), driver_(admission::DriverOptions{}), workloads_(driver_, workloads) {
    ApplyQueues(size, scheduler_);
    const std::vector<api::Node> nodes = MakeNodes(size);
    const double begin = OwnCpuSeconds();
    for (const api::Node& node : nodes) scheduler_.Apply(node);
    node_seconds_ = OwnCpuSeconds() - begin;
    for (std::size_t i = 0; i < workloads; ++i) {
      workloads_.Set(i, std::make_shared<api::Workload>(WorkloadOf(static_cast<int>(i))), now_);
    }
  }

  void RunCycles(double cpu_limit) {
    while (scheduler_.HasHeads() && deciding_ < cpu_limit) Cycle();
  }

  void RunPlacements();

  void Report() const {
    std::printf(
        "topology %6d nodes: %ld heads in %ld cycles, %ld admitted: %.1f us/head, worst cycle "
        "%.2f ms; a node %.1f us\n",
        size_.total(), heads_, cycles_, admitted_, deciding_ * 1e6 / static_cast<double>(heads_),
        worst_ * 1e3, node_seconds_ * 1e6 / size_.total());
    for (int kind = 0; kind < 4; ++kind) {
      std::printf("topology %6d nodes: placement %-9s %6.1f us\n", size_.total(), kKinds[kind],
                  placement_us_[kind]);
    }
  }

 private:
  void Cycle() {
    now_ += std::chrono::seconds(1);
    const double begin = OwnCpuSeconds();
    const admission::CycleResult result = scheduler_.RunCycle(now_);
    const double span = OwnCpuSeconds() - begin;
    deciding_ += span;
    worst_ = std::max(worst_, span);
    ++cycles_;
    heads_ += static_cast<long>(result.decisions.size());
    std::size_t refused = 0;
    for (const admission::Decision& decision : result.decisions) {
      if (!admission::GivesQuota(decision)) {
        ++refused;
        continue;
      }
      ++admitted_;
      const std::size_t index = workloads_.NumberOf(decision.workload);
      workloads_.Write(index, driver_.WritesOf(decision).front(), now_);
      workloads_.Deliver(now_);
      running_.push_back(index);
    }
    for (; refused > 0 && !running_.empty(); --refused) EndOldest();
    if (!scheduler_.HasHeads()) scheduler_.RunWakeUps(now_);
  }

  void EndOldest() {
    workloads_.Finish(running_.front(), now_);
    workloads_.Deliver(now_);
    running_.pop_front();
  }

  Size size_;
  admission::Driver driver_;
  admission::Scheduler& scheduler_ = driver_.scheduler();
  WallTime now_ = WallTime(std::chrono::seconds(1767800000));
  simulation::Workloads workloads_;  // by number
  std::deque<std::size_t> running_;
  double node_seconds_ = 0;
  double deciding_ = 0;
  double worst_ = 0;
  long cycles_ = 0;
  long heads_ = 0;
  long admitted_ = 0;
  double placement_us_[4] = {0, 0, 0, 0};
};

// Fills a separate placer with the same kinds of workloads, and measures it.
void Bench::RunPlacements() {
  admission::Vocabulary vocabulary;
  admission::TopologyPlacer placer(vocabulary);
  const admission::FlavorId flavor = vocabulary.flavors.Intern("tas");
  placer.SetTopology(MakeTopology());
  placer.SetFlavor(flavor, MakeFlavor());
  for (const api::Node& node : MakeNodes(size_)) placer.SetNode(node);
  std::deque<std::vector<admission::PlacedPods>> running;
  std::vector<api::Workload> kinds;
  for (int kind = 0; kind < 4; ++kind) kinds.push_back(WorkloadOf(kind * kQueues));
  long count[4] = {0, 0, 0, 0};
  double seconds[4] = {0, 0, 0, 0};
  const int warm_up = size_.total() / 4;
  for (int i = 0; i < warm_up + 20000; ++i) {
    const api::Workload& workload = kinds[static_cast<std::size_t>(i % 4)];
    const std::vector<admission::PlacementRequest> requests = {
        {0, flavor, workload.spec.pod_sets[0].count, false}};
    const bool measured = i >= warm_up;
    const double begin = measured ? OwnCpuSeconds() : 0;
    auto result = placer.Place(workload, requests, admission::CountKey::Usage::kAsUsed);
    if (!result.failure) {
      running.push_back(
          {placer.Booking(workload.spec.pod_sets[0], flavor, result.placements[0].assignment)});
      placer.Use(running.back());
    }
    // If the nodes are full, the oldest workloads end.
    for (int ends = 0; ends < (result.failure ? 2 : 0) && !running.empty(); ++ends) {
      placer.Free(running.front());
      running.pop_front();
    }
    if (!measured) continue;
    seconds[i % 4] += OwnCpuSeconds() - begin;
    ++count[i % 4];
  }
  for (int kind = 0; kind < 4; ++kind) {
    placement_us_[kind] = seconds[kind] * 1e6 / static_cast<double>(count[kind]);
  }
}

int Main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: topology_bench BLOCKS RACKS NODES [CPU_SECONDS]\n");
    return 2;
  }
  const Size size{std::atoi(argv[1]), std::atoi(argv[2]), std::atoi(argv[3])};
  if (size.blocks <= 0 || size.racks <= 0 || size.nodes <= 0) {
    std::fprintf(stderr, "topology_bench: three counts above zero\n");
    return 2;
  }
  Bench bench(size, 15000);
  bench.RunCycles(argc > 4 ? std::atof(argv[4]) : 25);
  bench.RunPlacements();
  bench.Report();
  return 0;
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) { return berth::bench::Main(argc, argv); }
