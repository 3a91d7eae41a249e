// program/machine_totals.h — what the nodes of a cluster have for pods, summed by resource.
//
// Threads: one. Errors: none.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "api/pod.h"
#include "api/quantity.h"

namespace berth::program {

struct MachineTotal {
  api::Amount ready = 0;  // nodes that are ready and schedulable have so much
  api::Amount all = 0;
  friend bool operator==(const MachineTotal&, const MachineTotal&) = default;
};

class MachineTotals {
 public:
  void Set(const api::Node& node);
  void Remove(const std::string& node);

  // Resources of which no node has an amount are left out. A sum is bounded by the largest amount.
  // The sums are made again only after a change: a heartbeat of a node is none.
  const std::map<std::string, MachineTotal>& Sums() const;

 private:
  struct Part {
    api::ResourceAmounts amounts;
    bool is_ready = false;
    friend bool operator==(const Part&, const Part&) = default;
  };
  std::map<std::string, Part> nodes_;
  mutable std::optional<std::map<std::string, MachineTotal>> sums_;  // nullopt: nodes have changed
};

}  // namespace berth::program
