#include "admission/catalogue.h"

#include <algorithm>
#include <iterator>
#include <unordered_set>  // lookup only
#include <utility>

#include "api/condition.h"
#include "api/labels.h"
#include "api/reasons.h"
#include "base/assert.h"
#include "base/strings.h"
#include "checks/check_kinds.h"

namespace berth::admission {
namespace {

double WeightOf(std::int64_t nano) { return static_cast<double>(nano) / 1e9; }

}  // namespace

QueueState& Catalogue::state(ClusterQueueId id) {
  while (static_cast<std::size_t>(id) >= states_.size()) {
    states_.push_back(std::make_unique<QueueState>());
  }
  return *states_[static_cast<std::size_t>(id)];
}

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

Catalogue::FlavorState& Catalogue::flavor_state(FlavorId id) {
  const auto slot = static_cast<std::size_t>(id);
  if (slot >= flavors_.size()) {
    flavors_.resize(slot + 1);
    takes_all_pods_.resize(slot + 1, 0);
  }
  return flavors_[slot];
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
    for (const FlavorId flavor : group.flavors) list(flavor_state(flavor).users);
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
    for (const FlavorId flavor : group.flavors) unlist(flavor_state(flavor).users);
  }
  for (const api::AdmissionCheckRule& rule : queue.spec.admission_checks) {
    const auto users = users_of_checks_.find(rule.check);
    if (users == users_of_checks_.end()) continue;
    unlist(users->second);
    if (users->second.empty()) users_of_checks_.erase(users);
  }
}

