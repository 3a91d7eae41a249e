#include "program/machine_totals.h"

#include "api/condition.h"

namespace berth::program {

void MachineTotals::Set(const api::Node& node) {
  nodes_[node.meta.name] = {node.allocatable,
                            !node.unschedulable && api::IsTrue(node.conditions, "Ready")};
}

void MachineTotals::Remove(const std::string& node) { nodes_.erase(node); }

std::map<std::string, MachineTotal> MachineTotals::Sums() const {
  std::map<std::string, MachineTotal> sums;
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
