// queue/pending_queue.h — the workloads that wait in one ClusterQueue.
//
//     Push ──▶ active ──▶ Head() is decided ──▶ stays | Park | BackOff | Remove
//                ▲  └──BulkPark(shape)──▶ parked, in backoff ─┐
//                └────────────────────Wake──────────────────┘
//
// Active workloads compete for the head; parked ones have been tried, or equal ones have, and wait
// for a change; those in backoff wait for an instant or for another controller (Requeued=False).
// Workloads of one shape and namespace form a group: a whole group is parked and woken at once, so
// the cost does not depend on the number of waiting workloads.
//
// A queue that orders by usage (admission fair sharing) orders by the LocalQueue's usage first;
// each of its groups is of one LocalQueue. A queue whose users take turns orders by the user's
// share after the priority; each of its groups is of one user.
//
// The nodes are in a vector that all queues of the owner share; a node is in at most one queue. The
// order of a node's key must not change while the node is in a queue.
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
#include "queue/pending_counts.h"

namespace berth::queue {

// The list of a queue that has a workload.
enum class PendingIn : std::uint8_t { kNothing, kGroup, kBackoff };

// Which of the workloads parked in bulk BulkPark returns. kAll costs the number of workloads; kNew
// returns each workload once after its Push, and costs that once per workload. All queues have the
// same value, which never changes.
enum class Listing : std::uint8_t { kNo, kNew, kAll };

struct PendingNode {
  OrderKey key;
  WallTime queued_at{};          // the queue-order instant
  std::int64_t run_seconds = 0;  // expected
  WallTime deadline = kNoDeadline;
  std::uint64_t shape = 0;
  std::optional<WallTime> requeue_at;     // earliest instant to requeue
  std::int64_t generation = 0;            // generation of the object
  std::int64_t evaluated_generation = 0;  // generation when last taken as a head
  HeapLinks links;
  std::int32_t namespace_id = -1;
  std::int32_t local_queue = -1;
  std::int32_t cluster_queue = -1;  // the queue that it waits in; -1: none
  std::int32_t index = -1;          // index of the group, or of the slot in backoff
  std::int32_t member_index = -1;   // index in its LocalQueue's list
  std::int32_t user = -1;           // number of the submitter (QueuePlaces::UserOf)
  CounterId counter = kNoCounter;   // SetCounter changes the counter of a node in a queue
  PendingIn pending_in = PendingIn::kNothing;
  std::uint8_t bag = 0;         // bag of its group
  bool kept = false;            // the queue keeps a place for it
  bool requeued_false = false;  // condition Requeued is False
  bool named = false;           // returned by BulkPark (Listing::kNew)
};

class PendingQueue {
 public:
  // `number`: the number of the ClusterQueue, as in its nodes. `usages`: by number of the
  // LocalQueue. `shares`: the shares of users that are above 0, by number of the user. `counts`
  // gets the numbers of active workloads.
  using UserShares = std::unordered_map<std::int32_t, double>;  // looked up, never walked
  PendingQueue(std::int32_t number, Listing listing, std::vector<PendingNode>& nodes,
               const std::vector<double>& usages, const UserShares& shares, PendingCounts& counts)
      : number_(number),
        listing_(listing),
        nodes_(nodes),
        usages_(usages),
        user_shares_(shares),
        counts_(counts) {}

  // The criteria that come before the places of workloads: the usage of their LocalQueues, the
  // turns of users.
  struct Order {
    bool by_usage = false;
    bool by_user = false;
    friend bool operator==(const Order&, const Order&) = default;
  };
  // Precondition: the queue is empty.
  void SetOrder(Order order) { by_ = order; }
  Order order() const { return by_; }
  void Resort();  // call after usages or shares changed

  // Precondition: `node` is in no queue.
  void Push(NodeIndex node);
  // Precondition: `node` is in no queue, or active in this one.
  void Park(NodeIndex node);
  void BackOff(NodeIndex node);
  void Remove(NodeIndex node);  // from any list; drops a sticky preemptor
  void SetCounter(NodeIndex node, CounterId counter);

  NodeIndex Head() const;  // kNoNode without an active workload
  // Prefetches the data of Head.
  void ExpectHead() const { Prefetch(order_.data(), sizeof(OrderEntry)); }

  // Parks all active workloads of the shape of `like`, and marks the shape (IsMarked). Appends
  // parked workloads to `parked` as the listing says.
  void BulkPark(NodeIndex like, std::vector<NodeIndex>& parked);
  bool IsMarked(std::uint64_t shape) const;
  bool IsActive(NodeIndex node) const;
  // Parked workloads of marked shapes that precede the node (kNoNode: all), the first of each
  // namespace and shape, in order, at most `most`; O(number of marked shapes).
  std::vector<NodeIndex> ParkedBefore(NodeIndex node, std::size_t most) const;

  // Makes active: the parked groups whose namespace passes, and the workloads in backoff whose
  // instant has come; not the groups and workloads whose highest priority is below `from`. Drops
  // all marks but those of shapes whose workloads are all below `from`. Returns the number of woken
  // workloads; appends them to `woken` if that is not null.
  std::int64_t Wake(WallTime now, std::int64_t from,
                    const std::function<bool(std::int32_t)>& namespace_passes,
                    std::vector<NodeIndex>* woken);

