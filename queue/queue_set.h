// queue/queue_set.h — all waiting workloads: the queue of each, the head of each queue, the parked
// ones, and the moves that a decision or a change causes.
//
//     Upsert ─▶ LocalQueue ─▶ ClusterQueue ─▶ TakeHeads ─▶ Requeue ─▶ active | inadmissible
//                                  ▲                                        │
//                                  └────────────────── Wake ◀───────────────┘
//
// Workloads are numbers of the owner (admission/scheduler.h), dense and reused. A queue exists in
// this set as soon as an object names it, so that objects may come in any order; a workload is
// queued once its LocalQueue and ClusterQueue are present and the LocalQueue is not stopped.
//
// Threads: one. Errors: none; an unknown number is a bug of the caller.
// Source: Kueue pkg/cache/queue (Manager), KEP-78, KEP-9694.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/object_meta.h"
#include "api/queues.h"
#include "base/clock.h"
#include "base/prefetch.h"
#include "queue/head_index.h"
#include "queue/names.h"
#include "queue/pending_counts.h"
#include "queue/pending_queue.h"
#include "queue/workload_info.h"

namespace berth::queue {

using WorkloadId = NodeIndex;

// The reasons to requeue a head. Source: Kueue's RequeueReason, with the words of Kueue's log.
enum class RequeueReason : std::uint8_t {
  kGeneric,
  kFailedAfterNomination,
  kPendingPreemption,
  kPreemptionFailed,
  kNoFit,
  kPreemptionNoCandidates,
  kPreemptionGated,
  kNamespaceMismatch,
};
const char* ToString(RequeueReason reason);  // "" for kGeneric

enum class Destination : std::uint8_t { kNone, kActive, kInadmissible };

struct ClusterQueueSettings {
  api::QueueingStrategy strategy = api::QueueingStrategy::kBestEffortFifo;
  std::optional<api::LabelSelector> namespace_selector;  // nullopt: no namespace
  bool active = false;                                   // false: the queue gives no heads
  bool by_usage = false;  // admission fair sharing; needs QueueSet::OrderByUsage
};

struct Head {
  WorkloadId workload = kNoNode;
  ClusterQueueId cluster_queue = -1;
};

class QueueSet {
 public:
  // `listing`: which of the workloads that Requeue parks in bulk are returned.
  explicit QueueSet(bool equivalence_hashing, Listing listing = Listing::kNo)
      : equivalence_hashing_(equivalence_hashing), listing_(listing) {}

  // ClusterQueues with `by_usage` order by the usage of LocalQueues from now on.
  void OrderByUsage() { order_by_usage_ = true; }
  void SetUsage(const api::ObjectKey& local_queue, double usage);

  // Workloads are counted from now on; call it before the first one. See queue/pending_counts.h.
  void CountPending(PendingCounts::ValuesOf values_of) { counts_.SwitchOn(std::move(values_of)); }
  std::vector<PendingCounts::Count> TakePendingCounts() { return counts_.TakeChanged(); }

  // ClusterQueues. A name keeps the number that this function returns.
  ClusterQueueId ClusterQueueNumber(const std::string& name);
  const std::string& ClusterQueueName(ClusterQueueId queue) const {
    return present_.names()[queue];
  }
  void SetClusterQueue(ClusterQueueId queue, const ClusterQueueSettings& settings);
  void SetActive(ClusterQueueId queue, bool active);  // changes ClusterQueueSettings::active
  void RemoveClusterQueue(ClusterQueueId queue);      // its workloads leave the queue
  void SortByName(std::vector<ClusterQueueId>& queues) const;

  void SetLocalQueue(const api::ObjectKey& key, const std::string& cluster_queue,
                     api::StopPolicy stop_policy);
  void RemoveLocalQueue(const api::ObjectKey& key);
  // Returns nullopt where the LocalQueue is missing.
  std::optional<ClusterQueueId> ClusterQueueOf(const api::ObjectKey& local_queue) const;
  // The ClusterQueue that workloads of the LocalQueue enter; nullopt also where it is stopped.
  std::optional<ClusterQueueId> RouteOf(const api::ObjectKey& local_queue) const;
  std::int64_t PendingInLocalQueue(const api::ObjectKey& key) const;  // queued workloads
  // All workloads that name the LocalQueue, which may be missing; in no order.
  const std::vector<WorkloadId>& MembersOf(const api::ObjectKey& local_queue) const;

