#include "provisioning/node_supply.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "provisioning/disruption.h"

namespace berth::provisioning {
namespace {

using api::KarpenterNodeClaim;
using api::KarpenterNodePool;
using api::ToldEvent;
using Pools = std::vector<const KarpenterNodePool*>;

constexpr char kLaunched[] = "Launched";
constexpr char kRegistered[] = "Registered";
constexpr char kInitialized[] = "Initialized";
// Karpenter writes this reason before the first attempt.
constexpr char kNotTried[] = "AwaitingReconciliation";

bool IsOfProvider(const std::string& key) {
  for (const char* domain : {"kubernetes.io/", "k8s.io/", "karpenter."}) {
    if (key.find(domain) != std::string::npos) return true;
  }
  return false;
}

// Whether nodes of the pool may have the label.
bool MayHaveLabel(const KarpenterNodePool& pool, const std::string& key, const std::string& value) {
  if (key == api::kKarpenterNodePoolLabel) return value == pool.meta.name;
  if (const std::string* label = api::FindValue(pool.labels, key)) return *label == value;
  bool named = false;
  for (const api::NodeSelectorRequirement& each : pool.requirements) {
    if (each.key != key) continue;
    if (!api::Matches(each, {{key, value}})) return false;
    named = true;
  }
  return named || IsOfProvider(key);
}

bool MayMeet(const KarpenterNodePool& pool, const api::NodeSelectorTerm& term) {
  return std::all_of(
      term.match_expressions.begin(), term.match_expressions.end(), [&pool](const auto& each) {
        if (each.op != "In") return true;
        return std::any_of(each.values.begin(), each.values.end(), [&](const std::string& value) {
          return MayHaveLabel(pool, each.key, value);
        });
      });
}

Pools PoolsFor(const api::PodSpec& spec, const NodeSupply& supply) {
  Pools pools;
  for (const KarpenterNodePool* pool : supply.pools) {
    if (!pool->meta.deletion_timestamp && MayHost(*pool, spec)) pools.push_back(pool);
  }
  return pools;
}

// The first limit of the pool that another pod of that spec would exceed: "cpu 4 of 4"; empty:
// none.
std::string ReachedLimit(const KarpenterNodePool& pool, const api::ResourceAmounts& pod) {
  for (const auto& [resource, limit] : pool.limits) {
    const auto used = pool.used.find(resource);
    const api::Amount now = used == pool.used.end() ? 0 : used->second;
    const auto asked = pod.find(resource);
    const api::Amount more = asked == pod.end() ? 1 : std::max<api::Amount>(asked->second, 1);
    if (api::AddAmounts(now, more) <= limit) continue;
    return resource + " " + api::FormatAmount(resource, now) + " of " +
           api::FormatAmount(resource, limit);
  }
  return "";
}

// Where a pool has no room, and no budget of it lets an empty node go, the room never comes.
WaitCause LimitReached(const KarpenterNodePool& pool, const std::string& limit, WallTime now) {
  const std::string message = "NodePool " + pool.meta.name + " has reached its limit: " + limit;
  if (BudgetLetsGo(pool, kEmptyNodes, now)) return {kPoolLimitReason, message};
  return {kNodesKeptReason, message + "; its disruption budget (" +
                                BudgetText(pool, kEmptyNodes, now) +
                                ") allows no removal of empty nodes"};
}

std::optional<WaitCause> LimitOf(const Pools& pools, const api::PodSpec& spec, WallTime now) {
  const api::ResourceAmounts requests = api::PodRequests(spec);
  std::optional<WaitCause> cause;
  for (const KarpenterNodePool* pool : pools) {
    const std::string limit = ReachedLimit(*pool, requests);
    if (limit.empty()) return std::nullopt;
    if (cause) continue;
    cause = LimitReached(*pool, limit, now);
  }
  return cause;
}

bool IsOf(const KarpenterNodeClaim& claim, const Pools& pools) {
  const std::string* name = api::FindValue(claim.meta.labels, api::kKarpenterNodePoolLabel);
  return name != nullptr && std::any_of(pools.begin(), pools.end(), [name](const auto* pool) {
           return pool->meta.name == *name;
         });
}

std::optional<WaitCause> ClaimCause(const KarpenterNodeClaim& claim) {
  const auto& conditions = claim.conditions;
  if (api::IsTrue(conditions, kInitialized)) return std::nullopt;
  const std::string name = "NodeClaim " + claim.meta.name;
  const api::Condition* launched = api::FindCondition(conditions, kLaunched);
  if (launched != nullptr && launched->status != api::ConditionStatus::kTrue &&
      !launched->reason.empty() && launched->reason != kNotTried) {
    const bool none = launched->reason.starts_with("InsufficientCapacity") ||
                      launched->message.find("insufficient capacity") != std::string::npos;
    return WaitCause{none ? kNoCapacityReason : kNotLaunchedReason,
                     name + " is not launched (" + launched->reason + "): " + launched->message};
  }
  const bool registered = api::IsTrue(conditions, kRegistered);
  return WaitCause{kNodesBootReason,
                   name + (registered ? ": its node starts" : " waits for its node")};
}

// A claim that failed tells more than one that boots.
std::optional<WaitCause> CauseOfClaims(const Pools& pools, const NodeSupply& supply) {
  std::optional<WaitCause> boots;
  for (const KarpenterNodeClaim* claim : supply.claims) {
    if (claim->meta.deletion_timestamp || !IsOf(*claim, pools)) continue;
    std::optional<WaitCause> cause = ClaimCause(*claim);
    if (!cause) continue;
    if (cause->reason != kNodesBootReason) return cause;
    if (!boots) boots = std::move(cause);
  }
  return boots;
}

std::optional<WaitCause> NotReady(const Pools& pools) {
  std::optional<WaitCause> cause;
  for (const KarpenterNodePool* pool : pools) {
    const api::Condition* ready = api::FindCondition(pool->conditions, "Ready");
    if (ready == nullptr || ready->status != api::ConditionStatus::kFalse) return std::nullopt;
    if (cause) continue;
    cause = WaitCause{kPoolNotReadyReason, "NodePool " + pool->meta.name + " is not ready (" +
                                               ready->reason + "): " + ready->message};
  }
  return cause;
}

// The pod is for a pool that does not exist.
std::optional<WaitCause> MissingPool(const api::PodSpec& spec, const NodeSupply& supply) {
  const std::string* wanted = api::FindValue(spec.node_selector, api::kKarpenterNodePoolLabel);
  if (wanted == nullptr) return std::nullopt;
  const bool exists = std::any_of(supply.pools.begin(), supply.pools.end(),
                                  [&](const auto* pool) { return pool->meta.name == *wanted; });
  if (exists) return std::nullopt;
  return WaitCause{kNoPoolReason, "there is no NodePool " + *wanted};
}

// Karpenter deletes a NodeClaim for which the cloud has no machine: its Event remains. Names of
// NodeClaims begin with that of their pool.
bool IsNoCapacity(const ToldEvent& event, const Pools& pools) {
  return event.reason == kNoCapacityReason &&
         std::any_of(pools.begin(), pools.end(), [&event](const auto* pool) {
           return event.about.starts_with(pool->meta.name + "-");
         });
}

// What the Event says about the wait; nullopt: nothing.
std::optional<WaitCause> CauseIn(const ToldEvent& event, const Pools& pools) {
  if (IsNoCapacity(event, pools)) {
    return WaitCause{kNoCapacityReason, "NodeClaim " + event.about + ": " + event.message};
  }
  if (event.reason == kNoPoolFitsReason || event.reason == kFailedScaleUpReason) {
    return WaitCause{event.reason, event.message};
  }
  if (event.reason != "FailedScheduling" || event.reporter.find("karpenter") == std::string::npos) {
    return std::nullopt;
  }
  const bool limit = event.message.find("exceed limits") != std::string::npos;
  return WaitCause{limit ? kPoolLimitReason : kNoPoolFitsReason, "Karpenter: " + event.message};
}

// The newest Event that says something.
std::optional<WaitCause> CauseOfEvents(const Pools& pools, const NodeSupply& supply) {
  std::optional<WaitCause> newest;
  WallTime at{};
  for (const ToldEvent& event : supply.told) {
    if (newest && event.at < at) continue;
    if (auto cause = CauseIn(event, pools)) {
      newest = std::move(cause);
      at = event.at;
    }
  }
  return newest;
}

}  // namespace

bool MayHost(const KarpenterNodePool& pool, const api::PodSpec& spec) {
  for (const api::Taint& taint : pool.taints) {
    if (taint.effect == "PreferNoSchedule") continue;
    const bool tolerated =
        std::any_of(spec.tolerations.begin(), spec.tolerations.end(),
                    [&taint](const auto& each) { return api::Tolerates(each, taint); });
    if (!tolerated) return false;
  }
  for (const auto& [key, value] : spec.node_selector) {
    if (!MayHaveLabel(pool, key, value)) return false;
  }
  const auto& terms = spec.required_node_affinity;
  return !terms || std::any_of(terms->begin(), terms->end(),
                               [&pool](const auto& term) { return MayMeet(pool, term); });
}

WaitCause CauseOfWait(const api::Pod& pod, const NodeSupply& supply, WallTime now) {
  const Pools pools = PoolsFor(pod.spec, supply);
  auto cause = LimitOf(pools, pod.spec, now);
  if (!cause) cause = CauseOfClaims(pools, supply);
  if (!cause) cause = NotReady(pools);
  if (!cause) cause = MissingPool(pod.spec, supply);
  if (!cause) cause = CauseOfEvents(pools, supply);
  return cause.value_or(WaitCause{kNoNodesReason, "no node has come"});
}

// Whether the pod asks for a label that these pools give their nodes: nodes that Karpenter did not
// make do not serve it.
bool IsBoundTo(const Pools& pools, const api::PodSpec& spec) {
  const auto is_of_pools = [&pools](const std::string& key) {
    return key == api::kKarpenterNodePoolLabel ||
           std::any_of(pools.begin(), pools.end(),
                       [&key](const auto* pool) { return pool->labels.contains(key); });
  };
  for (const auto& [key, value] : spec.node_selector) {
    if (is_of_pools(key)) return true;
  }
  const auto& terms = spec.required_node_affinity;
  return terms && !terms->empty() &&
         std::all_of(terms->begin(), terms->end(), [&](const auto& term) {
           return std::any_of(term.match_expressions.begin(), term.match_expressions.end(),
                              [&](const auto& each) { return is_of_pools(each.key); });
         });
}

std::optional<WaitCause> KnownObstacle(const api::PodSpec& spec, const NodeSupply& supply,
                                       WallTime now) {
  if (!supply.has_karpenter) return std::nullopt;
  if (auto missing = MissingPool(spec, supply)) return missing;
  const Pools pools = PoolsFor(spec, supply);
  if (!IsBoundTo(pools, spec)) return std::nullopt;
  const bool stands =
      std::any_of(supply.claims.begin(), supply.claims.end(), [&pools](const auto* claim) {
        return !claim->meta.deletion_timestamp && IsOf(*claim, pools);
      });
  if (stands) return std::nullopt;
  auto cause = LimitOf(pools, spec, now);
  return cause ? cause : NotReady(pools);
}

const KarpenterNodePool* ExpiresBefore(const api::PodSpec& spec, std::int64_t seconds,
                                       const NodeSupply& supply) {
  const KarpenterNodePool* soonest = nullptr;
  for (const KarpenterNodePool* pool : PoolsFor(spec, supply)) {
    if (!pool->expire_after || *pool->expire_after >= std::chrono::seconds(seconds)) continue;
    if (soonest == nullptr || *pool->expire_after < *soonest->expire_after) soonest = pool;
  }
  return soonest;
}

const KarpenterNodePool* MovesPods(const api::PodSpec& spec, const NodeSupply& supply,
                                   WallTime now) {
  const Pools pools = PoolsFor(spec, supply);
  const auto found = std::find_if(pools.begin(), pools.end(),
                                  [now](const auto* pool) { return MayEmptyNodes(*pool, now); });
  return found == pools.end() ? nullptr : *found;
}

}  // namespace berth::provisioning
