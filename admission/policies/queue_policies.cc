#include "admission/policies/queue_policies.h"

#include <utility>

namespace berth::admission {
namespace {

constexpr int kDeepest = 64;  // Cohorts above one another; a cycle ends here

api::QueuePolicy PolicyOf(const api::ObjectMeta& meta) {
  auto policy = api::ReadQueuePolicy(meta.annotations);
  return policy ? *policy : api::QueuePolicy{};
}

}  // namespace

std::vector<std::string> QueuePolicies::Set(const api::ClusterQueue& queue) {
  const std::string& name = queue.meta.name;
  if (!Put(queues_, queue.meta, queue.spec.cohort_name) || !Tell(name)) return {};
  return {name};
}

std::vector<std::string> QueuePolicies::Set(const api::Cohort& cohort) {
  if (!Put(cohorts_, cohort.meta, cohort.spec.parent_name)) return {};
  return Changed();
}

bool QueuePolicies::Put(std::map<std::string, Node>& nodes, const api::ObjectMeta& meta,
                        const std::string& parent) {
  Node node{parent, PolicyOf(meta)};
  any_ = any_ || node.policy != api::QueuePolicy{};
  Node& known = nodes[meta.name];
  if (known == node) return false;
  known = std::move(node);
  return true;
}

bool QueuePolicies::Tell(const std::string& cluster_queue) {
  const api::QueuePolicy policy = Of(cluster_queue);
  return std::exchange(told_[cluster_queue], policy) != policy;
}

void QueuePolicies::RemoveClusterQueue(const std::string& name) {
  queues_.erase(name);
  told_.erase(name);
}

std::vector<std::string> QueuePolicies::RemoveCohort(const std::string& name) {
  return cohorts_.erase(name) == 0 ? std::vector<std::string>() : Changed();
}

api::QueuePolicy QueuePolicies::Of(const std::string& cluster_queue) const {
  const auto queue = queues_.find(cluster_queue);
  if (queue == queues_.end()) return {};
  api::QueuePolicy policy = queue->second.policy;
  std::string parent = queue->second.parent;
  for (int depth = 0; depth < kDeepest && !parent.empty(); ++depth) {
    const auto cohort = cohorts_.find(parent);
    if (cohort == cohorts_.end()) break;
    policy = policy.Within(cohort->second.policy);
    parent = cohort->second.parent;
  }
  return policy;
}

std::vector<std::string> QueuePolicies::Changed() {
  std::vector<std::string> names;
  for (const auto& [name, node] : queues_) {
    if (Tell(name)) names.push_back(name);
  }
  return names;
}

}  // namespace berth::admission
