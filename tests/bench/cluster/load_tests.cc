#include "tests/bench/cluster/load_tests.h"

#include <utility>

namespace berth::bench {
namespace {

using std::chrono::milliseconds;

constexpr int kSmall = 50;  // priorities
constexpr int kMedium = 100;
constexpr int kLarge = 200;

LoadTest MakeBaseline() {
  return {
      .cohorts = 5,
      .queues_of_cohort = 6,
      .classes = {{"small", "small", 350, milliseconds(100), milliseconds(200), kSmall, "1"},
                  {"medium", "medium", 100, milliseconds(500), milliseconds(500), kMedium, "5"},
                  {"large", "large", 50, milliseconds(1200), milliseconds(1000), kLarge, "20"}}};
}

LoadTest MakeQueues() {
  return {.cohorts = 10,
          .queues_of_cohort = 100,
          .classes = {{"small", "small", 35, milliseconds(60), milliseconds(150), kSmall, "1"},
                      {"medium", "medium", 11, milliseconds(300), milliseconds(350), kMedium, "5"},
                      {"large", "large", 4, milliseconds(700), milliseconds(700), kLarge, "20"}}};
}

// The Workloads of the baseline, each split into pods, a third of them for each way of placing.
LoadTest MakeTopology() {
  struct Size {
    int pods;
    int slice_pods;
    const char* cpu;
    int counts[3];
  };
  const Size sizes[] = {{2, 1, "500m", {120, 120, 110}},
                        {4, 2, "1250m", {34, 33, 33}},
                        {8, 4, "2500m", {17, 17, 16}}};
  const std::pair<Placing, const char*> ways[] = {{Placing::kRequired, "required"},
                                                  {Placing::kPreferred, "preferred"},
                                                  {Placing::kBalanced, "balanced"}};
  LoadTest test = MakeBaseline();
  test.racks = 10;
  test.nodes_of_rack = 64;
  const std::vector<WorkloadClass> whole = std::exchange(test.classes, {});
  for (std::size_t i = 0; i < whole.size(); ++i) {
    for (std::size_t way = 0; way < std::size(ways); ++way) {
      WorkloadClass split = whole[i];
      split.name += std::string("-") + ways[way].second;
      split.count = sizes[i].counts[way];
      split.cpu = sizes[i].cpu;
      split.pods = sizes[i].pods;
      split.placing = ways[way].first;
      split.slice_pods = split.placing == Placing::kBalanced ? sizes[i].slice_pods : 0;
      test.classes.push_back(std::move(split));
    }
  }
  return test;
}

// All Workloads fit; four creators.
LoadTest MakeHot() {
  LoadTest test{.cohorts = 1, .queues_of_cohort = 1, .quota = "10000", .classes = {}};
  for (const char* name : {"a", "b", "c", "d"}) {
    test.classes.push_back({name, "small", 2500, milliseconds(0), milliseconds(100), kSmall, "1"});
  }
  return test;
}

LoadTest MakeNamespaces() {
  return {.cohorts = 10,
          .queues_of_cohort = 100,
          .namespaces_of_queue = 10,
          .classes = {{"small", "small", 1, milliseconds(0), milliseconds(200), kSmall, "1"}}};
}

// 200,000 Workloads, of which 20 in each queue fit.
LoadTest MakeCold() {
  LoadTest test{.cohorts = 5, .queues_of_cohort = 6, .classes = {}};
  for (const char* name : {"a", "b"}) {
    test.classes.push_back({name, "small", 3334, milliseconds(0), milliseconds(200), kSmall, "1"});
  }
  return test;
}

// 100,000 gated pods in 10,000 groups, and 5,000 nodes.
LoadTest MakeGroups() {
  LoadTest test{
      .cohorts = 5, .queues_of_cohort = 4, .racks = 50, .nodes_of_rack = 100, .classes = {}};
  for (const char* name : {"a", "b"}) {
    test.classes.push_back({.name = name,
                            .size = "small",
                            .count = 250,
                            .run_time = milliseconds(200),
                            .priority = kSmall,
                            .cpu = "1",
                            .group_pods = 10});
  }
  return test;
}

using NamedTest = std::pair<std::string_view, LoadTest>;

const std::vector<NamedTest>& AllTests() {
  static const std::vector<NamedTest> tests = {
      {"baseline", MakeBaseline()}, {"topology", MakeTopology()},     {"queues", MakeQueues()},
      {"hot", MakeHot()},           {"namespaces", MakeNamespaces()}, {"cold", MakeCold()},
      {"groups", MakeGroups()}};
  return tests;
}

}  // namespace

std::string LoadTestNames() {
  std::string names;
  for (const auto& [name, test] : AllTests()) {
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  return names;
}

const LoadTest* FindLoadTest(std::string_view name) {
  for (const auto& [known, test] : AllTests()) {
    if (known == name) return &test;
  }
  return nullptr;
}

}  // namespace berth::bench
