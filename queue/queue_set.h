// queue/queue_set.h — all waiting workloads: which queue each waits in, who is at its head, what is
// parked, and what a decision or a change moves where.
//
//     Upsert ─▶ LocalQueue ─▶ ClusterQueue ─▶ TakeHeads ─▶ Requeue ─▶ active | inadmissible
//                                  ▲                                        │
//                                  └────────────────── Wake ◀───────────────┘
//
// Workloads are the numbers of their owner (admission/scheduler.h), dense and reused. Queues exist
// for this set as soon as somebody names them, so that objects may come in any order; a workload is
// queued once its LocalQueue and ClusterQueue are both present and the LocalQueue is not stopped.
//
// Threads: one. Errors: none; unknown numbers are bugs.
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
#include "queue/pending_queue.h"
#include "queue/workload_info.h"

namespace berth::queue {

using WorkloadId = NodeIndex;

// Why a head comes back. Source: Kueue's RequeueReason; the words are those of its log.
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
  bool active = false;                                   // inactive: gives no heads
  bool by_usage = false;  // admission fair sharing; counts after QueueSet::OrderByUsage
};

struct Head {
  WorkloadId workload = kNoNode;
  ClusterQueueId cluster_queue = -1;
};

class QueueSet {
 public:
  // `listing`: who of those that Requeue parks in bulk is named.
  explicit QueueSet(bool equivalence_hashing, Listing listing = Listing::kNo)
      : equivalence_hashing_(equivalence_hashing), listing_(listing) {}

  // From now on ClusterQueues that say so order by the usage of LocalQueues.
  void OrderByUsage() { order_by_usage_ = true; }
  void SetUsage(const api::ObjectKey& local_queue, double usage);

  // ClusterQueues. The number that this gives to a name is for good.
  ClusterQueueId ClusterQueueNumber(const std::string& name);
  const std::string& ClusterQueueName(ClusterQueueId queue) const {
    return present_.names()[queue];
  }
  void SetClusterQueue(ClusterQueueId queue, const ClusterQueueSettings& settings);
  void SetActive(ClusterQueueId queue, bool active);  // one of the settings
  void RemoveClusterQueue(ClusterQueueId queue);      // its workloads wait outside
  void SortByName(std::vector<ClusterQueueId>& queues) const;

  void SetLocalQueue(const api::ObjectKey& key, const std::string& cluster_queue,
                     api::StopPolicy stop_policy);
  void RemoveLocalQueue(const api::ObjectKey& key);
  // nullopt where the LocalQueue is missing.
  std::optional<ClusterQueueId> ClusterQueueOf(const api::ObjectKey& local_queue) const;
  // Where workloads of the LocalQueue go now: nullopt too where it is stopped.
  std::optional<ClusterQueueId> RouteOf(const api::ObjectKey& local_queue) const;
  std::int64_t PendingInLocalQueue(const api::ObjectKey& key) const;  // waiting inside its queue
  // All that name it, whether it exists or not; in no order.
  const std::vector<WorkloadId>& MembersOf(const api::ObjectKey& local_queue) const;

  void SetNamespace(const std::string& name, const api::StringMap& labels);
  void RemoveNamespace(const std::string& name);
  bool NamespacePasses(ClusterQueueId queue, const std::string& namespace_name) const;
  bool NamespacePasses(const Head& head) const;  // of a queued workload
  // Of the present queues, those whose selector takes the labels `now` but not `before`.
  std::vector<ClusterQueueId> NewlyMatching(const std::optional<api::StringMap>& before,
                                            const api::StringMap& now) const;

  // Workloads. `info` must belong into a queue; its object must live until the next Upsert or
  // Remove of `workload` has returned. A new one (`before` is null) is queued; a known one moves to
  // the heads' side again if its spec, reclaimable pods, requeue state, Evicted or Requeued
  // condition changed since `before`.
  void Upsert(WorkloadId workload, const WorkloadInfo* before, const WorkloadInfo& info,
              WallTime now);
  void Remove(WorkloadId workload);

  // The head of each active ClusterQueue, in the order of the queues' names; costs what there are
  // heads. Every one of them is put back or removed before anything else happens to the queues.
  void TakeHeads(std::vector<Head>& heads);
  bool HasHeads() const { return present_.HasHeads(); }

