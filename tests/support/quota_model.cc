#include "tests/support/quota_model.h"

#include <algorithm>
#include <set>

#include "api/condition.h"
#include "api/reasons.h"

namespace berth::support {
namespace {

std::string QueueNode(const std::string& name) { return "queue/" + name; }
std::string CohortNode(const std::string& name) { return name.empty() ? "" : "cohort/" + name; }

}  // namespace

Amounts HeldBy(const api::Workload& workload) {
  Amounts held;
  if (!workload.status.admission) return held;
  for (const api::PodSetAssignment& assigned : workload.status.admission->pod_set_assignments) {
    std::int32_t count = assigned.count;
    for (const api::PodSet& pod_set : workload.spec.pod_sets) {
      if (pod_set.name != assigned.name) continue;
      std::int32_t left = pod_set.count;
      for (const api::ReclaimablePod& pods : workload.status.reclaimable_pods) {
        if (pods.pod_set == pod_set.name) left -= pods.count;
      }
      count = std::min(count, std::max(0, left));
    }
    for (const auto& [resource, amount] : assigned.resource_usage) {
      const api::Amount used =
          assigned.count == 0 ? amount : amount / assigned.count * static_cast<api::Amount>(count);
      held[{assigned.flavors.at(resource), resource}] += used;
    }
  }
  return held;
}

Amounts AskedBy(const admission::Decision& decision, const admission::Vocabulary& names) {
  Amounts asked;
  for (const admission::PodSetDecision& pod_set : decision.assignment.pod_sets) {
    for (const admission::FlavorChoice& choice : pod_set.flavors) {
      for (const admission::ResourceRequest& request : pod_set.requests) {
        if (request.resource != choice.resource) continue;
        asked[{names.flavors[choice.flavor], names.resources[choice.resource]}] += request.amount;
      }
    }
  }
  return asked;
}

QuotaModel::QuotaModel(const CoreWorld& world, Evicted evicted) {
  for (const auto& [name, cohort] : world.cohorts()) {
    Make(CohortNode(name), CohortNode(cohort.spec.parent_name), cohort.spec.resource_groups);
  }
  for (const auto& [name, queue] : world.cluster_queues()) {
    Make(QueueNode(name), CohortNode(queue.spec.cohort_name), queue.spec.resource_groups);
  }
  std::set<std::string> implicit;
  for (const auto& [name, node] : nodes_) {
    if (!node.parent.empty() && !nodes_.contains(node.parent)) implicit.insert(node.parent);
  }
  for (const std::string& name : implicit) nodes_[name];
  for (const auto& [name, node] : nodes_) {
    if (!node.parent.empty()) nodes_.at(node.parent).children.push_back(name);
  }
  for (const auto& [key, workload] : world.workloads()) {
    const auto& conditions = workload.status.conditions;
    if (!api::IsTrue(conditions, api::kQuotaReserved) || api::IsTrue(conditions, api::kFinished)) {
      continue;
    }
    if (evicted == Evicted::kLeaveOut && api::IsTrue(conditions, api::kEvicted)) continue;
    AddUsage(workload.status.admission->cluster_queue, HeldBy(workload));
  }
}

QuotaModel::Node& QuotaModel::Make(const std::string& name, const std::string& parent,
                                   const std::vector<api::ResourceGroup>& groups) {
  Node& node = nodes_[name];
  node.parent = parent;
  for (const api::ResourceGroup& group : groups) {
    for (const api::FlavorQuotas& flavor : group.flavors) {
      for (const api::ResourceQuota& quota : flavor.resources) {
        node.quotas[{flavor.flavor, quota.resource}] = quota;
      }
    }
  }
  return node;
}

void QuotaModel::AddUsage(const std::string& queue, const Amounts& usage) {
  for (const auto& [fr, amount] : usage) nodes_.at(QueueNode(queue)).used[fr] += amount;
}

void QuotaModel::RemoveUsage(const std::string& queue, const Amounts& usage) {
  for (const auto& [fr, amount] : usage) nodes_.at(QueueNode(queue)).used[fr] -= amount;
}

const api::ResourceQuota* QuotaModel::QuotaOf(const std::string& node,
                                              const FlavorResource& fr) const {
  const auto& quotas = nodes_.at(node).quotas;
  const auto found = quotas.find(fr);
  return found == quotas.end() ? nullptr : &found->second;
}

api::Amount QuotaModel::Subtree(const std::string& node, const FlavorResource& fr) const {
  const api::ResourceQuota* quota = QuotaOf(node, fr);
  api::Amount sum = quota == nullptr ? 0 : quota->nominal_quota;
  for (const std::string& child : nodes_.at(node).children) {
    sum += Subtree(child, fr) - Local(child, fr);
  }
  return sum;
}

api::Amount QuotaModel::Local(const std::string& node, const FlavorResource& fr) const {
  const api::ResourceQuota* quota = QuotaOf(node, fr);
  if (quota == nullptr || !quota->lending_limit) return 0;
  return std::max<api::Amount>(0, Subtree(node, fr) - *quota->lending_limit);
}

api::Amount QuotaModel::Usage(const std::string& node, const FlavorResource& fr) const {
  const Node& asked = nodes_.at(node);
  const auto own = asked.used.find(fr);
  api::Amount sum = own == asked.used.end() ? 0 : own->second;
  for (const std::string& child : asked.children) {
    sum += std::max<api::Amount>(0, Usage(child, fr) - Local(child, fr));
  }
  return sum;
}

api::Amount QuotaModel::AvailableAt(const std::string& node, const FlavorResource& fr) const {
  const std::string& parent = nodes_.at(node).parent;
  const api::Amount subtree = Subtree(node, fr);
  const api::Amount usage = Usage(node, fr);
  if (parent.empty()) return subtree - usage;
  const api::Amount local = Local(node, fr);
  api::Amount from_parent = AvailableAt(parent, fr);
  const api::ResourceQuota* quota = QuotaOf(node, fr);
  if (quota != nullptr && quota->borrowing_limit) {
    from_parent =
        std::min(from_parent, (subtree - local) - std::max<api::Amount>(0, usage - local) +
                                  *quota->borrowing_limit);
  }
  return std::max<api::Amount>(0, local - usage) + from_parent;
}

api::Amount QuotaModel::PotentialAt(const std::string& node, const FlavorResource& fr) const {
  const std::string& parent = nodes_.at(node).parent;
  if (parent.empty()) return Subtree(node, fr);
  const api::Amount most = Local(node, fr) + PotentialAt(parent, fr);
  const api::ResourceQuota* quota = QuotaOf(node, fr);
  if (quota == nullptr || !quota->borrowing_limit) return most;
  return std::min(most, Subtree(node, fr) + *quota->borrowing_limit);
}

api::Amount QuotaModel::Available(const std::string& queue, const FlavorResource& fr) const {
  return AvailableAt(QueueNode(queue), fr);
}

api::Amount QuotaModel::Potential(const std::string& queue, const FlavorResource& fr) const {
  return PotentialAt(QueueNode(queue), fr);
}

bool QuotaModel::Fits(const std::string& queue, const Amounts& usage) const {
  return std::all_of(usage.begin(), usage.end(), [&](const auto& item) {
    return item.second <= std::max<api::Amount>(0, Available(queue, item.first));
  });
}

bool QuotaModel::Borrows(const std::string& queue, const Amounts& usage) const {
  const std::string node = QueueNode(queue);
  return std::any_of(usage.begin(), usage.end(), [&](const auto& item) {
    return Usage(node, item.first) + item.second > Subtree(node, item.first);
  });
}

std::vector<std::string> QuotaModel::Nodes() const {
  std::vector<std::string> names;
  for (const auto& [name, node] : nodes_) names.push_back(name);
  return names;
}

std::vector<FlavorResource> QuotaModel::FlavorResources() const {
  std::set<FlavorResource> all;
  for (const auto& [name, node] : nodes_) {
    for (const auto& [fr, quota] : node.quotas) all.insert(fr);
    for (const auto& [fr, amount] : node.used) all.insert(fr);
  }
  return {all.begin(), all.end()};
}

}  // namespace berth::support