NodeId Catalogue::CohortNodeFor(const std::string& name) {
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

void Catalogue::DropUnused(NodeId cohort) {
  if (cohort == kNoQuotaNode || !tree_.children(cohort).empty()) return;
  const auto slot = static_cast<std::size_t>(cohort);
  const auto found = cohorts_.find(cohort_of_node_[slot]);
  if (found == cohorts_.end() || found->second.spec) return;
  cohorts_.erase(found);
  cohort_of_node_[slot].clear();
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

void Catalogue::CollectQueues(NodeId node, std::vector<ClusterQueueId>& queues) const {
  std::vector<NodeId> open{node};
  while (!open.empty()) {
    const NodeId next = open.back();
    open.pop_back();
    if (const ClusterQueueId id = QueueAt(next); id >= 0) queues.push_back(id);
    const std::vector<NodeId>& children = tree_.children(next);
    open.insert(open.end(), children.rbegin(), children.rend());
  }
}

void Catalogue::NoteTreeChange(NodeId node) {
  if (tree_.InCycle(node)) return;
  tree_.NoteChange();
  const auto root = static_cast<std::size_t>(tree_.Root(node));
  if (root >= tree_changed_at_.size()) tree_changed_at_.resize(root + 1, 0);
  tree_changed_at_[root] = ++changes_;
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
      const api::ResourceFlavor* flavor = flavors_[static_cast<std::size_t>(id)].object.get();
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
    const auto check = checks_.find(rule.check);
    if (check == checks_.end()) {
      missing_checks.push_back(rule.check);
    } else if (!check->second.active) {
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
    QueueState& queue = state(id);
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

void Catalogue::Add(QueueState& queue, ClusterQueueId id, const std::string& name) {
  queue.name = name;
  queue.present = true;
  queue.node = tree_.AddNode(QuotaTree::Kind::kLeaf);
  const auto slot = static_cast<std::size_t>(queue.node);
  if (slot >= queue_of_leaf_.size()) queue_of_leaf_.resize(slot + 1, -1);
  queue_of_leaf_[slot] = id;
  if (slot >= weights_.size()) weights_.resize(slot + 1, 1.0);
  present_[queue.name] = id;
}

Wakes Catalogue::SetClusterQueue(const api::ClusterQueue& object) {
  const ClusterQueueId id = queues_.ClusterQueueNumber(object.meta.name);
  QueueState& queue = state(id);
  const bool is_new = !queue.present;
  const bool changed = is_new || !(queue.spec == object.spec);
  const bool was_deleting = queue.deleting;
  queue.deleting = object.meta.deletion_timestamp.has_value();
  if (!changed && was_deleting == queue.deleting) return {};
  if (is_new) {
    Add(queue, id, object.meta.name);
  } else {
    UnlistUser(queue, id);
  }
  queue.spec = object.spec;
  weights_[static_cast<std::size_t>(queue.node)] = WeightOf(object.spec.fair_weight_nano);
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
  const auto found = present_.find(name);
  if (found == present_.end()) return {};
  const ClusterQueueId id = found->second;
  QueueState& queue = state(id);
  const std::optional<WakeTarget> tree = TreeOf(id);
  queues_.RemoveClusterQueue(id);
  UnlistUser(queue, id);
  Join(queue.node, "");
  tree_.RemoveNode(queue.node);
  queue_of_leaf_[static_cast<std::size_t>(queue.node)] = -1;
  present_.erase(found);
  queue.present = false;
  queue.node = kNoQuotaNode;
  if (!tree || tree->cohort.empty() || !cohorts_.contains(tree->cohort)) return {};
  return {*tree};
}

Catalogue::CohortChange Catalogue::SetCohort(const api::Cohort& object) {
  CohortChange change;
  const NodeId node = CohortNodeFor(object.meta.name);
  CohortState& cohort = cohorts_[object.meta.name];
  change.changed = !cohort.spec || !(*cohort.spec == object.spec);
  cohort.spec = object.spec;
  weights_[static_cast<std::size_t>(node)] = WeightOf(object.spec.fair_weight_nano);
  tree_.SetQuotas(node, QuotasOf(object.spec.resource_groups));
  Join(node, object.spec.parent_name);
  NoteTreeChange(node);  // queues that left a cycle are in this tree
  if (tree_.InCycle(node)) return change;
  change.wakes = {WakeTarget{-1, cohort_of_node_[static_cast<std::size_t>(tree_.Root(node))]}};
  return change;
}

Catalogue::CohortChange Catalogue::RemoveCohort(const std::string& name) {
  CohortChange change;
  const auto found = cohorts_.find(name);
  if (found == cohorts_.end() || !found->second.spec) return change;
  change.changed = true;
  const NodeId node = found->second.node;
  found->second.spec.reset();
  weights_[static_cast<std::size_t>(node)] = 1.0;
  tree_.SetQuotas(node, {});
  const bool had_cycles = tree_.has_cycles();
  Join(node, "");
  NoteTreeChange(node);  // queues that left a cycle are in this tree
  if (had_cycles && !tree_.InCycle(node)) {
    change.wakes.push_back({-1, cohort_of_node_[static_cast<std::size_t>(tree_.Root(node))]});
  }
  DropUnused(node);
  return change;
}

Wakes Catalogue::SetFlavor(const api::ResourceFlavor& object) {
  const FlavorId id = vocabulary_.flavors.Intern(object.meta.name);
  FlavorState& flavor = flavor_state(id);
  GpuSharing sharing(object, vocabulary_.resources);
  const api::ResourceFlavor* known = flavor.object.get();
  const bool changed =
      known != nullptr &&
      (known->node_labels != object.node_labels || known->node_taints != object.node_taints ||
       known->tolerations != object.tolerations || known->topology_name != object.topology_name ||
       sharing != flavor.sharing);
  flavor.object = std::make_shared<const api::ResourceFlavor>(object);
  placer_.SetFlavor(id, object);
  flavor.sharing = std::move(sharing);
  takes_all_pods_[static_cast<std::size_t>(id)] =
      object.node_labels.empty() && object.node_taints.empty() && flavor.sharing.empty() ? 1 : 0;
  Wakes wakes = RefreshActive(flavor.users);
  return changed ? TreesOf(flavor.users) : wakes;
}

Wakes Catalogue::RemoveFlavor(const std::string& name) {
  const FlavorId id = vocabulary_.flavors.Find(name);
  if (id == queue::Names::kNone || flavor(id) == nullptr) return {};
  FlavorState& removed = flavor_state(id);
  removed.object = nullptr;
  removed.sharing = {};
  takes_all_pods_[static_cast<std::size_t>(id)] = 0;
  placer_.RemoveFlavor(id);
  return RefreshActive(removed.users);
}

Wakes Catalogue::SetCheck(const api::AdmissionCheck& object) {
  checks_[object.meta.name] = {api::IsTrue(object.conditions, api::kActive),
                               object.controller_name};
  return RefreshUsersOfCheck(object.meta.name);
}

Wakes Catalogue::RemoveCheck(const std::string& name) {
  checks_.erase(name);
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
  for (const FlavorState& flavor : flavors_) {
    if (flavor.object == nullptr || flavor.object->topology_name != topology) continue;
    users.insert(users.end(), flavor.users.begin(), flavor.users.end());
  }
  std::sort(users.begin(), users.end());
  users.erase(std::unique(users.begin(), users.end()), users.end());
  return users;
}

// The queries of the Catalogue.

std::string QueueState::ActiveReason() const {
  return inactive.empty() ? "Ready" : inactive.front().reason;
}

std::string QueueState::ActiveMessage() const {
  if (inactive.empty()) return "Can admit new workloads";
  if (deleting) return "Can't admit new workloads; clusterQueue is terminating";
  std::string text;
  for (const InactiveReason& reason : inactive) {
    text += (text.empty() ? "" : ", ") + reason.message;
  }
  return "Can't admit new workloads: " + text + ".";
}

Catalogue::Catalogue(queue::QueueSet& queues) : queues_(queues) {
  pods_ = vocabulary_.resources.Intern("pods");
  gpus_ = vocabulary_.resources.Intern(api::kGpusResource);
}

const GpuSharing& Catalogue::gpu_sharing(FlavorId id) const {
  static const GpuSharing none;
  const auto slot = static_cast<std::size_t>(id);
  return slot < flavors_.size() ? flavors_[slot].sharing : none;
}

std::shared_ptr<const api::ResourceFlavor> Catalogue::flavor(FlavorId id) const {
  const auto slot = static_cast<std::size_t>(id);
  return slot < flavors_.size() ? flavors_[slot].object : nullptr;
}

std::optional<ClusterQueueId> Catalogue::FindQueue(const std::string& name) const {
  const auto found = present_.find(name);
  if (found == present_.end()) return std::nullopt;
  return found->second;
}

std::optional<WakeTarget> Catalogue::TreeOf(ClusterQueueId id) const {
  const QueueState& asked = queue(id);
  if (!asked.present || tree_.InCycle(asked.node)) return std::nullopt;
  const NodeId root = tree_.Root(asked.node);
  if (root == asked.node) return WakeTarget{id, ""};
  return WakeTarget{-1, cohort_of_node_[static_cast<std::size_t>(root)]};
}

bool Catalogue::ChangedSince(ClusterQueueId id, std::int64_t changes) const {
  const QueueState& asked = queue(id);
  if (asked.changed_at > changes) return true;
  if (!asked.present || tree_.InCycle(asked.node)) return false;
  const auto root = static_cast<std::size_t>(tree_.Root(asked.node));
  return root < tree_changed_at_.size() && tree_changed_at_[root] > changes;
}

Wakes Catalogue::TreesOf(const std::vector<ClusterQueueId>& ids) const {
  Wakes wakes;
  std::unordered_set<NodeId> seen;  // lookup only
  NodeId last = kNoQuotaNode;
  for (const ClusterQueueId id : ids) {
    if (!queue(id).present || tree_.InCycle(queue(id).node)) continue;
    const NodeId root = tree_.Root(queue(id).node);
    if (root == std::exchange(last, root) || !seen.insert(root).second) continue;
    wakes.push_back(*TreeOf(id));
  }
  return wakes;
}

Wakes Catalogue::UsersOf(const std::vector<FlavorId>& flavors) {
  Wakes wakes;
  for (const FlavorId id : flavors) {
    FlavorState& flavor = flavor_state(id);
    if (flavor.trees_build != tree_.build()) {
      flavor.trees_build = tree_.build();
      std::vector<ClusterQueueId> active;
      std::copy_if(flavor.users.begin(), flavor.users.end(), std::back_inserter(active),
                   [this](ClusterQueueId user) { return queue(user).active(); });
      flavor.trees = TreesOf(active);
    }
    wakes.insert(wakes.end(), flavor.trees.begin(), flavor.trees.end());
  }
  return wakes;
}

bool Catalogue::AsksForCapacity(const QueueState& queue, FlavorId flavor) const {
  const std::string& name = vocabulary_.flavors[flavor];
  return std::any_of(queue.spec.admission_checks.begin(), queue.spec.admission_checks.end(),
                     [this, &name](const api::AdmissionCheckRule& rule) {
                       const auto check = checks_.find(rule.check);
                       if (check == checks_.end() || checks::CapacityOf(check->second.controller) !=
                                                         checks::Capacity::kRequested) {
                         return false;
                       }
                       return rule.on_flavors.empty() ||
                              std::find(rule.on_flavors.begin(), rule.on_flavors.end(), name) !=
                                  rule.on_flavors.end();
                     });
}

std::vector<ClusterQueueId> Catalogue::QueuesOf(const WakeTarget& target) const {
  std::vector<ClusterQueueId> queues;
  if (target.queue >= 0) {
    if (queue(target.queue).present) queues.push_back(target.queue);
    return queues;
  }
  const std::optional<NodeId> node = CohortNode(target.cohort);
  if (!node || tree_.InCycle(*node)) return queues;
  CollectQueues(*node, queues);
  return queues;
}

std::string Catalogue::CohortName(NodeId node) const {
  const auto slot = static_cast<std::size_t>(node);
  return slot < cohort_of_node_.size() ? cohort_of_node_[slot] : "";
}

double Catalogue::FairWeight(NodeId node) const {
  const auto slot = static_cast<std::size_t>(node);
  return slot < weights_.size() ? weights_[slot] : 1.0;
}

std::vector<std::string> Catalogue::CohortsInCycles() const {
  std::vector<std::string> names;
  for (const auto& [name, cohort] : cohorts_) {
    if (tree_.InCycle(cohort.node)) names.push_back(name);
  }
  return names;
}

std::vector<std::string> Catalogue::CohortNames() const {
  std::vector<std::string> names;
  for (const auto& [name, cohort] : cohorts_) names.push_back(name);
  return names;
}

std::optional<NodeId> Catalogue::CohortNode(const std::string& name) const {
  const auto found = cohorts_.find(name);
  if (found == cohorts_.end()) return std::nullopt;
  return found->second.node;
}

std::vector<ClusterQueueId> Catalogue::PresentQueues() const {
  std::vector<ClusterQueueId> queues;
  for (const auto& [name, id] : present_) queues.push_back(id);
  return queues;
}

std::vector<std::string> Catalogue::RequiredChecks(ClusterQueueId id,
                                                   const std::vector<std::string>& flavors) const {
  std::vector<std::string> checks;
  for (const api::AdmissionCheckRule& rule : queue(id).spec.admission_checks) {
    const bool applies =
        rule.on_flavors.empty() ||
        std::any_of(flavors.begin(), flavors.end(), [&rule](const std::string& flavor) {
          return std::find(rule.on_flavors.begin(), rule.on_flavors.end(), flavor) !=
                 rule.on_flavors.end();
        });
    if (applies) checks.push_back(rule.check);
  }
  std::sort(checks.begin(), checks.end());
  return checks;
}

std::vector<std::string> Catalogue::ChecksBeforeReservation(ClusterQueueId id) const {
  const api::ClusterQueueSpec& spec = queue(id).spec;
  std::vector<std::string> checks;
  for (const api::AdmissionCheckRule& rule : spec.admission_checks) {
    const auto applies_to = [&rule](const std::string& flavor) {
      return rule.on_flavors.empty() || std::find(rule.on_flavors.begin(), rule.on_flavors.end(),
                                                  flavor) != rule.on_flavors.end();
    };
    bool covers_all = true;
    for (const api::ResourceGroup& group : spec.resource_groups) {
      for (const api::FlavorQuotas& quotas : group.flavors) {
        covers_all = covers_all && applies_to(quotas.flavor);
      }
    }
    if (covers_all) checks.push_back(rule.check);
  }
  std::sort(checks.begin(), checks.end());
  return checks;
}

}  // namespace berth::admission
