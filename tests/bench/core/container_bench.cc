// container_bench — the tree's own containers compared with those of the standard library and
// Boost, each in the access pattern of the deciding parts; nanoseconds of CPU per operation, median
// of nine alternating rounds.
//
//     SmallVector   lists of one or two elements, made, copied and read (usage, flavors, victims)
//     pairing heap  pending workloads: pushed in order, the first is decided and pushed again,
//                   some in the middle are erased, a parked half is joined
//     SharedList    a Workload that is copied because its status changes: 2 pod sets
//     QuotaCells    usage of a flavor-resource on the path of a ClusterQueue, three of its own of
//                   30,000 in the cohort
//     HeadIndex     queues with heads: one gets or loses one, 1,000 of 10,000 are walked by name
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <boost/container/flat_map.hpp>
#include <boost/container/small_vector.hpp>
#include <boost/heap/pairing_heap.hpp>

#include "admission/quota/quota_cells.h"
#include "admission/quota/quota_tree.h"
#include "api/workload.h"
#include "base/shared_list.h"
#include "base/small_vector.h"
#include "queue/head_index.h"
#include "queue/pairing_heap.h"
#include "tests/bench/support/process.h"

namespace berth::bench {
namespace {

constexpr int kRounds = 9;

std::uint64_t sink = 0;  // printed, so that the compiler keeps the loops

struct Rival {
  const char* name;
  std::function<void()> round;
  int operations = 0;  // the operations of a round
};

void Compare(const char* use, const std::vector<Rival>& rivals) {
  std::vector<std::array<double, kRounds>> times(rivals.size());
  for (std::size_t i = 0; i < kRounds; ++i) {
    for (std::size_t rival = 0; rival < rivals.size(); ++rival) {
      const double begin = OwnCpuSeconds();
      rivals[rival].round();
      times[rival][i] = (OwnCpuSeconds() - begin) * 1e9 / rivals[rival].operations;
    }
  }
  std::printf("%s\n", use);
  for (std::size_t rival = 0; rival < rivals.size(); ++rival) {
    std::nth_element(times[rival].begin(), times[rival].begin() + kRounds / 2, times[rival].end());
    std::printf("  %-44s %10.1f ns\n", rivals[rival].name, times[rival][kRounds / 2]);
  }
}

// --- Lists of one or two.

template <typename List>
void UseSmallLists() {
  constexpr std::size_t kLists = 1000;
  for (int repeat = 0; repeat < 200; ++repeat) {
    std::vector<List> lists(kLists);
    for (std::size_t i = 0; i < kLists; ++i) {
      lists[i].push_back({static_cast<std::int32_t>(i), 1000});
      if (i % 4 == 0) lists[i].push_back({static_cast<std::int32_t>(i + 1), 2000});
    }
    const std::vector<List> copies = lists;
    for (const List& list : copies) {
      for (const admission::FlavorResourceAmount& item : list) {
        sink += static_cast<std::uint64_t>(item.amount);
      }
    }
  }
}

void CompareSmallVectors() {
  using Item = admission::FlavorResourceAmount;
  constexpr int kOperations = 200 * 1000;
  Compare("a list of one or two, made, copied and read",
          {{"SmallVector", UseSmallLists<SmallVector<Item, 2>>, kOperations},
           {"boost::container::small_vector",
            UseSmallLists<boost::container::small_vector<Item, 2>>, kOperations},
           {"std::vector", UseSmallLists<std::vector<Item>>, kOperations}});
}

// --- Pending workloads.

struct Pending {
  std::int64_t priority = 0;
  std::int64_t queued_at = 0;
};

bool ComesBefore(const Pending& a, const Pending& b) {
  if (a.priority != b.priority) return a.priority > b.priority;
  return a.queued_at < b.queued_at;
}

constexpr int kPending = 20'000;

std::vector<Pending> MakePending() {
  std::mt19937 random(1);
  std::vector<Pending> pending(kPending);
  for (int i = 0; i < kPending; ++i) {
    pending[static_cast<std::size_t>(i)] = {static_cast<std::int64_t>(random() % 3) * 50, i};
  }
  return pending;
}

// `Queue` has Push, First, Erase and Join (of another one). Two queues, one of which is parked.
template <typename Queue>
void UseQueue(const std::vector<Pending>& pending) {
  Queue queue(pending);
  Queue parked(pending);
  for (int i = 0; i < kPending; ++i) (i % 2 == 0 ? queue : parked).Push(i);
  for (int i = 0; i < kPending / 2; ++i) {  // decided, and pushed again
    const int first = queue.First();
    sink += static_cast<std::uint64_t>(first);
    queue.Erase(first);
    if (i % 2 == 0) queue.Push(first);
  }
  queue.Join(parked);
  for (int i = 1; i < kPending / 2; i += 2) queue.Erase(i);  // the parked ones
}

class OwnHeap {
 public:
  explicit OwnHeap(const std::vector<Pending>& pending) : access_{pending, Links()} {}
  void Push(int node) { heap_ = queue::Insert(access_, heap_, node); }
  int First() const { return heap_; }
  void Erase(int node) { heap_ = queue::Erase(access_, heap_, node); }
  void Join(OwnHeap& other) { heap_ = queue::Meld(access_, heap_, other.heap_); }