  // Something will happen to this head soon.
  void Expect(const Head& head) const {
    Prefetch(&node(head.workload), sizeof(PendingNode));
    Prefetch(&entry(head.cluster_queue), sizeof(ClusterQueueEntry));
  }

  // Puts a taken head back. `pending_flavors`: its flavor scan has not reached the end.
  struct RequeueResult {
    Destination to = Destination::kNone;
    std::vector<WorkloadId> bulk_parked;  // as the listing says
  };
  enum class Scan : std::uint8_t { kDone, kPendingFlavors };
  RequeueResult Requeue(const Head& head, RequeueReason reason, Scan scan, WallTime now);

  // Retries what is inadmissible in one ClusterQueue; returns how many moved.
  std::int64_t Wake(ClusterQueueId queue, WallTime now, std::vector<WorkloadId>* woken);

  // Whether the workload, as it is now, is the one whose preemptions its queue waits for.
  bool IsPreemptor(const Head& head) const;
  // In a queue that orders by usage: before those of LocalQueues that used less, too, until it
  // leaves or another one preempts. (Elsewhere nothing happens: there it stands as Requeue says.)
  void PutFirst(const Head& head);
  // A queued workload stands as after a Requeue that waits for its preemptions, and PutFirst.
  void RestorePreemptor(const Head& head);

  struct QueueView {
    std::vector<WorkloadId> active;        // in order
    std::vector<WorkloadId> inadmissible;  // in the order they would have
  };
  QueueView View(ClusterQueueId queue) const;             // without a head that is being decided
  std::int64_t ActiveCount(ClusterQueueId queue) const;   // compete for the head
  std::int64_t PendingCount(ClusterQueueId queue) const;  // without it too
  bool IsQueued(WorkloadId workload) const;
  bool IsInadmissible(WorkloadId workload) const;  // queued, and not competing for the head

  // How many names have numbers: they follow what exists, not what has ever existed.
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
                      const std::vector<double>& usages)
        : pending(number, listing, nodes, usages) {}
    ClusterQueueSettings settings;
    bool present = false;
    std::int64_t woken_in_cycle = -1;
    WorkloadId taken_head = kNoNode;
    bool pinned = false;  // somebody outside knows its number
    PendingQueue pending;
    std::vector<std::int32_t> local_queues;
  };
  struct LocalQueueEntry {
    api::ObjectKey key;
    ClusterQueueId cluster_queue = -1;
    bool present = false;  // and not stopped
    bool stopped = false;
    bool known = false;  // the object exists
    std::vector<WorkloadId> members;
  };
  struct NamespaceEntry {
    api::StringMap labels;
    bool present = false;
    std::int64_t members = 0;  // workloads
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
  // Numbers of names, made where there is none.
  ClusterQueueId NumberFor(const std::string& cluster_queue);
  std::int32_t LocalQueueNumber(const api::ObjectKey& key);
  std::int32_t NamespaceNumber(const std::string& name);
  // Nothing happens to those that somebody uses.
  void DropClusterQueueNumber(ClusterQueueId queue);
  void DropLocalQueueNumber(std::int32_t local_queue);
  void DropNamespaceNumber(std::int32_t namespace_id);
  void SetNamespaceOf(PendingNode& changed, std::int32_t namespace_id);
  void Join(WorkloadId workload, std::int32_t local_queue);
  void Leave(WorkloadId workload);
  void Enqueue(WorkloadId workload);  // to the heads' side, whatever is marked
  void PushOrPark(WorkloadId workload, WallTime now);
  void Dequeue(WorkloadId workload);  // out of its ClusterQueue
  void Update(WorkloadId workload, const WorkloadInfo* before, const WorkloadInfo& info,
              WallTime now);
  void EnqueueMembers(std::int32_t local_queue);
  void DequeueMembers(std::int32_t local_queue);
  void Fill(PendingNode& filled, const WorkloadInfo& info);
  bool MayRun(const PendingNode& asked, WallTime now) const;
  // Who has a head (queue_set_heads.cc).
  // After the active workloads or the settings of a queue changed.
  void NoteHead(ClusterQueueId queue);
  bool SelectorPasses(const ClusterQueueEntry& queue, std::int32_t namespace_id) const;

  bool equivalence_hashing_;
  Listing listing_;
  bool order_by_usage_ = false;
  std::int64_t cycle_ = 0;
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
