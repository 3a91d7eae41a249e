// scenarios/played_nodes.h — the machines of the emulated cloud while jobs are played
// (played_jobs.h): when they come and go, and which have pods.
//
// Units: as simulation/nodes.h, times from the first submission. Threads: one. Errors: none.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "simulation/nodes.h"

namespace berth::scenarios {

class PlayedNodes {
 public:
  explicit PlayedNodes(const std::vector<simulation::NodePool>& pools);

  // Takes the present state of a Node, or its last state if `is_gone`. Nodes of no pool do not
  // count.
  void Note(const nlohmann::json& node, bool is_gone, Duration now);
  // A pod came to the node, or left it.
  void AddPod(const std::string& node, Duration now);
  void RemovePod(const std::string& node, Duration now);

  // nullopt: a node of no pool.
  std::optional<simulation::NodeId> IdOf(const std::string& node) const;

  // Ends the lives of nodes that exist at `end`. Call once, last.
  void EndAt(Duration end);
  std::vector<simulation::PoolUse> TakeUse() { return std::move(use_); }
  std::vector<simulation::NodeLife> TakeLives() { return std::move(lives_); }

 private:
  struct OneNode {
    simulation::NodeLife life;
    bool is_ready = false;
    std::int64_t pods = 0;
    Duration since{};  // the age of the first of these pods
  };

  void End(const OneNode& node, Duration now);

  std::map<std::string, std::size_t> pools_;  // index by name
  std::vector<simulation::PoolUse> use_;
  std::vector<std::int64_t> counts_;  // nodes of each pool
  std::vector<simulation::NodeLife> lives_;
  std::map<std::string, OneNode> nodes_;  // by name
  simulation::NodeId next_ = 0;
};

}  // namespace berth::scenarios
