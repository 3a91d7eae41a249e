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
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/object_meta.h"
#include "api/queues.h"
#include "base/clock.h"
#include "base/prefetch.h"
#include "queue/cluster_queue_entry.h"
#include "queue/head_index.h"
#include "queue/local_queues.h"
#include "queue/names.h"
#include "queue/namespaces.h"
#include "queue/pending_counts.h"
#include "queue/pending_queue.h"
#include "queue/queue_places.h"
#include "queue/queue_preemptor.h"
#include "queue/waiting_workloads.h"
#include "queue/workload_info.h"

namespace berth::queue {

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

// The places of a workload: in no ClusterQueue, in the order for the head, or parked.
enum class Destination : std::uint8_t { kNone, kActive, kInadmissible };

struct Head {
  WorkloadId workload = kNoNode;
  ClusterQueueId cluster_queue = -1;
};

// Whether the usage of LocalQueues orders the ClusterQueues that ask for it.
enum class UsageOrder : std::uint8_t { kIgnored, kCounts };

class QueueSet {
 public:
  // `listing`: which of the workloads that Requeue parks in bulk are returned.
  explicit QueueSet(bool equivalence_hashing, Listing listing = Listing::kNo,
                    UsageOrder usage_order = UsageOrder::kIgnored)
      : equivalence_hashing_(equivalence_hashing),
        listing_(listing),
        order_by_usage_(usage_order == UsageOrder::kCounts) {}

  // Sets the usage of a LocalQueue. With UsageOrder::kCounts, the usage orders the workloads of
  // ClusterQueues with `by_usage`.
  void SetUsage(const api::ObjectKey& local_queue, double usage);

  // The numbers of waiting workloads: a reader switches them on before the first workload, and
  // takes the changed ones.
  PendingCounts& counts() { return counts_; }

  // ClusterQueues. A name keeps the number that this function returns.
  ClusterQueueId ClusterQueueNumber(const std::string& name);
  const Names& cluster_queue_names() const { return present_.names(); }
  void SetClusterQueue(ClusterQueueId queue, const ClusterQueueSettings& settings);
  void SetActive(ClusterQueueId queue, bool active);  // changes ClusterQueueSettings::active
  void RemoveClusterQueue(ClusterQueueId queue);      // its workloads leave the queue

  void SetLocalQueue(const api::ObjectKey& key, const std::string& cluster_queue,
                     api::StopPolicy stop_policy);
  void RemoveLocalQueue(const api::ObjectKey& key);
  const LocalQueues& local_queues() const { return local_queues_; }

  // The labels of namespaces.
  Namespaces& namespaces() { return namespaces_; }
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

  // Takes the head of each active ClusterQueue for which `takes` is true, in the order of the
  // queues' names; costs the number of heads. Null: of all. Each head must be requeued or removed
  // before any other change of the queues.
  using Takes = std::function<bool(ClusterQueueId)>;
  void TakeHeads(std::vector<Head>& heads, const Takes& takes = nullptr);
  bool HasHeads() const { return present_.HasHeads(); }

  // Prefetches the data of a head that is about to be used.
  void Expect(const Head& head) const {
    Prefetch(&node(head.workload), sizeof(PendingNode));
    Prefetch(&entry(head.cluster_queue), sizeof(ClusterQueueEntry));
  }

  // Puts a taken head back. `pending_flavors`: the flavor scan has not reached the end.
  struct RequeueResult {
    Destination to = Destination::kNone;
    std::vector<WorkloadId> bulk_parked;  // those that Listing selects
  };
  enum class Scan : std::uint8_t { kDone, kPendingFlavors };
  RequeueResult Requeue(const Head& head, RequeueReason reason, Scan scan, WallTime now);

  // Wakes the inadmissible workloads of one ClusterQueue; returns how many became active. Groups of
  // equal workloads whose highest priority is below `from` stay parked.
  std::int64_t Wake(ClusterQueueId queue, WallTime now, std::vector<WorkloadId>* woken,
                    std::int64_t from = kEveryPriority);

  // The workload whose preemptions the queue waits for.
  QueuePreemptor preemptor(ClusterQueueId queue) {
    return {queue, entry(queue), nodes_, versions_};
  }
  // The order of the queues and the ages of the workloads that wait in them.
  QueuePlaces places() { return QueuePlaces(*this); }
  // The workloads that wait in the queue.
  WaitingWorkloads waiting(ClusterQueueId queue) const { return WaitingWorkloads(entry(queue)); }
  Destination PlaceOf(WorkloadId workload) const;

 private:
  friend class QueuePlaces;
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
  // No effect on a number in use.
  void DropClusterQueueNumber(ClusterQueueId queue);
  void DropLocalQueueNumber(std::int32_t local_queue);
  void SetNamespaceOf(PendingNode& changed, std::int32_t namespace_id);
  void Join(WorkloadId workload, std::int32_t local_queue);
  void SetClusterQueueOf(WorkloadId workload, ClusterQueueId queue);  // -1: none
  void SetCounter(WorkloadId workload, CounterId counter);
  // Call after a change that WaitingWorkloads::version shows.
  void PendingChanged(ClusterQueueId queue) { entry(queue).version = ++versions_; }
  void Leave(WorkloadId workload);
  void Enqueue(WorkloadId workload);  // makes it active, even if its shape is marked
  void PushOrPark(WorkloadId workload, WallTime now);
  void Dequeue(WorkloadId workload);  // removes from its ClusterQueue
  void Update(WorkloadId workload, const WorkloadInfo* before, const WorkloadInfo& info,
              WallTime now);
  void EnqueueMembers(std::int32_t local_queue);
  void DequeueMembers(std::int32_t local_queue);
  void EnqueueAll(const ClusterQueueEntry& queue);
  void DequeueAll(const ClusterQueueEntry& queue);
  void Fill(WorkloadId workload, const WorkloadInfo& info);
  void NoteAge(WorkloadId workload, bool waits);
  // The number of the name in berth.dev/user; Names::kNone: there is none.
  std::int32_t NamedUserOf(const api::Workload& workload);
  // The number of a LocalQueue that stands in for the submitter.
  std::int32_t UserFor(const api::ObjectKey& local_queue);
  void SetPlace(PendingNode& changed);  // in the order of the queue that its LocalQueue names
  bool MayRun(const PendingNode& asked, WallTime now) const;
  // Call after the active workloads or the settings of a queue changed.
  void NoteHead(ClusterQueueId queue);

  bool equivalence_hashing_;
  Listing listing_;
  bool order_by_usage_ = false;
  std::uint64_t age_version_ = 0;
  std::int64_t cycle_ = 0;
  std::uint64_t versions_ = 0;
  PendingCounts counts_;
  Namespaces namespaces_;
  std::vector<std::unique_ptr<ClusterQueueEntry>> queues_;
  HeadIndex present_;
  LocalQueues local_queues_;
  std::vector<double> usages_;  // by number of the LocalQueue
  Names users_;                 // each has submitted a workload
  Names local_queues_as_users_;
  std::vector<PendingNode> nodes_;
};

void SortByName(const Names& names, std::vector<ClusterQueueId>& queues);

}  // namespace berth::queue
