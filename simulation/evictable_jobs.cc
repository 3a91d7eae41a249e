#include "simulation/evictable_jobs.h"

namespace berth::simulation {

void EvictableJobs::Add(const Nodes& nodes, const Nodes::Placement& placement, std::size_t job) {
  for (const auto& [node, pods] : placement.pods) {
    const std::optional<WallTime> eviction = nodes.EvictionOf(node);
    if (!eviction) continue;
    jobs_.insert({node, job});
    evictions_.Add(*eviction, static_cast<std::size_t>(node));
  }
}

void EvictableJobs::Remove(const Nodes::Placement& placement, std::size_t job) {
  for (const auto& [node, pods] : placement.pods) jobs_.erase({node, job});
}

std::optional<NodeId> EvictableJobs::TakeDue(WallTime now) {
  const auto node = evictions_.TakeDue(now);
  if (!node) return std::nullopt;
  return static_cast<NodeId>(*node);
}

std::vector<std::size_t> EvictableJobs::JobsOn(NodeId node) const {
  std::vector<std::size_t> jobs;
  for (auto at = jobs_.lower_bound({node, 0}); at != jobs_.end() && at->first == node; ++at) {
    jobs.push_back(at->second);
  }
  return jobs;
}

}  // namespace berth::simulation
