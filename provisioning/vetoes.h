// provisioning/vetoes.h — why a step of a ProvisioningPolicy is passed over without a request.
//
//     policy, pods, prices --VetoesOf--> step's name → veto
//
// A veto is computed anew for each decision and is stored nowhere: an edit of the policy, of a
// price or of the pods takes effect at once. A veto never ends a request that exists.
//
// Threads: pure functions. Errors: none. Prices: USD for one node and hour.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "api/provisioning_policy.h"
#include "api/queues.h"
#include "api/workload.h"
#include "base/clock.h"
#include "provisioning/gang.h"
#include "provisioning/pod_sets.h"
#include "provisioning/spend.h"
#include "provisioning/stock.h"

namespace berth::provisioning {

struct Veto {
  std::string reason;             // one of the reasons below
  std::string message;            // without the step's name
  std::optional<WallTime> until;  // the veto ends by itself; nullopt: a person has to act
  std::string in_favor_of;        // holds while this step is left; empty: holds in any case
};
inline constexpr char kNeverFitsReason[] = "NeverFits";
inline constexpr char kZoneReason[] = "ZoneExcluded";
inline constexpr char kRunLimitReason[] = "RunTooLong";
inline constexpr char kPriceLimitReason[] = "PriceLimitExceeded";
inline constexpr char kBudgetReason[] = "BudgetExceeded";
inline constexpr char kRestsReason[] = "OutOfStockRecently";
inline constexpr char kSlowerReason[] = "SlowerThanNext";
inline constexpr const char* kVetoReasons[] = {kNeverFitsReason,  kZoneReason,   kRunLimitReason,
                                               kPriceLimitReason, kBudgetReason, kRestsReason,
                                               kSlowerReason};

using Vetoes = std::map<std::string, Veto>;  // by the step's name

struct VetoInput {
  const api::ProvisioningPolicy& policy;
  const api::ProvisioningRequestConfig& config;
  const api::Workload& workload;
  const FlavorsByName* flavors = nullptr;  // for their prices; null: none are known
  const StockMemory* stock = nullptr;      // null: no step rests
  WallTime now{};
  std::optional<std::int64_t> job_deadline;  // activeDeadlineSeconds of the Workload's Job
  const SpendMemory* spend = nullptr;        // null: no queue has a budget of the day
  std::set<std::string> own_charges;  // charges that the next request replaces (day_charges.h)
  const api::ProvisioningMemory* memory = nullptr;  // null: no step is used up
  bool asked = false;  // a request waits or has its nodes: expected waits change nothing
};

Vetoes VetoesOf(const VetoInput& input);

// Whether the pods of the Workload may be asked for in parts: the policy and the job say so, and
// all pods are of one pod set without a topology.
bool MayDivide(const api::ProvisioningPolicy& policy, const api::Workload& workload);

// The budget that the step would exceed, whatever the policy does about that; nullopt: none.
std::optional<Veto> OverBudget(const api::ProvisioningStep& step, const VetoInput& input);

struct Cost {
  std::int64_t nodes = 0;  // the least of the step's pool; unknown pool: one for each pod
  std::int64_t nano_dollars_per_hour = 0;  // the price of one node
  std::int64_t seconds = 0;                // expected run, else the run that is asked for
  std::int64_t nano_dollars = 0;           // all together, saturating
};

// The expected cost of the Workload in the step; nullopt: the step's price or the run is unknown.
std::optional<Cost> CostOf(const api::ProvisioningStep& step, const VetoInput& input);

// The least number of nodes of the step's pool; one for each pod of an unknown pool.
std::int64_t NodesOf(const api::ProvisioningStep& step, const Gang& gang);

// The price of one node of the step: the price in the step, else in the annotation
// berth.dev/price-per-hour of its flavor; nullopt: unknown.
std::optional<api::Quantity> PriceOf(const api::ProvisioningStep& step,
                                     const FlavorsByName* flavors);

}  // namespace berth::provisioning
