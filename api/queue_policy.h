// api/queue_policy.h — how a ClusterQueue orders its waiting workloads, which of them it keeps a
// place for, and which victims its preemptions choose and spare: annotations of the ClusterQueue,
// or of a Cohort for all queues below it. Kueue ignores them.
//
//     berth.dev/order: ShortestFirst
//     berth.dev/reserve-after: 72h
//     berth.dev/deadlines: 1h
//     berth.dev/victims: LeastWorkLost
//     berth.dev/preemption-patience: 30m
//     berth.dev/reclaim-min-run: 10m
//     berth.dev/time-slice: 1h
//
// Threads: data and pure functions. Errors: kInvalid with the annotation.
#pragma once

#include <cstdint>
#include <optional>

#include "api/object_meta.h"
#include "base/clock.h"
#include "base/result.h"

namespace berth::api {

inline constexpr char kOrderAnnotation[] = "berth.dev/order";
inline constexpr char kReserveAfterAnnotation[] = "berth.dev/reserve-after";
inline constexpr char kReserveCountAnnotation[] = "berth.dev/reserve-count";

inline constexpr char kDeadlinesAnnotation[] = "berth.dev/deadlines";

inline constexpr char kVictimsAnnotation[] = "berth.dev/victims";
inline constexpr char kPreemptionPatienceAnnotation[] = "berth.dev/preemption-patience";
inline constexpr char kPreemptMinRunAnnotation[] = "berth.dev/preempt-min-run";
inline constexpr char kReclaimMinRunAnnotation[] = "berth.dev/reclaim-min-run";
inline constexpr char kTimeSliceAnnotation[] = "berth.dev/time-slice";
inline constexpr char kLeastCheckpointAnnotation[] = "berth.dev/least-checkpoint";

enum class QueueOrder : std::uint8_t {
  kFifo,           // Kueue's: by the instant since which the workload waits
  kShortestFirst,  // by that instant and the expected run time (queue/ordering.h)
  kFairByUser,     // the user with the smallest share of the queue first
};

// How long a workload waits before the queue keeps a place for it.
struct ReserveAfter {
  enum class Rule : std::uint8_t { kOff, kAuto, kTime };
  Rule rule = Rule::kOff;
  Duration time{};  // kTime
  friend bool operator==(const ReserveAfter&, const ReserveAfter&) = default;
};

// Which of the victims that the rules allow are preempted (admission/policies/victim_rules.h).
enum class VictimChoice : std::uint8_t {
  kNewest,         // Kueue's: the victim with the latest reservation first
  kLeastWorkLost,  // the victims whose preemption loses the least work
};

// nullopt: the annotation is absent, so the next wider object decides.
struct QueuePolicy {
  std::optional<QueueOrder> order;
  std::optional<ReserveAfter> reserve_after;
  std::optional<int> reserve_count;  // for how many workloads at a time; 1 to kMostReserved

  // The tightest slack that a deadline (api/deadline.h) has in the order of the queue; 0: deadlines
  // do not count.
  std::optional<Duration> least_slack;

  std::optional<VictimChoice> victims;
  // A preemption that loses more than a quarter of the work that it gains waits for at most this
  // time; 0: it does not wait.
  std::optional<Duration> preemption_patience;
  // The least run time before a workload of the queue is preempted: by workloads of the same queue
  // (preempt_min_run), by workloads of other queues (reclaim_min_run).
  std::optional<Duration> preempt_min_run;
  std::optional<Duration> reclaim_min_run;
  // A workload that has run for this time is preempted for a waiting workload of the same queue and
  // priority; 0: it is not.
  std::optional<Duration> time_slice;
  // A shorter time between checkpoints counts as this one (api/checkpoint.h).
  std::optional<Duration> least_checkpoint;

  // This policy, with its absent fields taken from `wider`.
  QueuePolicy Within(const QueuePolicy& wider) const;
  friend bool operator==(const QueuePolicy&, const QueuePolicy&) = default;
};
inline constexpr int kMostReserved = 16;

Result<QueuePolicy> ReadQueuePolicy(const StringMap& annotations);

}  // namespace berth::api
