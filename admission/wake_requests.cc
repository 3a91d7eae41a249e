#include "admission/wake_requests.h"

#include <map>
#include <utility>

namespace berth::admission {
namespace {

// The targets without the cohorts below another target, which are woken with that target.
std::vector<WakeTarget> OutermostOf(const ClusterState& state,
                                    const std::set<WakeTarget>& targets) {
  const QuotaTree& tree = state.tree();
  const auto node_of = [&](const WakeTarget& target) {
    const std::optional<NodeId> node =
        target.queue < 0 ? state.cohorts().Find(target.cohort) : std::nullopt;
    return node && !tree.InCycle(*node) ? *node : kNoQuotaNode;
  };
  std::set<NodeId> targeted;
  for (const WakeTarget& target : targets) targeted.insert(node_of(target));
  std::map<NodeId, bool> covered;  // whether the node or one above is targeted
  std::vector<WakeTarget> outermost;
  for (const WakeTarget& target : targets) {
    const NodeId own = node_of(target);
    std::vector<NodeId> path;
    NodeId node = own == kNoQuotaNode ? kNoQuotaNode : tree.parent(own);
    for (; node != kNoQuotaNode && !covered.contains(node); node = tree.parent(node)) {
      path.push_back(node);
    }
    bool is_covered = node != kNoQuotaNode && covered.at(node);
    for (std::size_t i = path.size(); i-- > 0;) {
      is_covered = is_covered || targeted.contains(path[i]);
      covered[path[i]] = is_covered;
    }
    if (!is_covered) outermost.push_back(target);
  }
  return outermost;
}

}  // namespace

void WakeRequests::Add(const WakeTarget& target) {
  targets_.insert(target);
  new_targets_.insert(target);
}

void WakeRequests::AddTreeOf(ClusterQueueId queue) {
  if (const std::optional<WakeTarget> tree = TreeOf(state_, queue)) Add(*tree);
}

bool WakeRequests::HasTreeOf(ClusterQueueId queue) const {
  if (targets_.empty()) return false;
  const std::optional<WakeTarget> tree = TreeOf(state_, queue);
  return tree && targets_.contains(*tree);
}

void WakeRequests::AddLeft(const std::optional<WakeTarget>& before,
                           const std::optional<WakeTarget>& after) {
  if (own_rules_.wake_the_tree_left && before && before != after) Add(*before);
}

void WakeRequests::AddAround(const api::Workload& object) {
  const api::ObjectKey key{object.meta.namespace_name, object.spec.queue_name};
  const std::optional<ClusterQueueId> queue = own_rules_.wake_without_local_queue
                                                  ? queues_.local_queues().ClusterQueueOf(key)
                                                  : queues_.local_queues().RouteOf(key);
  if (queue && state_.cluster_queues().Has(*queue)) AddTreeOf(*queue);
}

void WakeRequests::AddUsersOfNodes(const Reservation& held) {
  if (!own_rules_.wake_the_flavor) return;
  for (const FlavorId flavor : state_.placer().FlavorsAt(held.placed)) {
    freed_flavors_.insert(flavor);
  }
}

void WakeRequests::AddFreedFlavors() {
  if (freed_flavors_.empty()) return;
  Add(state_.UsersOf({freed_flavors_.begin(), freed_flavors_.end()}));
  freed_flavors_.clear();
}

std::vector<WakeTarget> WakeRequests::TakeAll() {
  AddFreedFlavors();
  new_targets_.clear();
  return OutermostOf(state_, std::exchange(targets_, {}));
}

std::vector<WakeTarget> WakeRequests::TakeNew() {
  AddFreedFlavors();
  return OutermostOf(state_, std::exchange(new_targets_, {}));
}

std::optional<WakeTarget> TreeOfCohort(const ClusterState& state, const std::string& name) {
  const std::optional<NodeId> node = state.cohorts().Find(name);
  if (!node || state.tree().InCycle(*node)) return std::nullopt;
  return WakeTarget{-1, state.cohorts().NameOf(state.tree().Root(*node))};
}

}  // namespace berth::admission