 private:
  // Both queues of a round thread their heaps through the same nodes.
  static std::vector<queue::HeapLinks>& Links() {
    static std::vector<queue::HeapLinks> links(kPending);
    return links;
  }
  struct Access {
    const std::vector<Pending>& pending;
    std::vector<queue::HeapLinks>& nodes;
    queue::HeapLinks& links(queue::NodeIndex node) { return nodes[static_cast<std::size_t>(node)]; }
    bool before(queue::NodeIndex a, queue::NodeIndex b) const {
      return ComesBefore(pending[static_cast<std::size_t>(a)],
                         pending[static_cast<std::size_t>(b)]);
    }
  };
  Access access_;
  queue::NodeIndex heap_ = queue::kNoNode;
};

class StdSet {
 public:
  explicit StdSet(const std::vector<Pending>& pending) : set_(Order{&pending}) {}
  void Push(int node) { set_.insert(node); }
  int First() const { return *set_.begin(); }
  void Erase(int node) { set_.erase(node); }
  void Join(StdSet& other) { set_.merge(other.set_); }

 private:
  struct Order {
    const std::vector<Pending>* pending;
    bool operator()(int a, int b) const {
      return ComesBefore((*pending)[static_cast<std::size_t>(a)],
                         (*pending)[static_cast<std::size_t>(b)]);
    }
  };
  std::set<int, Order> set_;
};

class BoostHeap {
 public:
  explicit BoostHeap(const std::vector<Pending>& pending) : heap_(Order{&pending}) {}
  void Push(int node) { Handles()[static_cast<std::size_t>(node)] = heap_.push(node); }
  int First() const { return heap_.top(); }
  void Erase(int node) { heap_.erase(Handles()[static_cast<std::size_t>(node)]); }
  void Join(BoostHeap& other) { heap_.merge(other.heap_); }

