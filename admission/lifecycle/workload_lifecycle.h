// admission/lifecycle/workload_lifecycle.h — the life of a Workload outside the scheduling cycle:
// checks, admission, eviction, requeueing, deactivation.
//
//     WorkloadSituation + now --PlanWorkload--> status to write, events, next reconcile
//
//                quota (cycle)             all checks Ready
//     pending ─────────────────▶ reserved ─────────────────▶ admitted        finished
//        ▲                          │ Retry, stop, preemption,  │              ▲
//        │ Requeued=True            ▼ time out                  ▼              │ the job ended
//        └───────────────────── evicted ◀───────────────────────┴──────────────┘
//          after its backoff        └ Rejected, limits: deactivated (spec.active=false)
//
// A check may answer when its workload is already evicted or pending: a late Rejected deactivates
// the workload all the same, a late Retry requeues it after the check's delay.
//
// The phase is computed from conditions and never stored. Each plan makes the steps that are due;
// planning again after performing a plan reaches a fixed point. Releasing quota after an eviction
// is planned by the job's controller, once the pods are gone (integrations/release.h).
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
  Duration timeout = std::chrono::minutes(30);
  std::optional<Duration> recovery_timeout = std::chrono::minutes(30);  // nullopt: no timeout
  std::optional<std::int32_t> backoff_limit_count;                      // nullopt: no limit
  std::chrono::seconds backoff_base{60};
  std::chrono::seconds backoff_max{3600};
};

// State of a queue. Where `exists` is false, the other fields have no meaning.
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
  QueueFacts cluster_queue;  // queue of the reservation, else of the LocalQueue
  // The checks that the workload has to pass, by name: those of its flavors if it has a
  // reservation, else those that hold for every flavor. nullopt: unknown (the queue is missing, or
  // the workload is new).
  std::optional<std::vector<std::string>> required_checks;
  // Without reservation: all checks of the queue. The state of a check that is not required stays,
  // because it has the number of retries. Its answer is forgotten if it is Ready or if late answers
  // do not count, since the flavors that it was about are gone.
  std::vector<std::string> queue_checks;
  std::string pod_problem;  // why the cluster would refuse its pods; empty: it would not
  PodsReadyOptions pods_ready;
  std::optional<Duration> keep_finished;  // nullopt: for ever
  bool hear_late_answers = true;          // OwnRules (admission/own_rules.h)
  // No controller stops its pods: a deactivation releases the quota at once.
  bool nobody_stops_it = false;
};

struct PlannedEvent {
  enum class Type { kNormal, kWarning };
  Type type = Type::kNormal;
  std::string reason;
  std::string message;
  friend bool operator==(const PlannedEvent&, const PlannedEvent&) = default;
};

struct WorkloadPlan {
  // The whole new status, where some field changes.
  std::optional<api::WorkloadStatus> status;
  std::optional<api::Condition> finish;  // Finished=True, on behalf of a job that is gone
  bool deactivate = false;               // write spec.active=false; DeactivationTarget says why
  bool remove_finalizer = false;         // no owner, and finished or being deleted
  bool remove = false;  // the time after finishing is over: remove finalizer and object
  std::vector<PlannedEvent> events;
  std::optional<Duration> look_again;
};

WorkloadPlan PlanWorkload(const WorkloadSituation& situation, WallTime now);

// The fields of an eviction. `cause`: the underlying cause (schedulingStats), or empty.
struct Eviction {
  std::string reason;  // Preempted, AdmissionCheck, ClusterQueueStopped, …
  std::string message;
  std::string cause;
};

// The reason of the condition Evicted: a deactivation by Berth appends the cause.
std::string EvictedReason(const Eviction& eviction);

// Sets Evicted=True, resets checks to Pending and counts the eviction. The quota stays reserved
// until the job has stopped.
void Evict(api::WorkloadStatus& status, const Eviction& eviction, std::int64_t generation,
           WallTime now);

// Evicts with reason Preempted, and sets Preempted=True with `reason` (InClusterQueue, …).
void Preempt(api::WorkloadStatus& status, const std::string& reason, const std::string& message,
             std::int64_t generation, WallTime now);

// Writes a reservation: admission, QuotaReserved=True, earlier evictions marked as over, the
// required checks as Pending; Admitted=True if there are no checks, else False with the missing
// checks.
void ReserveQuota(api::WorkloadStatus& status, api::Admission admission,
                  const std::vector<std::string>& required_checks, std::int64_t generation,
                  WallTime now);

// Makes the state of a check Pending; the number of retries stays.
void ForgetAnswer(api::AdmissionCheckState& check, WallTime now);

// Adds PodsReady=False to the status of an admitted Workload whose owner is to report its pods, as
// the owner's controller would in a write of its own. Only where the condition is missing.
void AwaitPods(api::WorkloadStatus& status, const api::ObjectMeta& workload, WallTime now);

// Sets QuotaReserved=False with a reason and a message. Returns the difference from the earlier
// condition.
enum class Difference { kNone, kMessage, kReason };
Difference SetUnadmitted(api::WorkloadStatus& status, std::string_view reason,
                         std::string_view message, std::int64_t generation, WallTime now);

// The wait in whole seconds, as in messages.
std::int64_t WaitSeconds(WallTime since, WallTime now);

// When the workload was requeued after its last eviction, else its creation.
WallTime QueuedSince(const api::Workload& workload);

}  // namespace berth::admission
