#include "admission/queue_policies.h"

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
  Node node{queue.spec.cohort_name, PolicyOf(queue.meta)};
  any_ = any_ || node.policy != api::QueuePolicy{};
  Node& known = queues_[queue.meta.name];
  if (known == node) return {};
  known = std::move(node);
  const api::QueuePolicy policy = Of(queue.meta.name);
  if (std::exchange(told_[queue.meta.name], policy) == policy) return {};
  return {queue.meta.name};
}

std::vector<std::string> QueuePolicies::Set(const api::Cohort& cohort) {
  Node node{cohort.spec.parent_name, PolicyOf(cohort.meta)};
  any_ = any_ || node.policy != api::QueuePolicy{};
  Node& known = cohorts_[cohort.meta.name];
  if (known == node) return {};
  known = std::move(node);
  return Changed();
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
    const api::QueuePolicy policy = Of(name);
    if (std::exchange(told_[name], policy) != policy) names.push_back(name);
  }
  return names;
}

}  // namespace berth::admission
