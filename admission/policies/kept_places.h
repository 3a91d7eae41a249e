// admission/policies/kept_places.h — places that queues keep for workloads that wait long, and the
// workloads that may start before them (backfill).
//
//     oldest waiting workloads ─▶ the earliest instant `at` at which the expected ends of what runs
//                                 let the workload fit, with its flavors and nodes: its place
//     another workload starts   ─▶ only if it is expected to end by `at`, or fits beside the place
//
// A queue keeps places for its oldest workloads that have waited for the time of its policy
// (api/queue_policy.h), at most `reserve_count` at a time. They are the first in the order of their
// priority (queue::QueuePlaces::SetKept). Places do not hold back a workload of a higher priority,
// a workload with a preemption plan, or an older workload that has a place of its own. Expected
// ends are those of queue::WorkloadInfo::run_seconds; a workload that has run for longer is
// expected to run on for half of its run so far.
//
// A place is computed again when a workload has got or released quota; that costs the workloads
// with quota in the tree. A workload that does not fit when all others have ended has no place.
//
// Threads: one. Errors: none.
// Source: D. Lifka, The ANL/IBM SP scheduling system (1995), EASY backfill; A. Mu'alem, D.
// Feitelson, Utilization, predictability, workloads, and user runtime estimates (2001).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "admission/cluster_state.h"
#include "admission/cycle/cycle_entry.h"
#include "admission/feature_gates.h"
#include "admission/policies/queue_waits.h"
#include "admission/workloads/workload_records.h"
#include "api/queue_policy.h"
#include "base/clock.h"
#include "queue/queue_set.h"

namespace berth::admission {

struct KeptPlace {
  WorkloadId workload = queue::kNoNode;
  ClusterQueueId queue = -1;
  std::shared_ptr<const api::Workload> object;
  std::int64_t priority = 0;
  Duration after{};  // the wait after which the queue keeps places
  WallTime at{};     // when the workload is expected to start
  WallTime until{};  // when it is expected to end
  Usage usage;
  std::vector<PlacedPods> placed;  // its nodes
  // The workloads that end by `at` release `ended`, usage by leaf, and `left`, nodes.
  std::vector<std::pair<NodeId, Usage>> ended;
  std::vector<PlacedPods> left;
};

class KeptPlaces {
 public:
  // All must outlive the object.
  struct Context {
    ClusterState& state;
    queue::QueueSet& queues;
    const WorkloadRecords& records;
    const FeatureGates& gates;
    QueueWaits& waits;
    bool fair_sharing = false;
    bool ignore_undeclared = false;
  };
  explicit KeptPlaces(const Context& context) : context_(context) {}
  KeptPlaces(const KeptPlaces&) = delete;
  KeptPlaces& operator=(const KeptPlaces&) = delete;

  // The policy of a queue.
  void SetRule(ClusterQueueId queue, const api::ReserveAfter& after, int count);

  // Call before the heads of a cycle are taken.
  void Refresh(WallTime now);
  // The places that are kept, in the order of queues and ages.
  const std::vector<KeptPlace>& places() const { return places_; }
  const KeptPlace* Of(WorkloadId workload) const;  // null: none
  bool Has(WorkloadId workload) const { return Of(workload) != nullptr; }
  // A queue that keeps places: the wait after which it does, and the number of places that it keeps
  // now.
  struct Standing {
    ClusterQueueId queue = -1;
    Duration after{};
    int kept = 0;
  };
  const std::vector<Standing>& standings() const { return standings_; }
  // Changes when places and standings are computed again.
  std::uint64_t computed() const { return computed_; }

  // The place that the entry, which fits, would delay if it started now; null: it may start.
  const KeptPlace* DelayedBy(const CycleEntry& entry) const;

 private:
  struct Rule {
    api::ReserveAfter after;
    int count = 1;
  };
  struct End {
    WallTime at{};
    const Reservation* reservation = nullptr;  // null: the end of a place
    const KeptPlace* place = nullptr;
  };

  void Keep(ClusterQueueId queue, const Rule& rule);
  bool MayHavePlace(WorkloadId workload, ClusterQueueId queue) const;
  std::optional<KeptPlace> PlaceFor(WorkloadId workload, ClusterQueueId queue);
  bool FitsNow(WorkloadId workload, ClusterQueueId queue, KeptPlace& place);
  std::vector<End> EndsOfTree(ClusterQueueId queue) const;
  WallTime EndOf(const Reservation& held) const;
  void TakeOut(const End& end);
  void FillEnded(const std::vector<End>& ends, std::size_t count, KeptPlace& place) const;
  bool InSameTree(ClusterQueueId a, ClusterQueueId b) const;

  Context context_;
  std::map<ClusterQueueId, Rule> rules_;
  std::vector<KeptPlace> places_;
  std::vector<Standing> standings_;
  std::uint64_t computed_ = 0;
  WallTime now_{};
  // The versions of the state from which the places were computed.
  std::int64_t version_ = -1;
  std::int64_t changes_ = -1;
  std::uint64_t waiting_ = 0;
};

}  // namespace berth::admission
