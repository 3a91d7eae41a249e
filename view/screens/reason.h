// view/screens/reason.h — the reason for a Workload's state, as data and as one line.
//
// A reason has a kind, the amounts and the binding limit. It is derived from the records of the
// controllers (conditions, check states, annotation berth.dev/explanation, ProvisioningRequests);
// nothing is decided again.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "api/quantity.h"
#include "view/screens/cluster_view.h"
#include "view/screens/text.h"

namespace berth::view {

// One flavor that was tried for one resource, with the obstacle.
struct TriedFlavor {
  std::string pod_set;
  std::string flavor;
  std::string resource;  // empty: the flavor as a whole (taint, affinity)
  std::optional<api::Amount> asked;
  std::optional<api::Amount> available;
  std::optional<api::Amount> nominal;
  std::string limit;    // the binding limit: "nominalQuota", "borrowingLimit", "cohort", …
  std::string message;  // the obstacle in words, where no limit binds
};

struct ConsideredVictim {
  std::string workload;
  std::string why_not;
};

// An earlier reason, or the present one, with its number of occurrences.
struct PastReason {
  std::string reason;
  std::string message;
  std::optional<WallTime> first;
  std::optional<WallTime> last;
  std::int64_t count = 0;
};

// What stops of workloads like the waiting one have cost.
struct MeasuredStops {
  Duration lost{};  // by each
  std::int64_t count = 0;
};

struct Reason {
  std::string kind;     // queued, quota, flavor, topology, capacity, check, held, backoff, …
  std::string summary;  // the line without the kind
  std::vector<TriedFlavor> tried;
  std::vector<ConsideredVictim> victims;
  std::string may_preempt;             // the preemption policy, if there is no candidate
  std::vector<PastReason> history;     // the latest last; empty: the reason was found once
  std::optional<MeasuredStops> stops;  // set where its job claims checkpoints and stops are known

  std::string Line() const { return kind.empty() ? summary : kind + ": " + summary; }
};

// Keys: kind, message; tried, notPreempted, mayPreempt, history, stops if not empty. Amounts are
// numbers in the unit beside them.
nlohmann::json ReasonJson(const Reason& reason);

// The cause of a wait, in a word of the read API, by the reason of QuotaReserved=False: "quota" for
// WaitingForQuota, "too large" for ExceedsMaxQuota; "waiting" for reasons that are not Kueue's.
std::string CauseOf(const std::string& condition_reason);

// The reason for which the waiting `workload` does not run.
Reason WaitingReason(const ClusterView& view, const api::Workload& workload,
                     const TextStyle& style);

// The nodes of a running workload ("t4: gke-dws-t4-…-0"), or the reason why its pods wait. Without
// pods in the view: the hosts that a topology has assigned.
std::string RunningPlace(const ClusterView& view, const api::Workload& workload);

// Why an admitted workload lacks pods: "no pod was made: …", "1 of 2 pods was made: …"; empty: no
// pod is refused, or later pods were made.
std::string LackOfPods(const ClusterView& view, const api::Workload& workload);
// Whether an admitted workload has no pod since all are refused: it does not run.
bool IsWithoutPods(const ClusterView& view, const api::Workload& workload);

// The result of a finished workload: "ok in 42s", "failed: …".
std::string FinishedResult(const ClusterView& view, const api::Workload& workload);

// The start of the Workload's present wait: its creation, or its last eviction.
WallTime WaitingSince(const api::Workload& workload);

// The instant by which its queue orders the workload, if the Configuration has Kueue's defaults:
// queue::QueueOrderTime. A preempted workload keeps its place: it waits since its eviction, and is
// ordered by its creation.
WallTime OrderedBy(const api::Workload& workload);

std::int32_t PriorityOf(const api::Workload& workload);

// The place of a waiting workload among those of its ClusterQueue, the least first: its turn where
// `turns` has one, then priority and OrderedBy().
using QueueRank = std::tuple<std::int64_t, std::int64_t, WallTime, std::string>;
QueueRank RankInQueue(const api::Workload& workload,
                      const std::map<api::ObjectKey, std::int64_t>& turns);

// The waiting workloads, queue by queue, in the order in which their ClusterQueue tries them: by
// ClusterView::turns, elsewhere by priority and time.
std::vector<const api::Workload*> InQueueOrder(const ClusterView& view);

// The pool that the pod template's node selector names, or null.
const NodePoolView* WantedPool(const ClusterView& view, const api::Workload& workload);

}  // namespace berth::view
