// queue/pairing_heap.h — an intrusive heap in its owner's nodes: insert and meld in O(1), erase
// anywhere and pop in O(log n) amortised. A heap is the number of its root node, kNoNode if empty.
//
// An ordinary pairing heap defers comparisons to the first pop, which then costs the number of
// inserted nodes. Here Insert joins heaps of equal rank at once, as a binary counter carries: nodes
// inserted in their order, as workloads are, never form a long list.
//
// `Access` gives links(node) -> HeapLinks& and before(a, b), a total order that does not change
// while the nodes are in the heap.
//
// Threads: one. Errors: none.
// Source: Fredman, Sedgewick, Sleator, Tarjan: The pairing heap (1986).
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/small_vector.h"

namespace berth::queue {

using NodeIndex = std::int32_t;
inline constexpr NodeIndex kNoNode = -1;

struct HeapLinks {
  NodeIndex child = kNoNode;  // first child
  NodeIndex next = kNoNode;   // next sibling
  NodeIndex prev = kNoNode;   // previous sibling, or the parent of a first child; none for the root
  std::uint8_t rank = 0;      // two heaps of rank n make one of rank n + 1, of 2^(n + 1) or more
};

// Joins two heaps.
template <typename Access>
NodeIndex Meld(Access& access, NodeIndex a, NodeIndex b) {
  if (a == kNoNode) return b;
  if (b == kNoNode) return a;
  if (access.before(b, a)) std::swap(a, b);
  HeapLinks& parent = access.links(a);
  HeapLinks& child = access.links(b);
  parent.rank = parent.rank == child.rank ? static_cast<std::uint8_t>(parent.rank + 1)
                                          : std::max(parent.rank, child.rank);
  child.prev = a;
  child.next = parent.child;
  if (parent.child != kNoNode) access.links(parent.child).prev = b;
  parent.child = b;
  return a;
}

// Inserts `node`, which is in no heap.
template <typename Access>
NodeIndex Insert(Access& access, NodeIndex heap, NodeIndex node) {
  access.links(node) = HeapLinks{};
  if (heap == kNoNode || access.before(node, heap)) return Meld(access, heap, node);
  HeapLinks& root = access.links(heap);
  while (root.child != kNoNode && access.links(root.child).rank == access.links(node).rank) {
    const NodeIndex equal = root.child;
    HeapLinks& taken = access.links(equal);
    root.child = taken.next;
    taken.next = taken.prev = kNoNode;
    node = Meld(access, equal, node);
  }
  if (root.child != kNoNode) access.links(root.child).prev = node;
  access.links(node).next = root.child;
  access.links(node).prev = heap;
  root.child = node;
  return heap;
}

// Joins a list of siblings into one heap: pairs from the left, then all pairs from the right.
template <typename Access>
NodeIndex MeldSiblings(Access& access, NodeIndex first) {
  NodeIndex pairs = kNoNode;  // linked by next, last pair first
  while (first != kNoNode) {
    const NodeIndex second = access.links(first).next;
    const NodeIndex rest = second == kNoNode ? kNoNode : access.links(second).next;
    access.links(first).next = access.links(first).prev = kNoNode;
    if (second != kNoNode) access.links(second).next = access.links(second).prev = kNoNode;
    const NodeIndex pair = Meld(access, first, second);
    access.links(pair).next = pairs;
    pairs = pair;
    first = rest;
  }
  NodeIndex heap = kNoNode;
  while (pairs != kNoNode) {
    const NodeIndex next = access.links(pairs).next;
    access.links(pairs).next = kNoNode;
    heap = Meld(access, heap, pairs);
    pairs = next;
  }
  return heap;
}

// Removes `node`, which is in the heap.
template <typename Access>
NodeIndex Erase(Access& access, NodeIndex heap, NodeIndex node) {
  const HeapLinks links = access.links(node);
  access.links(node) = HeapLinks{};
  const NodeIndex below = MeldSiblings(access, links.child);
  if (node == heap) return below;
  HeapLinks& before = access.links(links.prev);
  (before.child == node ? before.child : before.next) = links.next;
  if (links.next != kNoNode) access.links(links.next).prev = links.prev;
  return Meld(access, heap, below);
}

// Calls visit(node) for each node, in no particular order.
template <typename Access, typename Visit>
void ForEach(Access& access, NodeIndex heap, Visit visit) {
  SmallVector<NodeIndex, 32> open;
  if (heap != kNoNode) open.push_back(heap);
  while (!open.empty()) {
    const NodeIndex node = open.back();
    open.pop_back();
    visit(node);
    for (NodeIndex child = access.links(node).child; child != kNoNode;
         child = access.links(child).next) {
      open.push_back(child);
    }
  }
}

}  // namespace berth::queue