  // The workload whose preemptions are under way. A sticky preemptor precedes all others.
  struct Preemptor {
    NodeIndex node = kNoNode;
    std::int64_t generation = 0;
    bool sticky = false;
    bool before_usage = false;  // precedes also LocalQueues with less usage
  };
  const Preemptor& preemptor() const { return preemptor_; }
  void SetPreemptor(const Preemptor& preemptor);

  std::int64_t active_count() const { return active_count_; }
  std::int64_t waiting_count() const { return parked_count_ + backoff_count(); }

  // Numbers of shapes among the active and among the waiting workloads; O(number of shapes).
  struct ShapeCounts {
    std::int64_t active = 0;
    std::int64_t waiting = 0;
  };
  ShapeCounts CountShapes() const;

  // Sorted; O(n log n).
  std::vector<NodeIndex> Active() const;
  std::vector<NodeIndex> Inadmissible() const;  // parked and in backoff
  std::vector<NodeIndex> All() const;           // active and inadmissible, in one order
  // Active and inadmissible, in no order; O(n).
  std::vector<NodeIndex> Unsorted() const;
  PendingRank RankOf(NodeIndex node) const;

 private:
  // Members of one counter, by bag.
  struct Share {
    CounterId counter = kNoCounter;
    std::int32_t count[2] = {0, 0};
  };
  // Two heaps, one of them active: parking or waking the whole group exchanges their roles.
  struct Bag {
    NodeIndex heap = kNoNode;
    std::int64_t count = 0;
  };
  struct Group {
    std::int32_t shape = -1;  // index in shapes_
    std::int32_t namespace_id = -1;
    std::int32_t local_queue = -1;  // -1: any LocalQueue
    std::int32_t user = -1;         // -1: any user
    Bag bags[2];
    SmallVector<Share, 1> shares;  // none where workloads are not counted
    std::uint8_t active_bag = 0;
    bool listed_as_parked = false;
    std::int32_t position = -1;  // index in order_; -1: no active workloads
    // Listing::kNew: all workloads not returned yet, and some that have left.
    std::vector<NodeIndex> newcomers;

    Bag& active() { return bags[active_bag]; }
    Bag& parked() { return bags[1 - active_bag]; }
    const Bag& active() const { return bags[active_bag]; }
    const Bag& parked() const { return bags[1 - active_bag]; }
  };
  struct ShapeGroups {
    std::uint64_t hash = 0;
    SmallVector<std::int32_t, 2> groups;
    bool marked = false;
  };
  // The key of a group's first active workload, copied here to keep comparisons in the cache.
  struct OrderEntry {
    std::int64_t priority = 0;
    WallTime place{};
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
  // The user's share that orders the node; 0 where users take no turns.
  double ShareOf(NodeIndex node) const;
  std::int32_t ShapeFor(std::uint64_t hash);
  void DropShapeIfUnused(std::int32_t index);
  std::int32_t GroupFor(const PendingNode& node);
  void DropIfEmpty(std::int32_t index);
  void Take(NodeIndex node);  // removes from group or slot
  void Count(Group& of, CounterId counter, std::uint8_t bag, std::int32_t more);
  bool EntryBefore(const OrderEntry& a, const OrderEntry& b) const;
  OrderEntry EntryOf(std::int32_t index) const;
  void Reorder(std::int32_t index);  // call after the group's active heap changed
  void SiftUp(std::size_t position);
  void SiftDown(std::size_t position);
  void Swap(std::size_t a, std::size_t b);
  void PutIntoBag(NodeIndex node, std::int32_t index, std::uint8_t bag);
  // Moves the whole group into one bag, the parked or the active one. Moved nodes go to `list`.
  enum class Side : std::uint8_t { kActive, kParked };
  void MoveAll(std::int32_t index, Side to, std::vector<NodeIndex>* list);
  void ListAsParked(std::int32_t index);
  void AddNewcomer(NodeIndex node, std::int32_t index);
  bool IsNewcomer(NodeIndex node, std::int32_t index) const;
  void NameNewcomers(std::int32_t index, std::vector<NodeIndex>& list);
  bool MayWake(const PendingNode& node, WallTime now) const;
  // Whether the shape has workloads in groups, all of a priority below `from`.
  bool IsBelow(const ShapeGroups& shape, std::int64_t from) const;
  void DropMarks(std::int64_t from);
  std::vector<NodeIndex> Sorted(std::vector<NodeIndex> list) const;
  void AppendActive(std::vector<NodeIndex>& list) const;
  void AppendInadmissible(std::vector<NodeIndex>& list) const;

  const std::int32_t number_;
  const Listing listing_;
  std::vector<PendingNode>& nodes_;
  const std::vector<double>& usages_;
  const UserShares& user_shares_;
  PendingCounts& counts_;
  Order by_;
  std::vector<Group> groups_;
  std::vector<std::int32_t> free_groups_;
  std::vector<OrderEntry> order_;  // binary heap of the groups with active workloads
  std::vector<ShapeGroups> shapes_;
  std::vector<std::int32_t> free_shapes_;
  std::unordered_map<std::uint64_t, std::int32_t> shape_numbers_;  // looked up, never walked
  std::vector<std::int32_t> marked_shapes_;
  std::vector<std::int32_t> parked_groups_;  // all groups with parked workloads, and others
  std::vector<std::int32_t> woken_groups_;   // scratch
  std::vector<NodeIndex> in_backoff_;
  Preemptor preemptor_;
  std::int64_t active_count_ = 0;
  std::int64_t parked_count_ = 0;
};

}  // namespace berth::queue
