// queue/pending_queue.h — the workloads that wait in one ClusterQueue.
//
//     Push ──▶ active ──▶ Head() is decided ──▶ stays | Park | BackOff | Remove
//                ▲  └──BulkPark(shape)──▶ parked, in backoff ─┐
//                └────────────────────Wake──────────────────┘
//
// Active ones compete for the head; parked ones have been tried, or equal ones have, and wait until
// something changes; those in backoff wait for an instant or for somebody else (Requeued=False).
// Workloads of one shape and namespace form a group: a whole group is parked and woken at once, so
// neither costs what the number of waiting workloads is.
//
// A queue that orders by usage (admission fair sharing) puts the LocalQueue that used least before
// everything else; its groups are of one LocalQueue each.
//
// The nodes live in a vector that the owner shares between its queues; a node is in one queue at
// most. The order of a node's key must not change while it is in a queue.
//
// Threads: one. Errors: none.
// Source: Kueue pkg/cache/queue (ClusterQueue, PendingWorkloads), KEP-9694 (equivalence).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>  // lookup only
#include <vector>

#include "base/clock.h"
#include "base/prefetch.h"
#include "base/small_vector.h"
#include "queue/ordering.h"
#include "queue/pairing_heap.h"

namespace berth::queue {

// Where a queue has a workload.
enum class PendingIn : std::uint8_t { kNothing, kGroup, kBackoff };

// Which of those that are parked in bulk are named: to name all costs what they are; those that
// have not been named since they came in cost each of them once. It is that of all queues, for
// good.
enum class Listing : std::uint8_t { kNo, kNew, kAll };

struct PendingNode {
  OrderKey key;
  std::uint64_t shape = 0;
  std::optional<WallTime> requeue_at;     // not before
  std::int64_t generation = 0;            // of the object
  std::int64_t evaluated_generation = 0;  // when it was last taken as a head
  HeapLinks links;
  std::int32_t namespace_id = -1;
  std::int32_t local_queue = -1;
  std::int32_t cluster_queue = -1;  // that it waits in; -1: none
  std::int32_t index = -1;          // of its group; of its slot among those in backoff
  std::int32_t member_index = -1;   // in its LocalQueue's list
  PendingIn pending_in = PendingIn::kNothing;
  std::uint8_t bag = 0;         // of its group
  bool requeued_false = false;  // condition Requeued is False: somebody else must release it
  bool named = false;           // as parked in bulk (Listing::kNew)
};

class PendingQueue {
 public:
  // `number`: of the ClusterQueue, as in its nodes. `usages`: of each LocalQueue, by its number.
  PendingQueue(std::int32_t number, Listing listing, std::vector<PendingNode>& nodes,
               const std::vector<double>& usages)
      : number_(number), listing_(listing), nodes_(nodes), usages_(usages) {}

  // The queue must be empty.
  enum class Order : std::uint8_t { kPlain, kByUsage };
  void SetOrder(Order order) { by_usage_ = order == Order::kByUsage; }
  bool by_usage() const { return by_usage_; }
  void UsageChanged();  // of some LocalQueue

  // `node` is in no queue.
  void Push(NodeIndex node);
  // `node` is in no queue, or an active one of this one.
  void Park(NodeIndex node);
  void BackOff(NodeIndex node);
  void Remove(NodeIndex node);  // from wherever it is in this queue; forgets the sticky one

  NodeIndex Head() const;  // kNoNode without an active workload
  // Somebody will ask for it soon.
  void ExpectHead() const { Prefetch(order_.data(), sizeof(OrderEntry)); }

  // Parks all active workloads of the shape of `like`, and from now on those that IsMarked() is
  // asked about. Appends those that the listing says to `parked`.
  void BulkPark(NodeIndex like, std::vector<NodeIndex>& parked);
  bool IsMarked(std::uint64_t shape) const;
  bool IsActive(NodeIndex node) const;
  bool IsWaiting(NodeIndex node) const;  // parked or in backoff

  // Makes parked workloads whose namespace passes, and those in backoff whose instant has come,
  // active; forgets all marks. Returns how many; appends them to `woken` if that is not null.
  std::int64_t Wake(WallTime now, const std::function<bool(std::int32_t)>& namespace_passes,
                    std::vector<NodeIndex>* woken);

  // The workload whose preemptions are under way. A sticky one stands before all others.
  struct Preemptor {
    NodeIndex node = kNoNode;
    std::int64_t generation = 0;
    bool sticky = false;
    bool before_usage = false;  // and that before LocalQueues that used less
  };
  const Preemptor& preemptor() const { return preemptor_; }
  void SetPreemptor(const Preemptor& preemptor);

