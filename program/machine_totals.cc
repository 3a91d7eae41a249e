#include "program/machine_totals.h"

#include <utility>

#include "admission/topology/node_inventory.h"

namespace berth::program {

void MachineTotals::Set(const api::Node& node) {
  Part now{node.allocatable, admission::CountsForPlacement(node)};
  Part& known = nodes_[node.meta.name];
  if (known == now) return;
  known = std::move(now);
  sums_.reset();
}

void MachineTotals::Remove(const std::string& node) {
  if (nodes_.erase(node) > 0) sums_.reset();
}

const std::map<std::string, MachineTotal>& MachineTotals::Sums() const {
  if (sums_) return *sums_;
  std::map<std::string, MachineTotal>& sums = sums_.emplace();
  for (const auto& [name, node] : nodes_) {
    for (const auto& [resource, amount] : node.amounts) {
      if (amount <= 0) continue;
      MachineTotal& sum = sums[resource];
      sum.all = api::AddAmounts(sum.all, amount);
      if (node.is_ready) sum.ready = api::AddAmounts(sum.ready, amount);
    }
  }
  return sums;
}

}  // namespace berth::program
