// queue/local_queues.h — the LocalQueues of a QueueSet: the ClusterQueue of each and the workloads
// that name it. A LocalQueue has an entry as soon as an object names it.
//
// The QueueSet writes; others read. Numbers are dense and reused.
//
// Threads: one. Errors: none; an unknown number is a bug of the caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "api/object_meta.h"
#include "queue/cluster_queue_entry.h"

namespace berth::queue {

class LocalQueues {
 public:
  struct Entry {
    api::ObjectKey key;
    ClusterQueueId cluster_queue = -1;
    bool present = false;  // present and not stopped
    bool stopped = false;
    bool known = false;  // the object exists
    std::vector<WorkloadId> members;
  };
  static constexpr std::int32_t kNone = -1;

  // Returns nullopt where the LocalQueue is missing.
  std::optional<ClusterQueueId> ClusterQueueOf(const api::ObjectKey& local_queue) const;
  // The ClusterQueue that workloads of the LocalQueue enter; nullopt also where it is stopped.
  std::optional<ClusterQueueId> RouteOf(const api::ObjectKey& local_queue) const;
  std::int64_t CountPending(const api::ObjectKey& key) const;  // queued workloads
  // All workloads that name the LocalQueue, which may be missing; in no order.
  const std::vector<WorkloadId>& MembersOf(const api::ObjectKey& local_queue) const;

  // kNone: no object names the LocalQueue.
  std::int32_t Find(const api::ObjectKey& key) const;
  std::int32_t NumberFor(const api::ObjectKey& key);  // assigned if missing
  Entry& at(std::int32_t number) { return entries_[static_cast<std::size_t>(number)]; }
  const Entry& at(std::int32_t number) const { return entries_[static_cast<std::size_t>(number)]; }
  // Precondition: no object names the LocalQueue.
  void Release(std::int32_t number);
  // Greater than every number.
  std::size_t size() const { return entries_.size(); }

 private:
  std::map<api::ObjectKey, std::int32_t> numbers_;
  std::vector<Entry> entries_;
  std::vector<std::int32_t> free_;
};

}  // namespace berth::queue
