#include "admission/catalogue/catalogue.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <unordered_set>  // lookup only
#include <utility>

#include "admission/catalogue/catalogue_queries.h"
#include "base/strings.h"

namespace berth::admission {
namespace {

double WeightOf(std::int64_t nano) { return static_cast<double>(nano) / 1e9; }

}  // namespace

std::vector<Quota> Catalogue::QuotasOf(const std::vector<api::ResourceGroup>& groups) {
  std::vector<Quota> quotas;
  for (const api::ResourceGroup& group : groups) {
    for (const api::FlavorQuotas& flavor : group.flavors) {
      const FlavorId id = vocabulary_.flavors.Intern(flavor.flavor);
      for (const api::ResourceQuota& quota : flavor.resources) {
        const FlavorResourceId number =
            vocabulary_.flavor_resources.Number(id, vocabulary_.resources.Intern(quota.resource));
        quotas.push_back({number, quota.nominal_quota, quota.borrowing_limit, quota.lending_limit});
      }
    }
  }
  return quotas;
}

Catalogue::FlavorUsers& Catalogue::users_of(FlavorId id) {
  const auto slot = static_cast<std::size_t>(id);
  if (slot >= users_of_flavors_.size()) users_of_flavors_.resize(slot + 1);
  return users_of_flavors_[slot];
}

void Catalogue::Compile(QueueState& queue) {
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
            vocabulary_.flavor_resources.Number(compiled.flavors.back(), resource));
      }
    }
  }
  tree_.SetQuotas(queue.node, QuotasOf(queue.spec.resource_groups));
}

void Catalogue::ListUser(const QueueState& queue, ClusterQueueId id) {
  const auto list = [id](std::vector<ClusterQueueId>& users) {
    const auto place = std::lower_bound(users.begin(), users.end(), id);
    if (place == users.end() || *place != id) users.insert(place, id);
  };
  for (const CompiledGroup& group : queue.groups) {
    for (const FlavorId flavor : group.flavors) list(users_of(flavor).queues);
  }
  for (const api::AdmissionCheckRule& rule : queue.spec.admission_checks) {
    list(users_of_checks_[rule.check]);
  }
}

void Catalogue::UnlistUser(const QueueState& queue, ClusterQueueId id) {
  const auto unlist = [id](std::vector<ClusterQueueId>& users) {
    const auto place = std::lower_bound(users.begin(), users.end(), id);
    if (place != users.end() && *place == id) users.erase(place);
  };
  for (const CompiledGroup& group : queue.groups) {
    for (const FlavorId flavor : group.flavors) unlist(users_of(flavor).queues);
  }
  for (const api::AdmissionCheckRule& rule : queue.spec.admission_checks) {
    const auto users = users_of_checks_.find(rule.check);
    if (users == users_of_checks_.end()) continue;
    unlist(users->second);
    if (users->second.empty()) users_of_checks_.erase(users);
  }
}

void Catalogue::SetWeight(NodeId node, double weight) {
  const auto slot = static_cast<std::size_t>(node);
  if (slot >= weights_.size()) weights_.resize(slot + 1, 1.0);
  weights_[slot] = weight;
}

NodeId Catalogue::CohortNodeFor(const std::string& name) {
  if (const std::optional<NodeId> known = cohorts_.Find(name)) return *known;
  const NodeId node = tree_.AddNode(QuotaTree::Kind::kCohort);
  cohorts_.Add(name, node);
  SetWeight(node, 1.0);
  return node;
}

void Catalogue::DropUnused(NodeId cohort) {
  if (cohort == kNoQuotaNode || !tree_.children(cohort).empty()) return;
  // A cohort that was its own parent is gone already.
  if (!cohorts_.IsNamedAlone(cohort)) return;
  cohorts_.Remove(cohort);
  tree_.RemoveNode(cohort);
}

void Catalogue::Join(NodeId node, const std::string& cohort) {
  const NodeId before = tree_.parent(node);
  const NodeId after = cohort.empty() ? kNoQuotaNode : CohortNodeFor(cohort);
  if (before == after) return;
  tree_.SetParent(node, after);
  if (before == kNoQuotaNode) return;
  NoteTreeChange(before);
  DropUnused(before);
}

void Catalogue::NoteTreeChange(NodeId node) {
  if (tree_.InCycle(node)) return;
  tree_.NoteChange();
  changes_.NoteTree(tree_.Root(node));
}

