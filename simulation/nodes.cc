#include "simulation/nodes.h"

#include <algorithm>
#include <cmath>

#include "base/assert.h"
#include "base/random.h"

namespace berth::simulation {
namespace {

constexpr char kPodsResource[] = "pods";

// How many pods fit into `free`, at most `wanted`.
std::int64_t FitCount(const api::ResourceAmounts& free, const api::ResourceAmounts& requests,
                      std::int64_t wanted) {
  std::int64_t count = wanted;
  for (const auto& [resource, amount] : requests) {
    const auto found = free.find(resource);
    if (found == free.end()) return 0;
    count = std::min(count, found->second / amount);
  }
  const auto pods = free.find(kPodsResource);
  return pods == free.end() ? count : std::min(count, pods->second);
}

void Take(api::ResourceAmounts& free, const api::ResourceAmounts& requests, std::int64_t pods) {
  for (const auto& [resource, amount] : requests) {
    free[resource] -= amount * pods;
    BERTH_ASSERT(free[resource] >= 0);
  }
  const auto limit = free.find(kPodsResource);
  if (limit != free.end()) limit->second -= pods;
}

}  // namespace

Nodes::Nodes(const std::vector<NodePool>& pools, WallTime start, PodPlacement order)
    : pools_(pools), order_(order), start_(start), use_(pools.size()), counts_(pools.size()) {
  for (std::size_t pool = 0; pool < pools_.size(); ++pool) {
    use_[pool].name = pools_[pool].name;
    use_[pool].price_per_hour = pools_[pool].price_per_hour;
    for (std::int64_t i = 0; i < pools_[pool].min_nodes; ++i) Make(pool, start, start);
  }
}

NodeId Nodes::Make(std::size_t pool, WallTime now, WallTime ready) {
  nodes_[next_] = {.pool = pool,
                   .free = pools_[pool].node.allocatable,
                   .made = now,
                   .ready = ready,
                   .evicted = std::nullopt,
                   .since = ready};
  if (const auto life = LifeOf(pools_[pool])) nodes_[next_].evicted = ready + *life;
  ++counts_[pool];
  use_[pool].peak = std::max(use_[pool].peak, counts_[pool]);
  return next_++;
}

// By chance, and the same in every run.
Duration Nodes::BootOf(const NodePool& pool) const {
  if (pool.boots.empty()) return pool.boot;
  constexpr std::uint64_t kStride = 7919;
  return pool.boots[Random(static_cast<std::uint64_t>(next_) * kStride).Below(pool.boots.size())];
}

// Returns whole seconds, drawn by chance, and the same in every run.
std::optional<Duration> Nodes::LifeOf(const NodePool& pool) const {
  std::optional<Duration> life = pool.evicted_after;
  if (pool.evictions_per_hour <= 0) return life;
  constexpr std::uint64_t kStride = 104729;  // another than that of boots
  constexpr double kSecondsPerHour = 3600;
  constexpr double kLongest = 1e9;  // seconds
  const double unit = Random(static_cast<std::uint64_t>(next_) * kStride).Unit();
  const double drawn = -std::log(1 - unit) * kSecondsPerHour / pool.evictions_per_hour;
  const auto seconds = static_cast<std::int64_t>(std::clamp(std::ceil(drawn), 1.0, kLongest));
  return std::min(life.value_or(Duration::max()), Duration(std::chrono::seconds(seconds)));
}

bool Nodes::Suits(const NodePool& pool, const PodNeeds& needs) const {
  for (const auto& [key, value] : needs.node_labels) {
    const std::string* label = api::FindValue(pool.node.meta.labels, key);
    if (label == nullptr || *label != value) return false;
  }
  return std::all_of(
      pool.node.taints.begin(), pool.node.taints.end(), [&needs](const api::Taint& taint) {
        // The API server lets pods tolerate the taint of a resource that they request
        // (ExtendedResourceToleration).
        return taint.effect == "PreferNoSchedule" || needs.requests->count(taint.key) > 0 ||
               std::any_of(
                   needs.tolerations.begin(), needs.tolerations.end(),
                   [&taint](const api::Toleration& each) { return api::Tolerates(each, taint); });
      });
}

void Nodes::Count(NodeId id, const OneNode& node, WallTime end) {
  use_[node.pool].node_time += std::max(end - node.made, Duration::zero());
  lives_.push_back(
      {id, node.pool, node.made - start_, node.ready - start_, std::max(end, node.made) - start_});
}

void Nodes::RemoveDue(WallTime now) {
  // Evict removes a node and may add one behind the last.
  for (auto at = nodes_.begin(); at != nodes_.end();) {
    const NodeId id = at->first;
    RemoveIfDue(id, at->second, now);
    at = nodes_.upper_bound(id);
  }
}

void Nodes::RemoveIfDue(NodeId id, const OneNode& node, WallTime now) {
  if (node.pods > 0) return;
  const NodePool& pool = pools_[node.pool];
  const WallTime idle_end = node.since + pool.idle;
  const bool may_shrink = counts_[node.pool] > pool.min_nodes;
  if (node.evicted && *node.evicted <= now && (!may_shrink || *node.evicted <= idle_end)) {
    Evict(id, *node.evicted);
  } else if (may_shrink && idle_end <= now) {
    Count(id, node, idle_end);
    --counts_[node.pool];
    nodes_.erase(id);
  }
}

std::optional<WallTime> Nodes::EvictionOf(NodeId node) const {
  const auto found = nodes_.find(node);
  return found == nodes_.end() ? std::nullopt : found->second.evicted;
}

void Nodes::Evict(NodeId node, WallTime at) {
  const auto found = nodes_.find(node);
  const std::size_t pool = found->second.pool;
  Count(node, found->second, at);
  --counts_[pool];
  nodes_.erase(found);
  if (counts_[pool] < pools_[pool].min_nodes) Make(pool, at, at + BootOf(pools_[pool]));
}

std::int64_t Nodes::PlaceOnNodes(const PodNeeds& needs, std::int64_t pods,
                                 const std::vector<bool>& suits, Placement& placement) const {
  std::int64_t rest = pods;
  for (const auto& [id, node] : nodes_) {
    if (rest == 0) break;
    const std::int64_t fit = suits[node.pool] ? FitCount(node.free, *needs.requests, rest) : 0;
    if (fit == 0) continue;
    placement.pods.emplace_back(id, fit);
    rest -= fit;
  }
  return rest;
}

std::int64_t Nodes::SpreadOnNodes(const PodNeeds& needs, std::int64_t pods,
                                  const std::vector<bool>& suits, Placement& placement) const {
  std::map<std::pair<std::int64_t, NodeId>, std::int64_t> emptiest;  // pods, node: pods placed here
  for (const auto& [id, node] : nodes_) {
    if (suits[node.pool]) emptiest[{node.pods, id}] = 0;
  }
  std::map<NodeId, std::int64_t> placed;
  std::int64_t rest = pods;
  while (rest > 0 && !emptiest.empty()) {
    const auto [at, here] = *emptiest.begin();
    emptiest.erase(emptiest.begin());
    const OneNode& node = nodes_.at(at.second);
    if (FitCount(node.free, *needs.requests, here + 1) <= here) continue;
    placed[at.second] = here + 1;
    emptiest[{at.first + 1, at.second}] = here + 1;
    --rest;
  }
  placement.pods.assign(placed.begin(), placed.end());
  return rest;
}

std::optional<Nodes::Placement> Nodes::Place(const PodNeeds& needs, std::int64_t pods,
                                             WallTime now) {
  RemoveDue(now);
  std::vector<bool> suits;
  suits.reserve(pools_.size());
  for (const NodePool& pool : pools_) suits.push_back(Suits(pool, needs));
  Placement placement{.pods = {}, .ready = now};
  std::int64_t rest = order_ == PodPlacement::kPack ? PlaceOnNodes(needs, pods, suits, placement)
                                                    : SpreadOnNodes(needs, pods, suits, placement);
  std::vector<std::pair<std::size_t, std::int64_t>> made;  // pool, pods of a new node
  for (std::size_t pool = 0; pool < pools_.size() && rest > 0; ++pool) {
    if (!suits[pool]) continue;
    std::int64_t more = pools_[pool].max_nodes - counts_[pool];
    for (; more > 0 && rest > 0; --more) {
      const std::int64_t fit = FitCount(pools_[pool].node.allocatable, *needs.requests, rest);
      if (fit == 0) break;
      made.emplace_back(pool, fit);
      rest -= fit;
    }
  }
  if (rest > 0) return std::nullopt;
  for (const auto& [pool, fit] : made) {
    placement.pods.emplace_back(Make(pool, now, now + BootOf(pools_[pool])), fit);
  }
  for (const auto& [id, count] : placement.pods) {
    OneNode& node = nodes_.at(id);
    if (node.pods == 0) node.since = now;
    node.pods += count;
    Take(node.free, *needs.requests, count);
    placement.ready = std::max(placement.ready, node.ready);
  }
  placement.boot = placement.ready - now;
  return placement;
}

void Nodes::Free(const Placement& placement, const api::ResourceAmounts& requests, WallTime now) {
  for (const auto& [id, count] : placement.pods) {
    OneNode& node = nodes_.at(id);
    Take(node.free, requests, -count);
    node.pods -= count;
    if (node.pods > 0) continue;
    use_[node.pool].busy_time += now - node.since;
    node.since = std::max(now, node.ready);
  }
}

std::string NodeName(const std::vector<NodePool>& pools, const NodeLife& life) {
  const NodePool& pool = pools[life.pool];
  return pool.is_node ? pool.name : pool.name + "-" + std::to_string(life.node);
}

std::vector<PoolUse> Nodes::UseUntil(WallTime end) {
  RemoveDue(end);
  std::vector<std::int64_t> rest = counts_;
  for (auto at = nodes_.rbegin(); at != nodes_.rend(); ++at) {
    const OneNode& node = at->second;
    const NodePool& pool = pools_[node.pool];
    const bool goes = node.pods == 0 && rest[node.pool] > pool.min_nodes;
    if (goes) --rest[node.pool];
    Count(at->first, node, goes ? node.since + pool.idle : end);
    if (node.pods > 0) use_[node.pool].busy_time += end - node.since;
  }
  nodes_.clear();
  return use_;
}

}  // namespace berth::simulation
