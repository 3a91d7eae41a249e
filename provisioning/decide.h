// provisioning/decide.h — decides check states and actions of the provisioning check of a Workload.
//
// Workload, configs, requests, templates, now --Decide--> checks' new states, actions, next
// wake
//
//     quota ─ templates, request ─▶ Pending ─Provisioned─▶ Ready ─▶ … ─ finished: all deleted
//                                     │ Failed, or booking expired before admission
//                                     ├─ retries left ─▶ Retry (quota released, backoff) ─▶ quota
//                                     └─ none left, or capacity revoked ─▶ Rejected
//
// Idempotent: deciding again after performing a decision gives no action. The state that must
// survive a restart is in the objects: the attempt in a request's name, the failures in the check's
// retryCount, which the eviction after Retry increments. The backoff starts at the failure, not at
// the check's last transition (Kueue).
//
// With a ProvisioningPolicy (policy_steps.h) the Workload's memory says what failed. A changed
// memory is written first and alone; the next decision draws the consequence from the memory. A
// crash between the two changes nothing.
//
// The cost of a request is charged to its LocalQueue's day (spend.h), and the charge is written,
// before the request is made. A request that may still be granted keeps its charge until the
// request is gone. A crash in between charges too much, never too little.
//
// A policy with `reuse` leases idle nodes (reuse.h, lease.h) instead of asking. The nodes are
// leased first, one write each; when all are leased the check is Ready. A controller that stops in
// between leaves leases that the next decision completes or releases.
//
// The outcome of a request is recorded in the stock memory (stock.h), in the same task, before the
// consequence is decided, so that the decisions on all Workloads use it.
//
// Units: backoffs in seconds. Source: Kueue pkg/controller/admissionchecks/provisioning, KEP-1136.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "api/provisioning_policy.h"
#include "api/provisioning_request.h"
#include "api/queues.h"
#include "api/workload.h"
#include "base/clock.h"
#include "checks/check_event.h"
#include "provisioning/flow.h"
#include "provisioning/late_pods.h"
#include "provisioning/pod_sets.h"
#include "provisioning/reuse.h"
#include "provisioning/spend.h"
#include "provisioning/stock.h"

namespace berth::provisioning {

// An AdmissionCheck of this controller that the Workload has to pass, with its config.
struct CheckInput {
  std::string name;
  const api::ProvisioningRequestConfig* config = nullptr;  // null: missing, the check is inactive
  std::int32_t last_attempt = 0;                    // highest attempt in this process; 0: none
  const api::ProvisioningPolicy* policy = nullptr;  // null: Kueue's rules alone
};

// A PodTemplate that the Workload or one of its requests owns.
struct TemplateSeen {
  std::string name;
  std::string controller_uid;
};

struct Situation {
  const api::Workload* workload = nullptr;
  std::vector<CheckInput> checks;
  std::vector<api::ProvisioningRequest> requests;  // requests whose controller is the Workload
  std::vector<TemplateSeen> templates;
  const FlavorsByName* flavors = nullptr;    // null: no flavors
  api::MemoryByCheck memory;                 // from the Workload's annotation
  const StockMemory* stock = nullptr;        // null: nothing is remembered
  std::optional<std::int64_t> job_deadline;  // activeDeadlineSeconds of the Workload's Job
  std::optional<std::int64_t> past_run;      // seconds, of earlier jobs (run_history.h)
  const Flow* flow = nullptr;                // null: any number of requests may be open
  const SpendMemory* spend = nullptr;        // null: no policy has a budget of the day
  std::optional<NodesSeen> nodes;            // nullopt: nodes are neither reused nor released
  std::optional<PodsSeen> pods;              // nullopt: pods are not looked at
};

struct DecideOptions {
  UpdateOptions updates;
  // After it, the message says that no autoscaler answers.
  std::chrono::seconds answer_timeout{120};
};

// If the request does not exist, a PodTemplate of this name that exists already is replaced: the
// name can be predicted, so that any user who may create PodTemplates could ask for more capacity
// than quota has counted.
struct CreateTemplate {  // owner: the request if it exists, else the Workload
  std::string name;
  std::string request;
  api::PodTemplate pod_template;
  std::optional<api::OwnerReference> owner;
};
struct CreateRequest {  // owned by the Workload; its templates exist
  api::ProvisioningRequest request;
  std::string check;
  std::int32_t attempt = 0;
};
struct OwnTemplate {  // the request becomes the template's controller
  std::string name;
  api::OwnerReference owner;
};
struct DeleteRequest {
  std::string name;
  // The charges to record when the request is gone. If there are charges, the deletion names the
  // resourceVersion: a request that was granted meanwhile is judged again.
  std::vector<Charge> charges;
  std::string resource_version;
};
struct DeleteTemplate {
  std::string name;
};
struct TakeLease {  // names the node's resourceVersion; also renews a lease
  std::string node;
  std::string resource_version;
  std::string holder;
  WallTime until{};
};
struct ReleaseLease {
  std::string node;
  std::string resource_version;
};
struct CreatePlaceholder {  // a pod that holds a node (placeholders.h)
  std::string name;
  api::PodTemplate pod_template;  // the template of the pod that it stands for
  std::string priority_class;
  std::string image;
};
struct DeletePlaceholder {
  std::string name;
};
using checks::CheckEvent;
using Action =
    std::variant<CreateTemplate, CreateRequest, OwnTemplate, DeleteRequest, DeleteTemplate,
                 TakeLease, ReleaseLease, CreatePlaceholder, DeletePlaceholder, CheckEvent>;

// A write of annotations of the Workload.
struct MemoryWrite {
  api::MemoryByCheck memory;
  std::string avoided_flavors;     // the annotation berth.dev/avoided-flavors; empty: none
  std::string expires_at;          // the annotation berth.dev/expires-at; empty: none
  std::vector<CheckEvent> events;  // to record after the write
};

struct Decision {
  std::vector<StockLesson> lessons;   // to record before deciding again; exclude the rest
  std::vector<Charge> charges;        // to record and write before deciding again; exclude the rest
  std::optional<MemoryWrite> memory;  // to write before deciding again; excludes the rest
  std::vector<api::AdmissionCheckState> checks;  // the changed checks, each complete
  std::vector<Action> actions;                   // to perform in this order
  std::optional<Duration> next_wake;             // from now, without another change
  std::optional<WallTime> expires_at;            // the first end of capacity in use
  std::vector<CheckEvent> told;                  // goes with `memory`; see MemoryWrite
  std::optional<FlowWait> waits;                 // the Workload waits for room for one more request
  bool waits_for_budget = false;  // until the budget of the LocalQueue's day suffices
};

// Whether the Workload holds quota that it is not about to lose.
bool NeedsCapacity(const api::Workload& workload);

// Whether a Workload without quota keeps what it has asked for: its reservation has gone without an
// eviction, and may come back. Not while a queue is stopped or gone, or the job is on hold.
bool KeepsRequests(const api::Workload& workload);

// The lane of a request of `provisioning_class` for a Workload with these flavors.
Lane LaneOf(const std::string& provisioning_class, const std::vector<std::string>& flavors);

Decision Decide(const Situation& situation, const DecideOptions& options, WallTime now);

}  // namespace berth::provisioning