  void SetNamespace(const std::string& name, const api::StringMap& labels);
  void RemoveNamespace(const std::string& name);
  bool NamespacePasses(ClusterQueueId queue, const std::string& namespace_name) const;
  bool NamespacePasses(const Head& head) const;  // requires a queued workload
  // The present queues whose selector matches the labels `now` and not the labels `before`.
  std::vector<ClusterQueueId> NewlyMatching(const std::optional<api::StringMap>& before,
                                            const api::StringMap& now) const;

  // Workloads. `info` must belong in a queue (BelongsInQueue); its object must live until the next
  // Upsert or Remove of `workload` has returned. A new workload (`before` is null) is queued; a
  // known one becomes active again if its spec, reclaimable pods, requeue state, or condition
  // Evicted or Requeued changed since `before`.
  void Upsert(WorkloadId workload, const WorkloadInfo* before, const WorkloadInfo& info,
              WallTime now);
  void Remove(WorkloadId workload);

  // Takes the head of each active ClusterQueue, in the order of the queues' names; costs the number
  // of heads. Each head must be requeued or removed before any other change of the queues.
  void TakeHeads(std::vector<Head>& heads);
  bool HasHeads() const { return present_.HasHeads(); }

  // Prefetches the data of a head that is about to be used.
  void Expect(const Head& head) const {
    Prefetch(&node(head.workload), sizeof(PendingNode));
    Prefetch(&entry(head.cluster_queue), sizeof(ClusterQueueEntry));
  }

  // Puts a taken head back. `pending_flavors`: the flavor scan has not reached the end.
  struct RequeueResult {
    Destination to = Destination::kNone;
    std::vector<WorkloadId> bulk_parked;  // per Listing
  };
  enum class Scan : std::uint8_t { kDone, kPendingFlavors };
  RequeueResult Requeue(const Head& head, RequeueReason reason, Scan scan, WallTime now);

  // Wakes the inadmissible workloads of one ClusterQueue; returns how many became active.
  std::int64_t Wake(ClusterQueueId queue, WallTime now, std::vector<WorkloadId>* woken);

  // Whether the workload, unchanged since, is the one whose preemptions its queue waits for.
  bool IsPreemptor(const Head& head) const;
  // In a queue that orders by usage: puts the head before LocalQueues with less usage, until it
  // leaves or another workload preempts. No effect in other queues, where Requeue's order holds.
  void PutFirst(const Head& head);
  // Gives a queued workload the state after Requeue for its preemptions and PutFirst.
  void RestorePreemptor(const Head& head);

  struct QueueView {
    std::vector<WorkloadId> active;        // in order
    std::vector<WorkloadId> inadmissible;  // in the order that they would have if active
  };
  QueueView View(ClusterQueueId queue) const;  // without taken heads
  // Every waiting workload, active or not, in the order that all would have if active.
  std::vector<WorkloadId> Pending(ClusterQueueId queue) const { return entry(queue).pending.All(); }
  // The same in no order, in O(n), with what a reader needs to sort them.
  struct RankedWorkload {
    WorkloadId workload = kNoNode;
    PendingRank rank;
  };
  std::vector<RankedWorkload> RankedPending(ClusterQueueId queue) const;
  // Changes whenever the workloads that Pending returns, their order or their objects do.
  std::uint64_t PendingVersion(ClusterQueueId queue) const { return entry(queue).version; }
  std::int64_t ActiveCount(ClusterQueueId queue) const;  // workloads that compete for the head
  PendingQueue::ShapeCounts CountShapes(ClusterQueueId queue) const {
    return entry(queue).pending.CountShapes();
  }
  std::int64_t PendingCount(ClusterQueueId queue) const;  // without taken heads too
  bool IsQueued(WorkloadId workload) const;
  bool IsInadmissible(WorkloadId workload) const;  // queued and not active

  // Sizes of the number tables, which are bounded by the objects that exist.
  struct Sizes {
    std::size_t local_queues = 0;
    std::size_t namespaces = 0;
    std::size_t cluster_queues = 0;
    friend bool operator==(const Sizes&, const Sizes&) = default;
  };
  Sizes sizes() const { return {local_queues_.size(), namespaces_.size(), queues_.size()}; }

