// queue/cluster_queue_entry.h — one ClusterQueue of a QueueSet: its settings, its waiting workloads
// and the head that a cycle has taken.
//
// Threads: one. Errors: none.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "api/object_meta.h"
#include "api/queues.h"
#include "queue/head_index.h"
#include "queue/pending_counts.h"
#include "queue/pending_queue.h"

namespace berth::queue {

using WorkloadId = NodeIndex;

struct ClusterQueueSettings {
  api::QueueingStrategy strategy = api::QueueingStrategy::kBestEffortFifo;
  std::optional<api::LabelSelector> namespace_selector;  // nullopt: no namespace
  bool active = false;                                   // false: the queue gives no heads
  bool by_usage = false;  // admission fair sharing; needs QueueSet::OrderByUsage
};

struct ClusterQueueEntry {
  ClusterQueueEntry(ClusterQueueId number, Listing listing, std::vector<PendingNode>& nodes,
                    const std::vector<double>& usages, PendingCounts& counts)
      : pending(number, listing, nodes, usages, user_shares, counts) {}
  ClusterQueueSettings settings;
  PlaceRules places;
  // The waiting workloads by their queue-order instants; filled only where `lists_ages`.
  bool lists_ages = false;
  std::set<std::pair<WallTime, WorkloadId>> by_age;
  bool present = false;
  std::int64_t woken_in_cycle = -1;
  std::uint64_t version = 0;  // see WaitingWorkloads::version
  WorkloadId taken_head = kNoNode;
  bool pinned = false;                   // the number was given to a caller
  PendingQueue::UserShares user_shares;  // the order FairByUser reads them
  PendingQueue pending;
  std::vector<std::int32_t> local_queues;
};

}  // namespace berth::queue