std::vector<InactiveReason> Catalogue::WhyInactive(const QueueState& queue) const {
  std::vector<InactiveReason> reasons;
  if (queue.deleting) reasons.push_back({"Terminating", "clusterQueue is terminating"});
  if (queue.spec.stop_policy != api::StopPolicy::kNone) {
    reasons.push_back({"Stopped", "is stopped"});
  }
  std::vector<std::string> missing_flavors;
  std::vector<InactiveReason> missing_topologies;
  for (const CompiledGroup& group : queue.groups) {
    for (const FlavorId id : group.flavors) {
      const std::string& name = vocabulary_.flavors[id];
      const api::ResourceFlavor* flavor = flavors_.Find(id).get();
      if (flavor == nullptr) {
        missing_flavors.push_back(name);
      } else if (!flavor->topology_name.empty() && !topologies_.contains(flavor->topology_name)) {
        missing_topologies.push_back(
            {"TopologyNotFound", "there is no Topology \"" + flavor->topology_name +
                                     "\" for TAS flavor \"" + name + "\""});
      }
    }
  }
  std::vector<std::string> missing_checks;
  std::vector<std::string> inactive_checks;
  for (const api::AdmissionCheckRule& rule : queue.spec.admission_checks) {
    const CheckTable::Check* check = checks_.Find(rule.check);
    if (check == nullptr) {
      missing_checks.push_back(rule.check);
    } else if (!check->active) {
      inactive_checks.push_back(rule.check);
    }
  }
  std::sort(missing_checks.begin(), missing_checks.end());
  std::sort(inactive_checks.begin(), inactive_checks.end());
  const auto add = [&reasons](const char* reason, const char* text,
                              const std::vector<std::string>& names) {
    if (!names.empty()) reasons.push_back({reason, text + berth::Join(names, ",")});
  };
  add("FlavorNotFound", "references missing ResourceFlavor(s): ", missing_flavors);
  add("AdmissionCheckNotFound", "references missing AdmissionCheck(s): ", missing_checks);
  add("AdmissionCheckInactive", "references inactive AdmissionCheck(s): ", inactive_checks);
  reasons.insert(reasons.end(), missing_topologies.begin(), missing_topologies.end());
  return reasons;
}

Wakes Catalogue::RefreshActive(const std::vector<ClusterQueueId>& concerned) {
  std::vector<ClusterQueueId> activated;
  for (const ClusterQueueId id : concerned) {
    QueueState& queue = cluster_queues_.Make(id);
    const bool before = queue.active();
    queue.inactive = WhyInactive(queue);
    if (before == queue.active()) continue;
    queues_.SetActive(id, queue.active());
    tree_.SetActiveLeaf(queue.node, queue.active());
    NoteTreeChange(queue.node);
    if (queue.active()) activated.push_back(id);
  }
  return TreesOf(activated);
}

Wakes Catalogue::SetClusterQueue(const api::ClusterQueue& object) {
  const ClusterQueueId id = queues_.ClusterQueueNumber(object.meta.name);
  QueueState& queue = cluster_queues_.Make(id);
  const bool is_new = !queue.present;
  const bool changed = is_new || !(queue.spec == object.spec);
  const bool was_deleting = queue.deleting;
  queue.deleting = object.meta.deletion_timestamp.has_value();
  if (!changed && was_deleting == queue.deleting) return {};
  if (is_new) {
    cluster_queues_.Add(id, object.meta.name, tree_.AddNode(QuotaTree::Kind::kLeaf));
  } else {
    UnlistUser(queue, id);
  }
  queue.spec = object.spec;
  SetWeight(queue.node, WeightOf(object.spec.fair_weight_nano));
  Compile(queue);
  ListUser(queue, id);
  Join(queue.node, object.spec.cohort_name);
  queue.inactive = WhyInactive(queue);
  tree_.SetActiveLeaf(queue.node, queue.active());
  NoteTreeChange(queue.node);
  queues_.SetClusterQueue(id, {queue.spec.queueing_strategy, queue.spec.namespace_selector,
                               queue.active(), queue.spec.usage_based_admission_fair_sharing});
  return changed ? TreesOf({id}) : Wakes{};
}

Wakes Catalogue::RemoveClusterQueue(const std::string& name) {
  const std::optional<ClusterQueueId> found = cluster_queues_.Find(name);
  if (!found) return {};
  const ClusterQueueId id = *found;
  const QueueState& queue = cluster_queues_[id];
  const std::optional<WakeTarget> tree = TreeOf(*this, id);
  queues_.RemoveClusterQueue(id);
  UnlistUser(queue, id);
  Join(queue.node, "");
  tree_.RemoveNode(queue.node);
  cluster_queues_.Remove(id);
  if (!tree || tree->cohort.empty() || !cohorts_.Find(tree->cohort)) return {};
  return {*tree};
}

Catalogue::CohortChange Catalogue::SetCohort(const api::Cohort& object) {
  CohortChange change;
  const NodeId node = CohortNodeFor(object.meta.name);
  change.changed = cohorts_.SetSpec(node, object.spec);
  SetWeight(node, WeightOf(object.spec.fair_weight_nano));
  tree_.SetQuotas(node, QuotasOf(object.spec.resource_groups));
  Join(node, object.spec.parent_name);
  NoteTreeChange(node);  // queues that left a cycle are in this tree
  if (tree_.InCycle(node)) return change;
  change.wakes = {WakeTarget{-1, cohorts_.NameOf(tree_.Root(node))}};
  return change;
}

