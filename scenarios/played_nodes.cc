#include "scenarios/played_nodes.h"

#include <algorithm>

#include "local/cloud/node_pool.h"
#include "local/cluster/objects/fields.h"

namespace berth::scenarios {

PlayedNodes::PlayedNodes(const std::vector<simulation::NodePool>& pools)
    : use_(pools.size()), counts_(pools.size()) {
  for (std::size_t pool = 0; pool < pools.size(); ++pool) {
    pools_[pools[pool].name] = pool;
    use_[pool].name = pools[pool].name;
    use_[pool].price_per_hour = pools[pool].price_per_hour;
  }
}

void PlayedNodes::Note(const nlohmann::json& node, bool is_gone, Duration now) {
  const auto pool = pools_.find(local::cloud::PoolOf(node));
  if (pool == pools_.end() || !local::cloud::IsOurs(node)) return;
  const std::string name = local::cluster::NameOf(node);
  const auto known = nodes_.find(name);
  if (is_gone) {
    if (known == nodes_.end()) return;
    End(known->second, now);
    nodes_.erase(known);
    return;
  }
  if (known == nodes_.end()) {
    nodes_[name].life = {.node = next_++, .pool = pool->second, .made = now};
    std::int64_t& count = counts_[pool->second];
    ++count;
    use_[pool->second].peak = std::max(use_[pool->second].peak, count);
  }
  OneNode& noted = nodes_[name];
  if (noted.is_ready || local::cloud::IsBooting(node)) return;
  noted.is_ready = true;
  noted.life.ready = now;
}

void PlayedNodes::End(const OneNode& node, Duration now) {
  simulation::NodeLife life = node.life;
  life.gone = std::max(now, life.made);
  if (!node.is_ready) life.ready = life.gone;
  simulation::PoolUse& use = use_[life.pool];
  use.node_time += life.gone - life.made;
  if (node.pods > 0) use.busy_time += now - node.since;
  --counts_[life.pool];
  lives_.push_back(life);
}

void PlayedNodes::AddPod(const std::string& node, Duration now) {
  const auto known = nodes_.find(node);
  if (known == nodes_.end()) return;
  if (known->second.pods++ == 0) known->second.since = now;
}

void PlayedNodes::RemovePod(const std::string& node, Duration now) {
  const auto known = nodes_.find(node);
  if (known == nodes_.end() || known->second.pods == 0) return;
  if (--known->second.pods > 0) return;
  use_[known->second.life.pool].busy_time += now - known->second.since;
}

std::optional<simulation::NodeId> PlayedNodes::IdOf(const std::string& node) const {
  const auto known = nodes_.find(node);
  if (known == nodes_.end()) return std::nullopt;
  return known->second.life.node;
}

void PlayedNodes::EndAt(Duration end) {
  for (const auto& [name, node] : nodes_) End(node, end);
  nodes_.clear();
  std::stable_sort(
      lives_.begin(), lives_.end(),
      [](const simulation::NodeLife& a, const simulation::NodeLife& b) { return a.gone < b.gone; });
}

}  // namespace berth::scenarios
