#include "queue/pairing_heap.h"

#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace berth::queue {
namespace {

// Nodes in the order of their numbers; counts comparisons.
struct Nodes {
  explicit Nodes(int count) : all(static_cast<std::size_t>(count)) {}
  HeapLinks& links(NodeIndex node) { return all[static_cast<std::size_t>(node)]; }
  bool before(NodeIndex a, NodeIndex b) {
    ++comparisons;
    return a < b;
  }
  std::vector<HeapLinks> all;
  int comparisons = 0;
};

TEST(PairingHeap, AgreesWithASetAfterRandomOperations) {
  constexpr int kNodes = 300;
  for (unsigned seed = 1; seed <= 30; ++seed) {
    std::mt19937 random(seed);
    Nodes nodes(kNodes);
    NodeIndex heaps[2] = {kNoNode, kNoNode};
    std::set<NodeIndex> expected[2];
    for (int step = 0; step < 2000; ++step) {
      const auto node = static_cast<NodeIndex>(random() % kNodes);
      const std::size_t side = random() % 2;
      const std::size_t holder = expected[0].contains(node) ? 0 : 1;
      if (expected[holder].contains(node)) {
        heaps[holder] = Erase(nodes, heaps[holder], node);
        expected[holder].erase(node);
      } else {
        heaps[side] = Insert(nodes, heaps[side], node);
        expected[side].insert(node);
      }
      if (random() % 100 == 0) {
        heaps[0] = Meld(nodes, heaps[0], heaps[1]);
        expected[0].merge(expected[1]);
        heaps[1] = kNoNode;
      }
      for (const std::size_t i : {0U, 1U}) {
        ASSERT_EQ(heaps[i], expected[i].empty() ? kNoNode : *expected[i].begin())
            << "seed " << seed;
        std::set<NodeIndex> visited;
        if (step % 50 == 0) {
          ForEach(nodes, heaps[i], [&](NodeIndex seen) { visited.insert(seen); });
          ASSERT_EQ(visited, expected[i]) << "seed " << seed;
        }
      }
    }
  }
}

// The first pop after many insertions must not pay for all of them.
TEST(PairingHeap, CostOfAPopDoesNotGrowWithTheInsertions) {
  constexpr int kNodes = 1 << 16;
  Nodes nodes(kNodes);
  NodeIndex heap = kNoNode;
  for (NodeIndex node = 0; node < kNodes; ++node) heap = Insert(nodes, heap, node);
  EXPECT_LE(nodes.comparisons, 2 * kNodes);
  for (NodeIndex node = 0; node < kNodes; ++node) {
    ASSERT_EQ(heap, node);
    nodes.comparisons = 0;
    heap = Erase(nodes, heap, node);
    ASSERT_LE(nodes.comparisons, 64) << "pop " << node;
  }
}

}  // namespace
}  // namespace berth::queue