  std::int64_t active_count() const { return active_count_; }
  std::int64_t waiting_count() const { return parked_count_ + backoff_count(); }

  // In order; O(n log n).
  std::vector<NodeIndex> Active() const;
  std::vector<NodeIndex> Inadmissible() const;  // parked and in backoff

 private:
  // Two heaps, of which one is the active one: parking or waking the whole group turns the flag.
  struct Bag {
    NodeIndex heap = kNoNode;
    std::int64_t count = 0;
  };
  struct Group {
    std::int32_t shape = -1;  // in shapes_
    std::int32_t namespace_id = -1;
    std::int32_t local_queue = -1;  // -1: of any
    Bag bags[2];
    std::uint8_t active_bag = 0;
    bool listed_as_parked = false;
    std::int32_t position = -1;  // in order_; -1 without active ones
    // With Listing::kNew all that have not been named, and some that have left.
    std::vector<NodeIndex> newcomers;

    Bag& active() { return bags[active_bag]; }
    Bag& parked() { return bags[1 - active_bag]; }
    const Bag& active() const { return bags[active_bag]; }
  };
  struct ShapeGroups {
    std::uint64_t hash = 0;
    SmallVector<std::int32_t, 2> groups;
    bool marked = false;
  };
  // What the order looks at of a group's first active workload, so that comparing stays here.
  struct OrderEntry {
    std::int64_t priority = 0;
    WallTime queued_at{};
    NodeIndex first = kNoNode;
    std::int32_t group = -1;
  };
  struct Access {
    std::vector<PendingNode>& nodes;
    HeapLinks& links(NodeIndex node) { return nodes[static_cast<std::size_t>(node)].links; }
    bool before(NodeIndex a, NodeIndex b) const {
      return Before(nodes[static_cast<std::size_t>(a)].key, nodes[static_cast<std::size_t>(b)].key);
    }
  };

  PendingNode& at(NodeIndex node) const { return nodes_[static_cast<std::size_t>(node)]; }
  Group& group(std::int32_t index) { return groups_[static_cast<std::size_t>(index)]; }
  std::int64_t backoff_count() const { return static_cast<std::int64_t>(in_backoff_.size()); }
  double UsageOf(std::int32_t local_queue) const;
  std::int32_t ShapeFor(std::uint64_t hash);
  void DropShapeIfUnused(std::int32_t index);
  std::int32_t GroupFor(const PendingNode& node);
  void DropIfEmpty(std::int32_t index);
  void Take(NodeIndex node);  // out of its group or slot
  bool EntryBefore(const OrderEntry& a, const OrderEntry& b) const;
  OrderEntry EntryOf(std::int32_t index) const;
  void Reorder(std::int32_t index);  // after its active heap changed
  void SiftUp(std::size_t position);
  void SiftDown(std::size_t position);
  void Swap(std::size_t a, std::size_t b);
  void PutIntoBag(NodeIndex node, std::int32_t index, std::uint8_t bag);
  // All of the group into one bag, its parked or its active one. The moved ones go to `list`.
  enum class Side : std::uint8_t { kActive, kParked };
  void MoveAll(std::int32_t index, Side to, std::vector<NodeIndex>* list);
  void ListAsParked(std::int32_t index);
  void AddNewcomer(NodeIndex node, std::int32_t index);
  bool IsNewcomer(NodeIndex node, std::int32_t index) const;
  void NameNewcomers(std::int32_t index, std::vector<NodeIndex>& list);
  bool MayWake(const PendingNode& node, WallTime now) const;
  std::vector<NodeIndex> Sorted(std::vector<NodeIndex> list) const;

  const std::int32_t number_;
  const Listing listing_;
  std::vector<PendingNode>& nodes_;
  const std::vector<double>& usages_;
  bool by_usage_ = false;
  std::vector<Group> groups_;
  std::vector<std::int32_t> free_groups_;
  std::vector<OrderEntry> order_;  // binary heap of the groups with active workloads
  std::vector<ShapeGroups> shapes_;
  std::vector<std::int32_t> free_shapes_;
  std::unordered_map<std::uint64_t, std::int32_t> shape_numbers_;  // looked up, never walked
  std::vector<std::int32_t> marked_shapes_;
  std::vector<std::int32_t> parked_groups_;  // all that have parked workloads, and perhaps others
  std::vector<std::int32_t> woken_groups_;   // scratch
  std::vector<NodeIndex> in_backoff_;
  Preemptor preemptor_;
  std::int64_t active_count_ = 0;
  std::int64_t parked_count_ = 0;
};

}  // namespace berth::queue
