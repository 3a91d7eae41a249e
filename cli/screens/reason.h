// cli/screens/reason.h — why a Workload is where it is, as data and as one line.
//
// A reason has a kind, the amounts and the limit that binds. It is made from what the controllers
// recorded (conditions, check states, annotation berth.dev/explanation, provisioning requests);
// nothing is decided anew here.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "api/quantity.h"
#include "cli/screens/cluster_view.h"
#include "cli/screens/text.h"

namespace berth::cli {

// One flavor that was tried for one resource, and what stood in the way.
struct TriedFlavor {
  std::string pod_set;
  std::string flavor;
  std::string resource;  // empty: the flavor as a whole (taint, affinity)
  std::optional<api::Amount> asked;
  std::optional<api::Amount> available;
  std::optional<api::Amount> nominal;
  std::string limit;    // which limit binds: "nominalQuota", "borrowingLimit", "cohort", …
  std::string message;  // in words, for everything else
};

struct ConsideredVictim {
  std::string workload;
  std::string why_not;
};

// One reason of the past, or the one of now with how often it was found.
struct PastReason {
  std::string reason;
  std::string message;
  std::optional<WallTime> first;
  std::optional<WallTime> last;
  std::int64_t count = 0;
};

struct Reason {
  std::string kind;     // queued, quota, flavor, topology, capacity, check, held, backoff, …
  std::string summary;  // the line without the kind
  std::vector<TriedFlavor> tried;
  std::vector<ConsideredVictim> victims;
  std::string may_preempt;          // whom the queue may preempt, where nobody could be taken
  std::vector<PastReason> history;  // the latest last; empty: found once

  std::string Line() const { return kind.empty() ? summary : kind + ": " + summary; }
};

// kind, message; tried, notPreempted, mayPreempt, history where there are any. Amounts are numbers
// in the unit beside them.
nlohmann::json ReasonJson(const Reason& reason);

// Why `workload`, which is waiting, does not run yet.
Reason WaitingReason(const ClusterView& view, const api::Workload& workload,
                     const TextStyle& style);

// Where a running workload runs ("t4: gke-dws-t4-…-0"), or what its pods wait for.
std::string RunningPlace(const ClusterView& view, const api::Workload& workload);

// How a finished one ended: "ok in 42s", "failed: …".
std::string FinishedResult(const ClusterView& view, const api::Workload& workload);

// Since when it has been waiting: creation, or the last eviction.
WallTime WaitingSince(const api::Workload& workload);

std::int32_t PriorityOf(const api::Workload& workload);

// The waiting workloads in the order in which their ClusterQueue offers them, queue by queue.
std::vector<const api::Workload*> InQueueOrder(const ClusterView& view);

// The pool named by the pod template's node selector, or null.
const NodePoolView* WantedPool(const ClusterView& view, const api::Workload& workload);

}  // namespace berth::cli
