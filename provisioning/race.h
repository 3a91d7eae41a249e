// provisioning/race.h — several requests that race for one Workload.
//
//     request 1 ──stagger──▶ request 2 ──stagger──▶ …    (at most `width` wait at once)
//         └── the first whose nodes come wins; the others are deleted in the same pass
//
// The requests of a race have the annotation berth.dev/race: the attempt of the first. Once the
// check is Ready its podSetUpdates name the winner: no later grant changes the winner, whatever
// was lost in a crash. A request that fails stays until the race is decided, so that the race needs
// no memory of its own: the requests are the memory. When all have failed, each counts as a failed
// attempt of its step, and the time of the race once.
//
// Nodes that come for a request that has lost are paid for in vain. Bound of that waste:
//     (width − 1) × nodes × price
//         × (boot + keepSurplusSeconds + time until an idle node is removed)
// With keepSurplusSeconds the request of such nodes stays for that long, so that the cloud keeps
// the nodes while other Workloads may lease them. This needs no memory: the grant and the check's
// change to Ready are in the objects.
//
// Units: seconds, nano-dollars. Threads: pure functions. Errors: none. Source: this repository's
// specification of capacity; GKE's OBTAINABILITY strategy.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/provisioning_policy.h"
#include "api/provisioning_request.h"
#include "api/workload.h"
#include "base/clock.h"
#include "provisioning/vetoes.h"

namespace berth::provisioning {

// The parameter by which queued provisioning looks for machines in all zones at once.
inline constexpr char kSearchStrategyParameter[] = "capacitySearchStrategy";
inline constexpr char kObtainability[] = "OBTAINABILITY";

// A request of a race.
struct Runner {
  const api::ProvisioningRequest* request = nullptr;
  std::int32_t attempt = 0;
  std::optional<std::int64_t> price;  // nano-dollars for a node and hour; nullopt: unknown
};

// The attempt that began the race of the request; 0: the request races with none.
std::int32_t RaceOf(const api::ProvisioningRequest& request);

// When the request's nodes came; nullopt: they have not come, or are gone.
std::optional<WallTime> GrantedAt(const api::ProvisioningRequest& request);

// The runner whose nodes came first; if two came in one second, the cheaper one, then the lower
// attempt. null: no nodes have come.
const Runner* WinnerOf(const std::vector<Runner>& runners);

// Whether another request of the race is the one that the Workload's check is Ready with. Nodes
// that came for the request are surplus: no Workload has them until they are leased (reuse.h).
bool HasLost(const api::ProvisioningRequest& request, const api::Workload& workload);

// The request whose capacity the updates let the pods use; empty: none.
std::string NamedWinner(const std::vector<api::PodSetUpdate>& updates);

// Whether a step without zones asks the cloud for all its zones at once, with one request.
// `selects`: the pods or the flavor select a zone.
bool RacesInTheCloud(const api::ProvisioningStep& step, const std::string& provisioning_class,
                     bool selects, const VetoInput& input);

// The cost of `nodes` nodes that came at `granted` and are not used: the time until their request
// is deleted at `deleted`, and ten minutes more, after which autoscalers remove idle nodes.
struct Waste {
  std::int64_t node_seconds = 0;
  std::int64_t nano_dollars = 0;  // 0: the price is unknown
};
// The most that a race of the step wastes, where each of its other requests gets `nodes` nodes.
Waste WasteBound(const api::ProvisioningRace& race, std::int64_t nodes,
                 std::optional<std::int64_t> price);
// Whether requests of the step race, by the policy and the step alone.
bool MayRace(const api::ProvisioningPolicy& policy, const api::ProvisioningStep& step,
             const std::string& provisioning_class);
Waste WasteOf(WallTime granted, WallTime deleted, std::int64_t nodes,
              std::optional<std::int64_t> price);

// Adds the waste to the memory, once for each attempt. Returns whether the memory changed.
bool BookWaste(std::int32_t attempt, const Waste& waste, api::ProvisioningMemory& memory);

}  // namespace berth::provisioning
