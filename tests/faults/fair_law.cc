#include "tests/faults/fair_law.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace berth::sim {
namespace {

constexpr int kDeepest = 16;
constexpr double kRounding = 1e-6;

// The nodes from the ClusterQueue to its root.
std::vector<std::string> PathOf(const support::QuotaFormulae& quota, const std::string& queue) {
  std::vector<std::string> path;
  std::string node = "queue/" + queue;
  for (int depth = 0; depth < kDeepest && !node.empty(); ++depth) {
    path.push_back(node);
    node = quota.ParentOf(node);
  }
  return path;
}

}  // namespace

FairClaim::FairClaim(const Truth& truth, const WorkloadFacts& preemptor,
                     const std::string& cluster_queue, const Usages& recent)
    : queue(cluster_queue) {
  const auto facts = truth.cluster_queues().find(queue);
  const bool may_take_own =
      facts != truth.cluster_queues().end() && facts->second.preemption.within != "Never";
  for (const auto& [key, other] : truth.workloads()) {
    if (!other.reserved || other.finished || other.cluster_queue != queue) continue;
    if (may_take_own && other.priority <= preemptor.priority) continue;
    for (const auto& [what, amount] : other.usage) used[what] += amount;
  }
  for (const auto& [since, usage] : recent) {
    const auto own = usage.find(queue);
    for (auto& [what, amount] : used) {
      std::int64_t then = 0;
      if (own != usage.end() && own->second.contains(what)) then = own->second.at(what);
      amount = std::min(amount, then);
    }
  }
  for (const PodSetFacts& set : preemptor.pod_sets) {
    for (const auto& [resource, amount] : set.requests) asked[resource] += amount * set.min_count;
  }
}

FairLaw::FairLaw(const Truth& truth) {
  for (const auto& [name, queue] : truth.cluster_queues()) weights_["queue/" + name] = queue.weight;
  for (const auto& [name, cohort] : truth.cohorts()) weights_["cohort/" + name] = cohort.weight;
}

double FairLaw::ShareOf(const support::QuotaFormulae& quota, const std::string& node,
                        const support::UsageByQueue& usage,
                        const std::map<std::string, std::int64_t>& more) const {
  const std::string& parent = quota.ParentOf(node);
  if (parent.empty()) return 0.0;
  std::map<std::string, std::int64_t> above;
  std::map<std::string, std::int64_t> room;
  std::map<std::string, std::int64_t> lendable;
  for (const support::FlavorResource& what : quota.FlavorResources()) {
    const std::int64_t over = quota.Usage(node, what, usage) - quota.Subtree(node, what);
    above[what.second] += std::max<std::int64_t>(0, over);
    room[what.second] += std::max<std::int64_t>(0, -over);
    lendable[what.second] += quota.PotentialOf(parent, what);
  }
  double share = 0.0;
  for (const auto& [resource, most] : lendable) {
    const auto asked = more.find(resource);
    const std::int64_t extra =
        asked == more.end() ? 0 : std::max<std::int64_t>(0, asked->second - room[resource]);
    if (most <= 0) continue;
    share = std::max(
        share, static_cast<double>(above[resource] + extra) * 1000.0 / static_cast<double>(most));
  }
  const auto weight = weights_.find(node);
  if (share == 0.0 || weight == weights_.end()) return share;
  return weight->second == 0.0 ? std::numeric_limits<double>::infinity() : share / weight->second;
}

std::optional<std::string> FairLaw::Unfair(const FairStrategies& strategies,
                                           const support::QuotaFormulae& quota,
                                           const FairClaim& claim, const WorkloadFacts& victim,
                                           const support::UsageByQueue& usage) const {
  if (!quota.HasQueue(claim.queue) || !quota.HasQueue(victim.cluster_queue)) {
    return "its queue or the preemptor's is not there";
  }
  std::vector<std::string> own = PathOf(quota, claim.queue);
  std::vector<std::string> others = PathOf(quota, victim.cluster_queue);
  if (own.back() != others.back()) return "it is in another cohort";
  // Down from the root while both paths are equal.
  while (own.size() > 1 && others.size() > 1 && own[own.size() - 2] == others[others.size() - 2]) {
    own.pop_back();
    others.pop_back();
  }
  if (own.size() < 2 || others.size() < 2) return "it is in the same ClusterQueue";
  const std::string& here = own[own.size() - 2];
  const std::string& there = others[others.size() - 2];
  // Below a child cohort the request may fit the cohort's own quota: it does not count.
  const bool is_queue = own.size() == 2;
  const double claimed = ShareOf(quota, here, {{claim.queue, claim.used}},
                                 is_queue ? claim.asked : std::map<std::string, std::int64_t>());
  support::UsageByQueue without = usage;
  for (const auto& [what, amount] : victim.usage) {
    without[victim.cluster_queue][what] -= amount;
  }
  const double before = ShareOf(quota, there, usage, {});
  const double after = ShareOf(quota, there, without, {});
  if (strategies.final_share && claimed <= after + kRounding) return std::nullopt;
  if (strategies.initial_share && claimed + kRounding < before) return std::nullopt;
  return "the share of " + here + " would be " + std::to_string(claimed) + " or more, that of " +
         there + " is " + std::to_string(before) + ", without it " + std::to_string(after);
}

}  // namespace berth::sim
