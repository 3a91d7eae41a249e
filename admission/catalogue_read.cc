// The queries of the Catalogue.
#include <algorithm>
#include <iterator>
#include <unordered_set>  // lookup only
#include <utility>

#include "admission/catalogue.h"
#include "api/labels.h"
#include "base/assert.h"
#include "base/strings.h"
#include "checks/check_kinds.h"

namespace berth::admission {

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

const api::Topology* Catalogue::topology(const std::string& name) const {
  const auto found = topologies_.find(name);
  return found == topologies_.end() ? nullptr : &found->second;
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
