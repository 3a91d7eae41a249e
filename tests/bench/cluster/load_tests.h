// tests/bench/cluster/load_tests.h — loads of a manager: how many queues there are, and which
// Workloads come at which pace. Three are those of Kueue's scheduler performance tests; Berth's own
// have one queue ("hot"), ten namespaces a ClusterQueue ("namespaces"), Workloads that wait before
// the manager starts ("cold"), or groups of pods that do so beside thousands of nodes ("groups").
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

// Workloads of one kind: each LocalQueue gets `count` of them, one every `interval`.
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
  int group_pods = 0;  // so many gated pods of a group are created in place of the Workload
};

// Each cohort has so many ClusterQueues; a queue may borrow 100 CPUs. Queues reclaim from any
// borrower, and preempt lower priorities.
struct LoadTest {
  int cohorts = 0;
  int queues_of_cohort = 0;
  int namespaces_of_queue = 1;  // each has a LocalQueue, and Workloads of every class
  std::string quota = "20";     // CPUs of a ClusterQueue
  int racks = 0;                // all in one block; 0: no topology
  int nodes_of_rack = 0;
  std::vector<WorkloadClass> classes;
};

// One of LoadTestNames; null: there is no such test.
const LoadTest* FindLoadTest(std::string_view name);
// "baseline, topology, …", for messages.
std::string LoadTestNames();

}  // namespace berth::bench
