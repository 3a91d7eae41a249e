#include "tests/faults/fair_order.h"

#include <algorithm>

namespace berth::sim {
namespace {

constexpr double kLeastDifference = 1e-6;

support::UsageByQueue UsageWith(const Truth& truth, const std::string& queue,
                                const FlavorAmounts& more, int sign) {
  support::UsageByQueue usage = truth.Usage();
  for (const auto& [what, amount] : more) usage[queue][what] += sign * amount;
  return usage;
}

bool HasOneFlavorEach(const QueueFacts& queue) {
  return std::all_of(queue.groups.begin(), queue.groups.end(),
                     [](const auto& flavors) { return flavors.size() == 1; });
}

bool HasOpenCheck(const WorkloadFacts& workload) {
  return std::any_of(workload.checks.begin(), workload.checks.end(), [](const auto& check) {
    return check.second == "Retry" || check.second == "Rejected";
  });
}

bool Borrows(const support::QuotaFormulae& quota, const std::string& queue,
             const FlavorAmounts& asked, const support::UsageByQueue& usage) {
  const std::string node = "queue/" + queue;
  return std::any_of(asked.begin(), asked.end(), [&](const auto& each) {
    return quota.Usage(node, each.first, usage) > quota.Subtree(node, each.first);
  });
}

}  // namespace

// False while a victim of the tree is running or a preemptor waits: quota is held for preemptors.
bool FairOrder::MayCompare(const Truth& truth, const Rules& rules, const WorkloadFacts& workload,
                           SteadyTime now) const {
  const auto changed = changed_.find(workload.cluster_queue);
  if (changed != changed_.end() && changed->second + kSettles > now) return false;
  if (!rules.order.IsFirst(truth, workload, now)) return false;
  return std::none_of(truth.workloads().begin(), truth.workloads().end(), [&](const auto& each) {
    const WorkloadFacts& other = each.second;
    const QueueFacts* queue = other.reserved ? nullptr : truth.OpenQueueOf(other);
    const std::string& name = queue == nullptr ? other.cluster_queue : queue->name;
    if (other.finished || name.empty() || !rules.quota.HasQueue(name) ||
        !rules.quota.SameTree(name, workload.cluster_queue)) {
      return false;
    }
    return other.reserved ? other.evicted : rules.order.IsPreemptor(other.uid);
  });
}

void FairOrder::OnQuota(const Truth& truth, const Rules& rules, const WorkloadFacts& workload,
                        SteadyTime now) {
  const std::string& queue = workload.cluster_queue;
  const support::QuotaFormulae& quota = rules.quota;
  if (!quota.HasQueue(queue) || !MayCompare(truth, rules, workload, now)) return;
  const std::string& cohort = quota.ParentOf("queue/" + queue);
  if (cohort.empty()) return;
  const support::UsageByQueue with = truth.Usage();
  const support::UsageByQueue without = UsageWith(truth, queue, workload.usage, -1);
  const double share = rules.shares.ShareOf(quota, "queue/" + queue, with, {});
  const auto facts = truth.cluster_queues().find(queue);
  const bool is_strict = facts != truth.cluster_queues().end() && facts->second.strict;
  for (const auto& [key, other] : truth.workloads()) {
    const QueueFacts* beside = truth.OpenQueueOf(other);
    if (other.uid == workload.uid || beside == nullptr || beside->name == queue ||
        beside->by_usage || !HasOneFlavorEach(*beside) || !quota.HasQueue(beside->name) ||
        quota.ParentOf("queue/" + beside->name) != cohort || HasOpenCheck(other) ||
        !rules.order.IsFirst(truth, other, now)) {
      continue;
    }
    // The head of a StrictFIFO queue is never parked: it may be tried alone.
    if (is_strict && !beside->strict && rules.order.IsWakingUp(now)) continue;
    const auto changed = changed_.find(beside->name);
    if (changed != changed_.end() && changed->second + kSettles / 2 > now) continue;
    const std::optional<FlavorAmounts> asked = OrderLaw::NeedsOf(truth, workload, other);
    if (!asked) continue;
    const bool fits = std::all_of(asked->begin(), asked->end(), [&](const auto& each) {
      return beside->quotas.contains(each.first) &&
             quota.Available(beside->name, each.first, without) >= each.second;
    });
    if (!fits) continue;
    support::UsageByQueue instead = without;
    for (const auto& [what, amount] : *asked) instead[beside->name][what] += amount;
    if (Borrows(quota, beside->name, *asked, instead) &&
        !Borrows(quota, queue, workload.usage, with)) {
      continue;
    }
    ++compared_;
    const double lower = rules.shares.ShareOf(quota, "queue/" + beside->name, instead, {});
    if (lower + kLeastDifference >= share) continue;
    open_.push_back({now, beside->name,
                     Show(workload.key) + " gets quota in " + queue + ", whose share is " +
                         std::to_string(share) + " with it; with " + Show(key) +
                         ", which waits in " + beside->name + ", that one's would be " +
                         std::to_string(lower)});
  }
}

void FairOrder::NoteUsage(const std::string& queue, SteadyTime now) {
  changed_[queue] = now;
  std::erase_if(open_, [&queue](const Open& open) { return open.queue == queue; });
}

std::optional<OrderLaw::Breach> FairOrder::Settled(SteadyTime now) {
  if (open_.empty() || open_.front().since + kSettles > now) return std::nullopt;
  OrderLaw::Breach breach{"fair-order", open_.front().text};
  open_.pop_front();
  return breach;
}

}  // namespace berth::sim
