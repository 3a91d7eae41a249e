// provisioning/reactive.h — decides the admission check berth.dev/reactive-capacity: capacity that
// an autoscaler brings for pending pods (Karpenter, ordinary node pools, spot pools).
//
//     quota ─▶ Ready ─▶ pods, pending ─▶ nodes ─▶ pods run ─▶ …
//                 │  no node within the limit; nodes taken back (onRevoked: Requeue)
//                 └─▶ Retry: quota is released, the next step of the policy follows
//
// Such an autoscaler acts on pods that exist, so the check lets the job start and watches its pods.
// The steps are those of the ProvisioningPolicy that the AdmissionCheck names (policy_steps.h): a
// step is a flavor with a limit of time and of attempts. Without a policy there is one step of 15
// minutes. The memory of what failed, the vetoes (vetoes.h) and the stock memory (stock.h) are
// those of provisioning checks; the memory is written first and alone, as in decide.h.
//
// A job whose nodes cannot come may not start: see KnownObstacle (node_supply.h). The cost of an
// attempt is charged to its LocalQueue's day (spend.h), and the charge is written, before the job
// or its placeholders may start. The charge is taken back when the attempt ends and no pod got a
// node.
//
// The waiting time of a step runs from the moment at which the scheduler found no room for a pod.
// Pods that another pod preempted do not count as lost.
//
// With `placeholders` in the policy the check stays Pending while pods of low priority bring the
// nodes (placeholders.h); the job starts when all nodes have come.
//
// Idempotent: deciding again after performing a decision gives no action.
// Units: seconds. Threads: pure functions. Errors: none.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/pod.h"
#include "api/provisioning_policy.h"
#include "api/workload.h"
#include "base/clock.h"
#include "provisioning/decide.h"
#include "provisioning/node_supply.h"
#include "provisioning/stock.h"

namespace berth::provisioning {

// The class of all reactive capacity in the stock memory.
inline constexpr char kReactiveClass[] = "reactive-capacity";
inline constexpr std::int64_t kUsualReactiveWait = 900;  // seconds, of a step without a limit
// How long pods may wait before the check's message names the cause.
inline constexpr Duration kQuietWait = std::chrono::seconds(10);

// How often the cause is looked for again while pods wait: Events come later than pods.
inline constexpr Duration kLookAgain = std::chrono::minutes(1);

inline constexpr char kNodesTakenBackReason[] = "NodesTakenBack";

// How the check begins its message while pods have no nodes.
inline constexpr char kPodsWaitPrefix[] = "pods wait for nodes (";

// The config of a check without requests: its class is kReactiveClass.
const api::ProvisioningRequestConfig& ReactiveConfig();
// The policy with a limit of time for each step, without Hold, and without classes and races, which
// are for requests. null: one step.
api::ProvisioningPolicy WithReactiveLimit(const api::ProvisioningPolicy* policy);

// A check of this controller that the Workload has to pass.
struct ReactiveCheck {
  std::string name;
  const api::ProvisioningPolicy* policy = nullptr;  // null: one step of kUsualReactiveWait
  bool active = true;                               // false: the policy that it names is missing
};

struct ReactiveSituation {
  const api::Workload* workload = nullptr;
  std::vector<ReactiveCheck> checks;
  std::vector<const api::Pod*> pods;          // the Workload's pods, by name
  std::vector<const api::Pod*> placeholders;  // the Workload's placeholders, by name
  NodeSupply supply;
  const FlavorsByName* flavors = nullptr;    // null: no flavors
  api::MemoryByCheck memory;                 // from the Workload's annotation
  const StockMemory* stock = nullptr;        // null: nothing is remembered
  std::optional<std::int64_t> job_deadline;  // activeDeadlineSeconds of the Workload's Job
  std::optional<std::int64_t> past_run;      // seconds, of earlier jobs (run_history.h)
  const SpendMemory* spend = nullptr;        // null: no policy has a budget of the day
};

// The pod that waits longest for a node, and since when; null: none does.
struct LongestWait {
  const api::Pod* pod = nullptr;
  WallTime since{};
};
LongestWait LongestWaitOf(const std::vector<const api::Pod*>& pods);

// The actions are CheckEvents and the actions on placeholders. `memory` has no expires_at, and its
// avoided_flavors are for the annotation berth.dev/reactive-avoided-flavors.
Decision DecideReactive(const ReactiveSituation& situation, WallTime now);

}  // namespace berth::provisioning
