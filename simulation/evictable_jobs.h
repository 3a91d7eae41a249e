// simulation/evictable_jobs.h — which jobs have pods on nodes that the cloud takes back
// (Nodes::EvictionOf), and when the next of these nodes goes.
//
// Threads: one. Errors: none.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "simulation/agenda.h"
#include "simulation/nodes.h"

namespace berth::simulation {

class EvictableJobs {
 public:
  // The pods of `job` have come to their nodes.
  void Add(const Nodes& nodes, const Nodes::Placement& placement, std::size_t job);
  // The pods of `job` have left the nodes of `placement`.
  void Remove(const Nodes::Placement& placement, std::size_t job);

  // An instant that is not after the next eviction of a node with pods. nullopt: no node with pods
  // is taken back.
  std::optional<WallTime> Next() const { return jobs_.empty() ? std::nullopt : evictions_.Next(); }
  // A node whose time has come; its jobs may have left, and the node may be gone. nullopt: none.
  std::optional<NodeId> TakeDue(WallTime now);
  std::vector<std::size_t> JobsOn(NodeId node) const;  // rising

 private:
  std::set<std::pair<NodeId, std::size_t>> jobs_;
  Agenda<WallTime> evictions_;  // by node
};

}  // namespace berth::simulation
