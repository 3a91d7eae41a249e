// admission/workloads/workload_records.h — what the scheduler keeps for each workload that it
// knows, by the number of the workload.
//
//     object ──New──▶ number ──Register──▶ found by the object's key ──Unregister, Free──▶ reused
//
// Threads: one. Errors: none; numbers must be known.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_set>  // lookup only
#include <vector>

#include "admission/decision.h"
#include "admission/quota/usage_ledger.h"
#include "api/object_key_hash.h"
#include "queue/queue_set.h"

namespace berth::admission {

// The interval in which a workload makes no preemption plan.
struct PlanPause {
  WallTime from{};
  WallTime until{};
  int count = 0;  // plans in a row that ended without progress
};

struct WorkloadRecord {
  enum class Phase : std::uint8_t { kFree, kOutside, kPending, kAssumed, kReserved };
  queue::WorkloadInfo info;
  std::unique_ptr<ScanState> scan;
  std::unique_ptr<PreemptionPlan> plan;  // null: the workload has no plan
  std::unique_ptr<PlanPause> pause;      // not null: its last plan ended without progress
  std::uint64_t plan_version = 0;        // counts the changes of `plan` and `pause` to be written
  std::unique_ptr<Spending> penalty;     // on its LocalQueue, until settled; null: none
  std::int64_t forgotten_at = 0;         // forgotten_count when the number became free
  Phase phase = Phase::kFree;
};

class WorkloadRecords {
 public:
  // `resources`: the names of resources that requests use. Must outlive the records.
  explicit WorkloadRecords(queue::Names& resources) : resources_(resources) {}
  WorkloadRecords(const WorkloadRecords&) = delete;
  WorkloadRecords& operator=(const WorkloadRecords&) = delete;

  WorkloadRecord& at(WorkloadId id) { return *records_[static_cast<std::size_t>(id)]; }
  const WorkloadRecord& at(WorkloadId id) const { return *records_[static_cast<std::size_t>(id)]; }
  // Numbers below `size` have a record, free ones too.
  std::size_t size() const { return records_.size(); }

  // Null: the number is unknown, or its workload is forgotten.
  const std::shared_ptr<const api::Workload>& object(WorkloadId id) const;
  std::optional<WorkloadId> Find(const api::ObjectKey& key) const;
  // Equal for workloads that decisions treat alike (WorkloadInfo::shape).
  std::uint64_t ShapeOf(WorkloadId id) const { return at(id).info.shape; }
  // Numbers are reused: returns whether `id`, known when forgotten_count() was `count`, is the same
  // workload today.
  std::int64_t forgotten_count() const { return forgotten_count_; }
  bool IsSameSince(WorkloadId id, std::int64_t count) const { return at(id).forgotten_at <= count; }

  // Returns a number for a workload that is not known yet. The record has the phase kOutside and no
  // object.
  WorkloadId New();
  void SetInfo(WorkloadId id, queue::WorkloadInfo info);
  // From this call on Find returns the number for the key of the record's object. The key must stay
  // the same until Unregister.
  void Register(WorkloadId id) { numbers_.insert(id); }
  // Returns the number of the key, after which Find does not know the key; nullopt: the key is not
  // known.
  std::optional<WorkloadId> Unregister(const api::ObjectKey& key);
  void Free(WorkloadId id);

 private:
  // Numbers are found by the object's key, which the record holds already.
  struct ByKey {
    using is_transparent = void;
    const std::vector<std::unique_ptr<WorkloadRecord>>* records;

    const api::ObjectMeta& MetaOf(WorkloadId id) const {
      return (*records)[static_cast<std::size_t>(id)]->info.object->meta;
    }
  };
  struct KeyHash : ByKey, api::ObjectKeyHash {
    using api::ObjectKeyHash::operator();
    std::size_t operator()(WorkloadId id) const {
      return Of(MetaOf(id).namespace_name, MetaOf(id).name);
    }
  };
  struct KeyEqual : ByKey {
    bool operator()(WorkloadId a, WorkloadId b) const { return a == b; }
    bool operator()(const api::ObjectKey& key, WorkloadId id) const {
      return key.name == MetaOf(id).name && key.namespace_name == MetaOf(id).namespace_name;
    }
    bool operator()(WorkloadId id, const api::ObjectKey& key) const { return (*this)(key, id); }
  };

  queue::Names& resources_;
  std::vector<std::unique_ptr<WorkloadRecord>> records_;
  std::vector<WorkloadId> free_;
  // Looked up, never walked; the numbers whose records have an object.
  std::unordered_set<WorkloadId, KeyHash, KeyEqual> numbers_{0, KeyHash{{&records_}},
                                                             KeyEqual{{&records_}}};
  std::int64_t forgotten_count_ = 0;
};

}  // namespace berth::admission