 private:
  struct ClusterQueueEntry {
    ClusterQueueEntry(ClusterQueueId number, Listing listing, std::vector<PendingNode>& nodes,
                      const std::vector<double>& usages, PendingCounts& counts)
        : pending(number, listing, nodes, usages, counts) {}
    ClusterQueueSettings settings;
    bool present = false;
    std::int64_t woken_in_cycle = -1;
    std::uint64_t version = 0;
    WorkloadId taken_head = kNoNode;
    bool pinned = false;  // the number was given to a caller
    PendingQueue pending;
    std::vector<std::int32_t> local_queues;
  };
  struct LocalQueueEntry {
    api::ObjectKey key;
    ClusterQueueId cluster_queue = -1;
    bool present = false;  // present and not stopped
    bool stopped = false;
    bool known = false;  // the object exists
    std::vector<WorkloadId> members;
  };
  struct NamespaceEntry {
    api::StringMap labels;
    bool present = false;
    std::int64_t members = 0;  // number of workloads
  };

  PendingNode& node(WorkloadId workload) { return nodes_[static_cast<std::size_t>(workload)]; }
  const PendingNode& node(WorkloadId workload) const {
    return nodes_[static_cast<std::size_t>(workload)];
  }
  ClusterQueueEntry& entry(ClusterQueueId queue) {
    return *queues_[static_cast<std::size_t>(queue)];
  }
  const ClusterQueueEntry& entry(ClusterQueueId queue) const {
    return *queues_[static_cast<std::size_t>(queue)];
  }
  // The number of a name, assigned if missing.
  ClusterQueueId NumberFor(const std::string& cluster_queue);
  std::int32_t LocalQueueNumber(const api::ObjectKey& key);
  std::int32_t NamespaceNumber(const std::string& name);
  // No effect on a number in use.
  void DropClusterQueueNumber(ClusterQueueId queue);
  void DropLocalQueueNumber(std::int32_t local_queue);
  void DropNamespaceNumber(std::int32_t namespace_id);
  void SetNamespaceOf(PendingNode& changed, std::int32_t namespace_id);
  void Join(WorkloadId workload, std::int32_t local_queue);
  void SetClusterQueueOf(WorkloadId workload, ClusterQueueId queue);  // -1: none
  void SetCounter(WorkloadId workload, CounterId counter);
  // Call after a change that PendingVersion shows.
  void PendingChanged(ClusterQueueId queue) { entry(queue).version = ++versions_; }
  void Leave(WorkloadId workload);
  void Enqueue(WorkloadId workload);  // makes it active, even if its shape is marked
  void PushOrPark(WorkloadId workload, WallTime now);
  void Dequeue(WorkloadId workload);  // removes from its ClusterQueue
  void Update(WorkloadId workload, const WorkloadInfo* before, const WorkloadInfo& info,
              WallTime now);
  void EnqueueMembers(std::int32_t local_queue);
  void DequeueMembers(std::int32_t local_queue);
  void Fill(WorkloadId workload, const WorkloadInfo& info);
  bool MayRun(const PendingNode& asked, WallTime now) const;
  // Heads of queues.
  // Call after the active workloads or the settings of a queue changed.
  void NoteHead(ClusterQueueId queue);
  bool SelectorPasses(const ClusterQueueEntry& queue, std::int32_t namespace_id) const;

  bool equivalence_hashing_;
  Listing listing_;
  bool order_by_usage_ = false;
  std::int64_t cycle_ = 0;
  std::uint64_t versions_ = 0;
  PendingCounts counts_;
  Names namespace_names_;
  std::vector<NamespaceEntry> namespaces_;
  std::vector<std::unique_ptr<ClusterQueueEntry>> queues_;
  HeadIndex present_;
  std::map<api::ObjectKey, std::int32_t> local_queue_numbers_;
  std::vector<LocalQueueEntry> local_queues_;
  std::vector<std::int32_t> free_local_queues_;
  std::vector<double> usages_;  // by number of the LocalQueue
  std::vector<PendingNode> nodes_;
};

}  // namespace berth::queue
