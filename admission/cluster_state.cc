#include "admission/cluster_state.h"

#include <algorithm>

#include "api/condition.h"
#include "api/reasons.h"
#include "base/assert.h"
#include "base/strings.h"

namespace berth::admission {
namespace {

double WeightOf(std::int64_t nano) { return static_cast<double>(nano) / 1e9; }

}  // namespace

QueueState& ClusterState::state(ClusterQueueId id) {
  while (static_cast<std::size_t>(id) >= states_.size()) {
    states_.push_back(std::make_unique<QueueState>());
  }
  return *states_[static_cast<std::size_t>(id)];
}

FlavorResourceId ClusterState::FlavorResourceNumber(FlavorId flavor, ResourceId resource) {
  const auto [found, added] =
      pair_numbers_.try_emplace({flavor, resource}, static_cast<FlavorResourceId>(pairs_.size()));
  if (added) pairs_.emplace_back(flavor, resource);
  return found->second;
}

std::vector<Quota> ClusterState::QuotasOf(const std::vector<api::ResourceGroup>& groups) {
  std::vector<Quota> quotas;
  for (const api::ResourceGroup& group : groups) {
    for (const api::FlavorQuotas& flavor : group.flavors) {
      const FlavorId id = vocabulary_.flavors.Intern(flavor.flavor);
      for (const api::ResourceQuota& quota : flavor.resources) {
        const FlavorResourceId number =
            FlavorResourceNumber(id, vocabulary_.resources.Intern(quota.resource));
        quotas.push_back({number, quota.nominal_quota, quota.borrowing_limit, quota.lending_limit});
      }
    }
  }
  return quotas;
}

void ClusterState::Compile(QueueState& queue) {
  queue.groups.clear();
  for (const api::ResourceGroup& group : queue.spec.resource_groups) {
    CompiledGroup& compiled = queue.groups.emplace_back();
    std::vector<std::string> resources = group.covered_resources;
    std::sort(resources.begin(), resources.end());
    for (const std::string& resource : resources) {
      compiled.resources.push_back(vocabulary_.resources.Intern(resource));
    }
    for (const api::FlavorQuotas& flavor : group.flavors) {
      compiled.flavors.push_back(vocabulary_.flavors.Intern(flavor.flavor));
      for (const ResourceId resource : compiled.resources) {
        compiled.flavor_resources.push_back(
            FlavorResourceNumber(compiled.flavors.back(), resource));
      }
    }
  }
  tree_.SetQuotas(queue.node, QuotasOf(queue.spec.resource_groups));
}

NodeId ClusterState::CohortNodeFor(const std::string& name) {
  CohortState& cohort = cohorts_[name];
  if (cohort.node == kNoQuotaNode) {
    cohort.name = name;
    cohort.node = tree_.AddNode(QuotaTree::Kind::kCohort);
    const auto slot = static_cast<std::size_t>(cohort.node);
    if (slot >= cohort_of_node_.size()) cohort_of_node_.resize(slot + 1);
    cohort_of_node_[slot] = name;
    if (slot >= weights_.size()) weights_.resize(slot + 1, 1.0);
    weights_[slot] = 1.0;
  }
  return cohort.node;
}

void ClusterState::DropUnused(NodeId cohort) {
  if (cohort == kNoQuotaNode || !tree_.children(cohort).empty()) return;
  const auto slot = static_cast<std::size_t>(cohort);
  const auto found = cohorts_.find(cohort_of_node_[slot]);
  if (found == cohorts_.end() || found->second.spec) return;
  cohorts_.erase(found);
  cohort_of_node_[slot].clear();
  tree_.RemoveNode(cohort);
}

void ClusterState::Join(NodeId node, const std::string& cohort) {
  const NodeId before = tree_.parent(node);
  const NodeId after = cohort.empty() ? kNoQuotaNode : CohortNodeFor(cohort);
  if (before == after) return;
  tree_.SetParent(node, after);
  if (before == kNoQuotaNode) return;
  RebuildTree(before);
  DropUnused(before);
}

void ClusterState::CollectQueues(NodeId node, std::vector<ClusterQueueId>& queues) const {
  if (const ClusterQueueId id = QueueAt(node); id >= 0) queues.push_back(id);
  for (const NodeId child : tree_.children(node)) CollectQueues(child, queues);
}

void ClusterState::RebuildTree(NodeId node) {
  if (tree_.InCycle(node)) return;
  tree_.Rebuild(node);
  std::vector<ClusterQueueId> queues;
  CollectQueues(tree_.Root(node), queues);
  for (const ClusterQueueId id : queues) ++state(id).generation;
}

std::vector<InactiveReason> ClusterState::WhyInactive(const QueueState& queue) const {
  std::vector<InactiveReason> reasons;
  if (queue.deleting) reasons.push_back({"Terminating", "clusterQueue is terminating"});
  if (queue.spec.stop_policy != api::StopPolicy::kNone) {
    reasons.push_back({"Stopped", "is stopped"});
  }
  std::vector<std::string> missing_flavors;
  std::vector<InactiveReason> missing_topologies;
  for (const api::ResourceGroup& group : queue.spec.resource_groups) {
    for (const api::FlavorQuotas& quotas : group.flavors) {
      const auto flavor = flavors_.find(quotas.flavor);
      if (flavor == flavors_.end()) {
        missing_flavors.push_back(quotas.flavor);
      } else if (!flavor->second->topology_name.empty() &&
                 !topologies_.contains(flavor->second->topology_name)) {
        missing_topologies.push_back(
            {"TopologyNotFound", "there is no Topology \"" + flavor->second->topology_name +
                                     "\" for TAS flavor \"" + quotas.flavor + "\""});
      }
    }
  }
  std::vector<std::string> missing_checks;
  std::vector<std::string> inactive_checks;
  for (const api::AdmissionCheckRule& rule : queue.spec.admission_checks) {
    const auto check = checks_.find(rule.check);
    if (check == checks_.end()) {
      missing_checks.push_back(rule.check);
    } else if (!check->second.active) {
      inactive_checks.push_back(rule.check);
    }
  }
  const auto add = [&reasons](const char* reason, const char* text,
                              std::vector<std::string>& names) {
    if (names.empty()) return;
    std::sort(names.begin(), names.end());
    reasons.push_back({reason, text + berth::Join(names, ",")});
  };
  add("FlavorNotFound", "references missing ResourceFlavor(s): ", missing_flavors);
  add("AdmissionCheckNotFound", "references missing AdmissionCheck(s): ", missing_checks);
  add("AdmissionCheckInactive", "references inactive AdmissionCheck(s): ", inactive_checks);
  reasons.insert(reasons.end(), missing_topologies.begin(), missing_topologies.end());
  return reasons;
}

Wakes ClusterState::RefreshActive(const std::function<bool(const QueueState&)>& concerned) {
  std::vector<ClusterQueueId> activated;
  for (const auto& [name, id] : present_) {
    QueueState& queue = state(id);
    if (!concerned(queue)) continue;
    const bool before = queue.active();
    queue.inactive = WhyInactive(queue);
    queues_.SetClusterQueue(id, {queue.spec.queueing_strategy, queue.spec.namespace_selector,
                                 queue.active(), queue.spec.usage_based_admission_fair_sharing});
    if (before == queue.active()) continue;
    tree_.SetActiveLeaf(queue.node, queue.active());
    RebuildTree(queue.node);
    if (queue.active()) activated.push_back(id);
  }
  return TreesOf(activated);
}

Wakes ClusterState::SetClusterQueue(const api::ClusterQueue& object) {
  const ClusterQueueId id = queues_.ClusterQueueNumber(object.meta.name);
  QueueState& queue = state(id);
  const bool is_new = !queue.present;
  const bool changed = is_new || !(queue.spec == object.spec);
  const bool was_deleting = queue.deleting;
  queue.deleting = object.meta.deletion_timestamp.has_value();
  if (!changed && was_deleting == queue.deleting) return {};
  if (is_new) {
    queue.name = object.meta.name;
    queue.present = true;
    queue.node = tree_.AddNode(QuotaTree::Kind::kLeaf);
    const auto slot = static_cast<std::size_t>(queue.node);
    if (slot >= queue_of_leaf_.size()) queue_of_leaf_.resize(slot + 1, -1);
    queue_of_leaf_[slot] = id;
    present_[queue.name] = id;
    for (const Held& held : queue.reservations) {
      tree_.AddUsage(queue.node, held.reservation->usage);
    }
  }
  queue.spec = object.spec;
  const auto slot = static_cast<std::size_t>(queue.node);
  if (slot >= weights_.size()) weights_.resize(slot + 1, 1.0);
  weights_[slot] = WeightOf(object.spec.fair_weight_nano);
  Compile(queue);
  Join(queue.node, object.spec.cohort_name);
  queue.inactive = WhyInactive(queue);
  tree_.SetActiveLeaf(queue.node, queue.active());
  RebuildTree(queue.node);
  queues_.SetClusterQueue(id, {queue.spec.queueing_strategy, queue.spec.namespace_selector,
                               queue.active(), queue.spec.usage_based_admission_fair_sharing});
  return changed ? TreesOf({id}) : Wakes{};
}

Wakes ClusterState::RemoveClusterQueue(const std::string& name) {
  const auto found = present_.find(name);
  if (found == present_.end()) return {};
  const ClusterQueueId id = found->second;
  QueueState& queue = state(id);
  const std::optional<WakeTarget> tree = TreeOf(id);
  queues_.RemoveClusterQueue(id);
  Join(queue.node, "");
  tree_.RemoveNode(queue.node);
  queue_of_leaf_[static_cast<std::size_t>(queue.node)] = -1;
  present_.erase(found);
  queue.present = false;
  queue.node = kNoQuotaNode;
  if (!tree || tree->cohort.empty() || !cohorts_.contains(tree->cohort)) return {};
  return {*tree};
}

ClusterState::CohortChange ClusterState::SetCohort(const api::Cohort& object) {
  CohortChange change;
  const NodeId node = CohortNodeFor(object.meta.name);
  CohortState& cohort = cohorts_[object.meta.name];
  change.changed = !cohort.spec || !(*cohort.spec == object.spec);
  cohort.spec = object.spec;
  weights_[static_cast<std::size_t>(node)] = WeightOf(object.spec.fair_weight_nano);
  tree_.SetQuotas(node, QuotasOf(object.spec.resource_groups));
  const std::vector<std::string> in_cycles = CohortsInCycles();
  Join(node, object.spec.parent_name);
  RebuildTree(node);
  for (const std::string& name : in_cycles) {  // those that are free again
    if (const auto freed = CohortNode(name)) RebuildTree(*freed);
  }
  if (tree_.InCycle(node)) return change;
  change.wakes = {WakeTarget{-1, cohort_of_node_[static_cast<std::size_t>(tree_.Root(node))]}};
  return change;
}

ClusterState::CohortChange ClusterState::RemoveCohort(const std::string& name) {
  CohortChange change;
  const auto found = cohorts_.find(name);
  if (found == cohorts_.end() || !found->second.spec) return change;
  change.changed = true;
  const NodeId node = found->second.node;
  found->second.spec.reset();
  weights_[static_cast<std::size_t>(node)] = 1.0;
  tree_.SetQuotas(node, {});
  const std::vector<std::string> in_cycles = CohortsInCycles();
  Join(node, "");
  RebuildTree(node);
  for (const std::string& freed_name : in_cycles) {
    if (const auto freed = CohortNode(freed_name)) RebuildTree(*freed);
  }
  if (!in_cycles.empty() && !tree_.InCycle(node)) {
    change.wakes.push_back({-1, cohort_of_node_[static_cast<std::size_t>(tree_.Root(node))]});
  }
  DropUnused(node);
  return change;
}

Wakes ClusterState::SetFlavor(const api::ResourceFlavor& object) {
  auto& known = flavors_[object.meta.name];
  const bool changed =
      known != nullptr &&
      (known->node_labels != object.node_labels || known->node_taints != object.node_taints ||
       known->tolerations != object.tolerations || known->topology_name != object.topology_name);
  known = std::make_shared<const api::ResourceFlavor>(object);
  const auto id = static_cast<std::size_t>(vocabulary_.flavors.Intern(object.meta.name));
  if (id >= flavors_by_id_.size()) {
    flavors_by_id_.resize(id + 1);
    takes_all_pods_.resize(id + 1, 0);
  }
  flavors_by_id_[id] = known;
  placer_.SetFlavor(static_cast<FlavorId>(id), object);
  takes_all_pods_[id] = known->node_labels.empty() && known->node_taints.empty() ? 1 : 0;
  const auto uses = [flavor = static_cast<FlavorId>(id)](const QueueState& queue) {
    return std::any_of(queue.groups.begin(), queue.groups.end(),
                       [flavor](const auto& group) { return group.Has(flavor); });
  };
  Wakes wakes = RefreshActive(uses);
  if (!changed) return wakes;
  std::vector<ClusterQueueId> users;
  for (const auto& [name, queue] : present_) {
    if (uses(state(queue))) users.push_back(queue);
  }
  return TreesOf(users);
}

Wakes ClusterState::RemoveFlavor(const std::string& name) {
  if (flavors_.erase(name) == 0) return {};
  const FlavorId id = vocabulary_.flavors.Find(name);
  flavors_by_id_[static_cast<std::size_t>(id)] = nullptr;
  takes_all_pods_[static_cast<std::size_t>(id)] = 0;
  placer_.RemoveFlavor(id);
  return RefreshActive([](const QueueState&) { return true; });
}

Wakes ClusterState::SetCheck(const api::AdmissionCheck& object) {
  checks_[object.meta.name] = {api::IsTrue(object.conditions, api::kActive),
                               object.controller_name};
  return RefreshActive(
      [](const QueueState& queue) { return !queue.spec.admission_checks.empty(); });
}

Wakes ClusterState::RemoveCheck(const std::string& name) {
  checks_.erase(name);
  return RefreshActive(
      [](const QueueState& queue) { return !queue.spec.admission_checks.empty(); });
}

Wakes ClusterState::SetTopology(const api::Topology& object) {
  topologies_[object.meta.name] = object;
  placer_.SetTopology(object);
  return RefreshActive([](const QueueState&) { return true; });
}

Wakes ClusterState::RemoveTopology(const std::string& name) {
  topologies_.erase(name);
  placer_.RemoveTopology(name);
  return RefreshActive([](const QueueState&) { return true; });
}

}  // namespace berth::admission