 private:
  struct Order {
    const std::vector<Pending>* pending;
    bool operator()(int a, int b) const {  // the last is the top
      return ComesBefore((*pending)[static_cast<std::size_t>(b)],
                         (*pending)[static_cast<std::size_t>(a)]);
    }
  };
  using Heap = boost::heap::pairing_heap<int, boost::heap::compare<Order>>;
  static std::vector<Heap::handle_type>& Handles() {
    static std::vector<Heap::handle_type> handles(kPending);
    return handles;
  }
  Heap heap_;
};

void CompareHeaps() {
  const std::vector<Pending> pending = MakePending();
  constexpr int kOperations = kPending * 5 / 2;
  Compare("pending workloads, an operation",
          {{"pairing heap in the owner's nodes", [&] { UseQueue<OwnHeap>(pending); }, kOperations},
           {"boost::heap::pairing_heap", [&] { UseQueue<BoostHeap>(pending); }, kOperations},
           {"std::set", [&] { UseQueue<StdSet>(pending); }, kOperations}});
}

// --- Copies of a Workload's pod sets.

template <typename List>
void CopyPodSets(const List& pod_sets) {
  for (int i = 0; i < 20'000; ++i) {
    const List copy = pod_sets;
    sink += copy.size();
  }
}

void CompareSharedLists() {
  api::PodSet pod_set;
  pod_set.name = "main";
  api::Container container;
  container.name = "a container with a name";
  container.requests = {{"cpu", 1000}, {"memory", 1'000'000'000}, {"nvidia.com/gpu", 1}};
  pod_set.pod_template.spec.containers.push_back(container);
  const std::vector<api::PodSet> plain(2, pod_set);
  const SharedList<api::PodSet> shared(plain);
  Compare("a copy of two pod sets", {{"SharedList", [&] { CopyPodSets(shared); }, 20'000},
                                     {"std::vector", [&] { CopyPodSets(plain); }, 20'000}});
}

// --- Usage by flavor-resource.

constexpr int kLeaves = 10'000;
constexpr std::int32_t kOfLeaf = 3;

struct OwnCells {
  admission::QuotaCell& Make(std::int32_t fr) { return cells.Make(fr); }
  const admission::QuotaCell* Find(std::int32_t fr) const { return cells.Find(fr); }
  admission::QuotaCells cells;
};

template <typename Map>
struct MapCells {
  admission::QuotaCell& Make(std::int32_t fr) { return cells[fr]; }
  const admission::QuotaCell* Find(std::int32_t fr) const {
    const auto found = cells.find(fr);
    return found == cells.end() ? nullptr : &found->second;
  }
  Map cells;
};

template <typename Cells>
std::function<void()> CellUser() {
  auto nodes = std::make_shared<std::vector<Cells>>(kLeaves + 1);  // the last one is the cohort
  for (std::int32_t leaf = 0; leaf < kLeaves; ++leaf) {
    for (std::int32_t i = 0; i < kOfLeaf; ++i) {
      (*nodes)[static_cast<std::size_t>(leaf)].Make(leaf * kOfLeaf + i).usage = 1;
      nodes->back().Make(leaf * kOfLeaf + i).usage += 1;
    }
  }
  return [nodes] {
    std::mt19937 random(1);
    for (int i = 0; i < 200'000; ++i) {
      const auto leaf = static_cast<std::int32_t>(random() % kLeaves);
      const std::int32_t fr = leaf * kOfLeaf + i % kOfLeaf;
      sink += static_cast<std::uint64_t>((*nodes)[static_cast<std::size_t>(leaf)].Find(fr)->usage);
      sink += static_cast<std::uint64_t>(nodes->back().Find(fr)->usage);
    }
  };
}

void CompareCells() {
  using admission::QuotaCell;
  Compare("usage of a leaf and of its cohort",
          {{"QuotaCells", CellUser<OwnCells>(), 200'000},
           {"boost::container::flat_map",
            CellUser<MapCells<boost::container::flat_map<std::int32_t, QuotaCell>>>(), 200'000},
           {"std::unordered_map", CellUser<MapCells<std::unordered_map<std::int32_t, QuotaCell>>>(),
            200'000}});
}

// --- Queues with heads.

void CompareHeadIndexes() {
  constexpr int kQueues = 10'000;
  constexpr int kEvery = 10;
  queue::HeadIndex index;
  const queue::Names& names = index.names();
  const auto by_name = [&names](std::int32_t a, std::int32_t b) { return names[a] < names[b]; };
  std::set<std::int32_t, decltype(by_name)> set(by_name);
  for (int i = 0; i < kQueues; ++i) {
    const std::int32_t queue = index.names().Intern("team-" + std::to_string(i * 7919 % kQueues));
    index.Add(queue);
    if (i % kEvery != 0) continue;
    index.SetHead(queue, true);
    set.insert(queue);
  }
  // A cycle: half of the queues lose their head, others get one, and all heads are walked.
  const auto use = [](const auto& set_head, const auto& walk) {
    for (int cycle = 0; cycle < 20; ++cycle) {
      for (int i = 0; i < kQueues; i += 2 * kEvery) {
        set_head(i + (cycle % 2) * kEvery, false);
        set_head(i + ((cycle + 1) % 2) * kEvery, true);
      }
      walk();
    }
  };
  const auto own = [&] {
    use([&](std::int32_t queue, bool has_head) { index.SetHead(queue, has_head); },
        [&] {
          index.ForEachHead([](std::int32_t queue) { sink += static_cast<std::uint64_t>(queue); });
        });
  };
  const auto standard = [&] {
    use(
        [&](std::int32_t queue, bool has_head) {
          if (has_head) {
            set.insert(queue);
          } else {
            set.erase(queue);
          }
        },
        [&] {
          for (const std::int32_t queue : set) sink += static_cast<std::uint64_t>(queue);
        });
  };
  constexpr int kOperations = 20 * kQueues / kEvery;
  Compare("a head that comes or goes, and its part of a walk by name",
          {{"HeadIndex", own, kOperations}, {"std::set by name", standard, kOperations}});
}

int Main() {
  CompareSmallVectors();
  CompareHeaps();
  CompareSharedLists();
  CompareCells();
  CompareHeadIndexes();
  std::printf("(%llu)\n", static_cast<unsigned long long>(sink));
  return 0;
}

}  // namespace
}  // namespace berth::bench

int main() { return berth::bench::Main(); }
