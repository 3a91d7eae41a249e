// admission/policies/victim_rules.h — which victims the policies of queues (api/queue_policy.h)
// choose and spare.
//
//     berth.dev/victims: LeastWorkLost      of the victims that Kueue's rules allow, those whose
//                                           preemption loses the least work
//     berth.dev/preemption-patience: 30m    a preemption that loses more than a quarter of the work
//                                           that the preemptor is expected to do waits, up to half
//                                           an hour
//     berth.dev/preempt-min-run: 10m        no workload of the queue is preempted by another one of
//     berth.dev/reclaim-min-run: 10m        the queue, or of another queue, before it has run so
//                                           long
//     berth.dev/time-slice: 1h              a workload that has run for an hour gives its quota to
//                                           an equal: a waiting workload of the same queue and
//                                           priority
//
// The first two are rules of the preemptor's queue, the others of the victim's. The time slice
// alone makes victims of workloads that Kueue's rules spare.
//
// A workload whose slice has expired waits as if it had just been created (queue/ordering.h), and
// takes no other's turn before it has waited for a slice. Where a workload waits for more slices to
// expire, no equal behind it takes a turn. The slice that expired first is taken first. A
// workload's slice is twice as long after each expiry, or after each eighth one if its checkpoints
// are at most half a slice apart. So every workload ends at last, even if what it says of its
// checkpoints is false.
//
// The work that a victim loses is the time since its admission, or at most the time between two
// checkpoints (api/checkpoint.h), times its size: its usage of a contested flavor-resource as a
// multiple of the preemptor's, the largest if there are several. Where stops of workloads like the
// victim have cost more than the time between two checkpoints, this cost counts.
//
// Threads: one. Errors: none.
// Source: KAI scheduler, minimum run time of queues.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "admission/policies/restart_costs.h"
#include "admission/quota/quota_tree.h"
#include "admission/quota/reservations.h"
#include "api/queue_policy.h"
#include "base/clock.h"
#include "base/small_vector.h"
#include "queue/workload_info.h"

namespace berth::admission {

// What a preemptor lacks.
struct PreemptorNeed {
  const queue::WorkloadInfo& workload;
  ClusterQueueId queue = -1;
  const Usage& usage;
  const SmallVector<FlavorResourceId, 2>& contested;
};

class VictimRules {
 public:
  // `costs` must outlive the rules.
  explicit VictimRules(const RestartCosts& costs) : costs_(costs) {}
  const RestartCosts& costs() const { return costs_; }
  void Set(ClusterQueueId queue, const api::QueuePolicy& policy);
  // Call before each cycle.
  void Begin(WallTime now) { now_ = now; }
  WallTime now() const { return now_; }
  // Whether some queue has a rule.
  bool any() const { return !rules_.empty(); }

  bool ChoosesLeastWork(ClusterQueueId preemptor) const;
  // Whether the victim has run for less time than its queue demands before a workload of the queue
  // `preemptor` may preempt it. If so, the workloads of `preemptor` are tried again when that time
  // is over.
  bool HasJustBegun(const Reservation& victim, ClusterQueueId preemptor);
  // Whether workloads of the queue are preempted for equals.
  bool HasTimeSlices(ClusterQueueId queue) const;
  // Call at the begin and the end of a search for victims of the preemptor.
  void BeginSearch(const queue::WorkloadInfo& preemptor, ClusterQueueId queue);
  void EndSearch(bool found);
  // Whether the preemptor of the search may take the turn of an equal whose slice has expired.
  bool MayTakeTurn() const { return search_.may_take_turn; }
  // Whether the victim may be preempted for an equal: its slice has expired, or it is being stopped
  // already. If not, the workloads of its queue are tried again when the slice expires.
  bool HasUsedItsSlice(const Reservation& victim);
  // Call when a workload is admitted: the workloads of its queue are tried again when its slice
  // expires.
  void NoteAdmission(const Reservation& reservation);
  // When the slice of an admitted workload expires. Precondition: its queue has time slices.
  WallTime SliceEnd(const Reservation& reservation) const;
  // The work that the victim loses, in seconds of the preemptor's size.
  double WorkLost(const Reservation& victim, const PreemptorNeed& need) const;
  // The instant until which a preemption that loses so much work waits; nullopt: it need not. The
  // preemptor is tried again then.
  std::optional<WallTime> PutOffUntil(const PreemptorNeed& need, double work_lost);

  // The workloads of the queue are tried again at `at`.
  void TryAgain(ClusterQueueId queue, WallTime at);

  // The queues whose waiting workloads are to be tried again by `now`.
  std::vector<ClusterQueueId> TakeDue(WallTime now);
  std::optional<WallTime> Next() const;  // the first instant for TakeDue; nullopt: none

 private:
  struct Rule {
    bool least_work_lost = false;
    Duration patience{};
    Duration preempt_min_run{};
    Duration reclaim_min_run{};
    Duration time_slice{};
    Duration least_checkpoint{};
    friend bool operator==(const Rule&, const Rule&) = default;
  };
  const Rule& Of(ClusterQueueId queue) const;
  // The least time that counts as lost by a stop of the workload, unless it has run for less.
  Duration LeastLoss(const Reservation& victim) const;
  // A workload that found too few expired slices. It is tried again at `until`.
  struct Waiting {
    std::int64_t priority = 0;
    WallTime queued_at{};
    WallTime until{};
  };
  struct Search {
    const queue::WorkloadInfo* preemptor = nullptr;
    ClusterQueueId queue = -1;
    bool may_take_turn = false;
    std::optional<WallTime> first_end;  // the first end of a slice that protects an equal
  };

  const RestartCosts& costs_;
  std::map<ClusterQueueId, Rule> rules_;
  std::map<ClusterQueueId, WallTime> looks_;  // the next instant of each queue for TakeDue
  std::map<ClusterQueueId, Waiting> waiting_;
  Search search_;
  WallTime now_{};
};

// When the workload began to run: its admission, else its reservation. An estimate: its pods start
// later.
WallTime StartOf(const Reservation& reservation);

}  // namespace berth::admission
