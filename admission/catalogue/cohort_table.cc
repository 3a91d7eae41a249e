#include "admission/catalogue/cohort_table.h"

#include <utility>

namespace berth::admission {

void CohortTable::Add(const std::string& name, NodeId node) {
  cohorts_[name].node = node;
  const auto slot = static_cast<std::size_t>(node);
  if (slot >= name_of_node_.size()) name_of_node_.resize(slot + 1);
  name_of_node_[slot] = name;
}

void CohortTable::Remove(NodeId node) {
  std::string& name = name_of_node_[static_cast<std::size_t>(node)];
  cohorts_.erase(name);
  name.clear();
}

bool CohortTable::SetSpec(NodeId node, std::optional<api::CohortSpec> spec) {
  Cohort& cohort = cohorts_.at(NameOf(node));
  if (cohort.spec == spec) return false;
  cohort.spec = std::move(spec);
  return true;
}

bool CohortTable::IsNamedAlone(NodeId node) const {
  const auto found = cohorts_.find(NameOf(node));
  return found != cohorts_.end() && !found->second.spec;
}

std::optional<NodeId> CohortTable::Find(const std::string& name) const {
  const auto found = cohorts_.find(name);
  if (found == cohorts_.end()) return std::nullopt;
  return found->second.node;
}

const std::string& CohortTable::NameOf(NodeId node) const {
  static const std::string none;
  const auto slot = static_cast<std::size_t>(node);
  return slot < name_of_node_.size() ? name_of_node_[slot] : none;
}

std::vector<std::string> CohortTable::Names() const {
  std::vector<std::string> names;
  for (const auto& [name, cohort] : cohorts_) names.push_back(name);
  return names;
}

}  // namespace berth::admission
