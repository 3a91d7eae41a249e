// api/queue_policy.h — how a ClusterQueue orders its waiting workloads, and which of them it keeps
// a place for: annotations of the ClusterQueue, or of a Cohort for all queues below it. Kueue
// ignores them.
//
//     berth.dev/order: ShortestFirst
//     berth.dev/reserve-after: 72h
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

enum class QueueOrder : std::uint8_t {
  kFifo,           // Kueue's: by the instant since which the workload waits
  kShortestFirst,  // by that instant and the expected run time (queue/ordering.h)
};

// How long a workload waits before the queue keeps a place for it.
struct ReserveAfter {
  enum class Rule : std::uint8_t { kOff, kAuto, kTime };
  Rule rule = Rule::kOff;
  Duration time{};  // kTime
  friend bool operator==(const ReserveAfter&, const ReserveAfter&) = default;
};

// nullopt: the annotation is absent, so the next wider object decides.
struct QueuePolicy {
  std::optional<QueueOrder> order;
  std::optional<ReserveAfter> reserve_after;
  std::optional<int> reserve_count;  // for how many workloads at a time; 1 to kMostReserved

  // This policy, with what it does not say taken from `wider`.
  QueuePolicy Within(const QueuePolicy& wider) const;
  friend bool operator==(const QueuePolicy&, const QueuePolicy&) = default;
};
inline constexpr int kMostReserved = 16;

Result<QueuePolicy> ReadQueuePolicy(const StringMap& annotations);

}  // namespace berth::api
