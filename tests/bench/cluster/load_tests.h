// tests/bench/cluster/load_tests.h — the loads of Kueue's scheduler performance tests: how many
// queues there are, and which Workloads come at which pace.
//
// Source: Kueue test/performance/scheduler/configs: baseline, tas, large-scale.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace berth::bench {

// How the pods of a Workload ask for places: not at all, or by the level of racks.
enum class Placing { kNone, kRequired, kPreferred, kBalanced };

// Workloads of one kind: each queue gets `count` of them, one every `interval`.
struct WorkloadClass {
  std::string name;  // unique among the classes of a test
  std::string size;  // small, medium or large: what results are summed by
  int count = 0;
  std::chrono::milliseconds interval{};
  std::chrono::milliseconds run_time{};
  int priority = 0;
  std::string cpu;  // requests of one pod
  int pods = 1;
  Placing placing = Placing::kNone;
  int slice_pods = 0;  // kBalanced: the pods of one slice
};

// Each cohort has so many ClusterQueues with a quota of 20 CPUs each, of which a queue may borrow
// 100. Queues reclaim from any borrower, and preempt lower priorities.
struct LoadTest {
  int cohorts = 0;
  int queues_of_cohort = 0;
  int racks = 0;  // all in one block; 0: no topology
  int nodes_of_rack = 0;
  std::vector<WorkloadClass> classes;
};

// "baseline", "topology" or "queues"; null: there is no such test.
const LoadTest* FindLoadTest(std::string_view name);

}  // namespace berth::bench
