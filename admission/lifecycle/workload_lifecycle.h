// admission/lifecycle/workload_lifecycle.h — the life of a Workload beside the scheduling cycle:
// checks, admission, eviction, coming back, deactivation.
//
//     WorkloadSituation + now --PlanWorkload--> what to write, what to say, when to look again
//
//                quota (cycle)             all checks Ready
//     pending ─────────────────▶ reserved ─────────────────▶ admitted        finished
//        ▲                          │ Retry, stop, preemption,  │              ▲
//        │ Requeued=True            ▼ time out                  ▼              │ the job ended
//        └───────────────────── evicted ◀───────────────────────┴──────────────┘
//          after its backoff        └ Rejected, limits: deactivated (spec.active=false)
//
// A check may answer late, when its workload is evicted or pending already: Rejected deactivates
// all the same, Retry lets it queue again after the check's delay.
//
// The phase is computed from conditions, never stored. Each plan makes the steps that are due now;
// performed and planned again, it comes to rest. Giving the quota back after an eviction is not
// planned here: whoever owns the job does it once its pods are gone (integrations/release.h).
//
// Threads: pure functions. Errors: none.
// Source: Kueue pkg/controller/core/workload_controller.go, pkg/workload; KEP-349, KEP-993.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/queues.h"
#include "api/workload.h"
#include "base/clock.h"

namespace berth::admission {

// waitForPodsReady of the configuration.
struct PodsReadyOptions {
  bool enabled = true;
  std::chrono::seconds timeout{30 * 60};
  std::optional<std::chrono::seconds> recovery_timeout{30 * 60};  // nullopt: as long as it takes
  std::optional<std::int32_t> backoff_limit_count;                // nullopt: no limit
  std::chrono::seconds backoff_base{60};
  std::chrono::seconds backoff_max{3600};
};

// How a queue stands. `exists` false: the rest means nothing.
struct QueueFacts {
  std::string name;
  bool exists = false;
  bool active = false;
  bool deleting = false;
  api::StopPolicy stop_policy = api::StopPolicy::kNone;
};

struct WorkloadSituation {
  const api::Workload* workload = nullptr;
  QueueFacts local_queue;    // spec.queueName
  QueueFacts cluster_queue;  // of the reservation, else of the LocalQueue
  // The checks it has to pass with the flavors it holds, by name. nullopt: unknown (no reservation,
  // queue missing).
  std::optional<std::vector<std::string>> required_checks;
  std::string pod_problem;  // why the cluster would refuse its pods; empty: it would not
  PodsReadyOptions pods_ready;
  std::optional<Duration> keep_finished;  // nullopt: for ever
  bool hear_late_answers = true;          // OwnRules (admission/own_rules.h)
};

struct PlannedEvent {
  enum class Type { kNormal, kWarning };
  Type type = Type::kNormal;
  std::string reason;
  std::string message;
  friend bool operator==(const PlannedEvent&, const PlannedEvent&) = default;
};

struct WorkloadPlan {
  // The whole status as it should be, where something of it changes.
  std::optional<api::WorkloadStatus> status;
  std::optional<api::Condition> finish;  // Finished=True, in place of a job that has gone
  bool deactivate = false;               // write spec.active=false; DeactivationTarget says why
  bool remove_finalizer = false;         // nobody owns it, and it is being deleted or finished
  bool remove = false;  // finished for longer than it is kept: finalizer and object
  std::vector<PlannedEvent> events;
  std::optional<Duration> look_again;
};

WorkloadPlan PlanWorkload(const WorkloadSituation& situation, WallTime now);

// What an eviction writes. `cause` is what lies beneath the reason (schedulingStats), or empty.
struct Eviction {
  std::string reason;  // Preempted, AdmissionCheck, ClusterQueueStopped, …
  std::string message;
  std::string cause;
};

// The reason of the condition Evicted: what Berth deactivates itself names the cause in it.
std::string EvictedReason(const Eviction& eviction);

// Evicted=True; checks are Pending again; the eviction is counted. Quota stays until the job has
// stopped.
void Evict(api::WorkloadStatus& status, const Eviction& eviction, std::int64_t generation,
           WallTime now);

// Evicted with reason Preempted, and Preempted=True with `reason` (InClusterQueue, …).
void Preempt(api::WorkloadStatus& status, const std::string& reason, const std::string& message,
             std::int64_t generation, WallTime now);

// What a reservation writes: admission, QuotaReserved=True, former evictions marked as over, the
// required checks as Pending; without checks Admitted=True at once, else False with what is
// missing.
void ReserveQuota(api::WorkloadStatus& status, api::Admission admission,
                  const std::vector<std::string>& required_checks, std::int64_t generation,
                  WallTime now);

// QuotaReserved=False with the reason why not; returns whether that is news. `message_only`: only
// the text differs.
enum class Difference { kNone, kMessage, kReason };
Difference SetUnadmitted(api::WorkloadStatus& status, std::string_view reason,
                         std::string_view message, std::int64_t generation, WallTime now);

// Whole seconds, as messages show them.
std::int64_t WaitSeconds(WallTime since, WallTime now);

// Since when it waits: when it was let back into its queue after an eviction, else its creation.
WallTime QueuedSince(const api::Workload& workload);

}  // namespace berth::admission