Catalogue::CohortChange Catalogue::RemoveCohort(const std::string& name) {
  CohortChange change;
  const std::optional<NodeId> found = cohorts_.Find(name);
  if (!found || !cohorts_.SetSpec(*found, std::nullopt)) return change;
  change.changed = true;
  const NodeId node = *found;
  SetWeight(node, 1.0);
  tree_.SetQuotas(node, {});
  const bool had_cycles = tree_.has_cycles();
  Join(node, "");
  NoteTreeChange(node);  // queues that left a cycle are in this tree
  if (had_cycles && !tree_.InCycle(node)) {
    change.wakes.push_back({-1, cohorts_.NameOf(tree_.Root(node))});
  }
  DropUnused(node);
  return change;
}

Wakes Catalogue::SetFlavor(const api::ResourceFlavor& object) {
  const FlavorId id = vocabulary_.flavors.Intern(object.meta.name);
  GpuSharing sharing(object, vocabulary_.resources);
  const api::ResourceFlavor* known = flavors_.Find(id).get();
  const bool changed =
      known != nullptr &&
      (known->node_labels != object.node_labels || known->node_taints != object.node_taints ||
       known->tolerations != object.tolerations || known->topology_name != object.topology_name ||
       sharing != flavors_.sharing(id));
  flavors_.Set(id, std::make_shared<const api::ResourceFlavor>(object), std::move(sharing));
  placer_.SetFlavor(id, object);
  const std::vector<ClusterQueueId>& users = users_of(id).queues;
  Wakes wakes = RefreshActive(users);
  return changed ? TreesOf(users) : wakes;
}

Wakes Catalogue::RemoveFlavor(const std::string& name) {
  const FlavorId id = vocabulary_.flavors.Find(name);
  if (id == queue::Names::kNone || flavors_.Find(id) == nullptr) return {};
  flavors_.Remove(id);
  placer_.RemoveFlavor(id);
  return RefreshActive(users_of(id).queues);
}

Wakes Catalogue::SetCheck(const api::AdmissionCheck& object) {
  checks_.Set(object);
  return RefreshUsersOfCheck(object.meta.name);
}

Wakes Catalogue::RemoveCheck(const std::string& name) {
  checks_.Remove(name);
  return RefreshUsersOfCheck(name);
}

Wakes Catalogue::RefreshUsersOfCheck(const std::string& check) {
  const auto users = users_of_checks_.find(check);
  return users == users_of_checks_.end() ? Wakes{} : RefreshActive(users->second);
}

Wakes Catalogue::SetTopology(const api::Topology& object) {
  const auto known = topologies_.find(object.meta.name);
  const bool changed = known != topologies_.end() && known->second.levels != object.levels;
  topologies_[object.meta.name] = object;
  placer_.SetTopology(object);
  const std::vector<ClusterQueueId> users = UsersOfTopology(object.meta.name);
  const Wakes activated = RefreshActive(users);
  return changed ? TreesOf(users) : activated;
}

Wakes Catalogue::RemoveTopology(const std::string& name) {
  topologies_.erase(name);
  placer_.RemoveTopology(name);
  return RefreshActive(UsersOfTopology(name));
}

std::vector<ClusterQueueId> Catalogue::UsersOfTopology(const std::string& topology) const {
  std::vector<ClusterQueueId> users;
  for (std::size_t id = 0; id < users_of_flavors_.size(); ++id) {
    const api::ResourceFlavor* flavor = flavors_.Find(static_cast<FlavorId>(id)).get();
    if (flavor == nullptr || flavor->topology_name != topology) continue;
    const std::vector<ClusterQueueId>& queues = users_of_flavors_[id].queues;
    users.insert(users.end(), queues.begin(), queues.end());
  }
  std::sort(users.begin(), users.end());
  users.erase(std::unique(users.begin(), users.end()), users.end());
  return users;
}

Wakes Catalogue::TreesOf(const std::vector<ClusterQueueId>& ids) const {
  Wakes wakes;
  std::unordered_set<NodeId> seen;  // lookup only
  NodeId last = kNoQuotaNode;
  for (const ClusterQueueId id : ids) {
    if (!queue(id).present || tree_.InCycle(queue(id).node)) continue;
    const NodeId root = tree_.Root(queue(id).node);
    if (root == std::exchange(last, root) || !seen.insert(root).second) continue;
    wakes.push_back(*TreeOf(*this, id));
  }
  return wakes;
}

Wakes Catalogue::UsersOf(const std::vector<FlavorId>& flavors) {
  Wakes wakes;
  for (const FlavorId id : flavors) {
    FlavorUsers& flavor = users_of(id);
    if (flavor.trees_build != tree_.build()) {
      flavor.trees_build = tree_.build();
      std::vector<ClusterQueueId> active;
      std::copy_if(flavor.queues.begin(), flavor.queues.end(), std::back_inserter(active),
                   [this](ClusterQueueId user) { return queue(user).active(); });
      flavor.trees = TreesOf(active);
    }
    wakes.insert(wakes.end(), flavor.trees.begin(), flavor.trees.end());
  }
  return wakes;
}

double Catalogue::FairWeight(NodeId node) const {
  const auto slot = static_cast<std::size_t>(node);
  return slot < weights_.size() ? weights_[slot] : 1.0;
}

}  // namespace berth::admission
