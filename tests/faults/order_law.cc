#include "tests/faults/order_law.h"

#include <algorithm>
#include <utility>

namespace berth::sim {
namespace {

bool IsWaiting(const WorkloadFacts& workload) {
  return workload.active && !workload.deleting && !workload.reserved && !workload.finished &&
         !workload.held_back && workload.pending_reason != "Misconfigured" &&
         workload.replaces.empty();
}

bool HasQuota(const WorkloadFacts& workload) { return workload.reserved && !workload.finished; }

// Whether `workload` needs less of an amount than `before`: pods have become reclaimable, or the
// workload has become smaller.
bool NeedsLess(const WorkloadFacts& before, const WorkloadFacts& workload) {
  return std::any_of(before.usage.begin(), before.usage.end(), [&workload](const auto& each) {
    const auto left = workload.usage.find(each.first);
    return left == workload.usage.end() || left->second < each.second;
  });
}

std::int64_t PodsOf(const WorkloadFacts& workload) {
  std::int64_t pods = 0;
  for (const PodSetFacts& set : workload.pod_sets) pods += set.count;
  return pods;
}

}  // namespace

std::optional<FlavorAmounts> OrderLaw::NeedsOf(const Truth& truth, const WorkloadFacts& given,
                                               const WorkloadFacts& workload) {
  if (truth.IsAskedForMore(workload)) return std::nullopt;
  FlavorAmounts needed;
  for (const PodSetFacts& set : workload.pod_sets) {
    if (set.asks_topology) return std::nullopt;
    for (const auto& [resource, amount] : set.requests) {
      const auto flavor = std::find_if(
          given.granted.begin(), given.granted.end(),
          [&resource = resource](const auto& each) { return each.first.second == resource; });
      if (flavor == given.granted.end()) return std::nullopt;
      needed[flavor->first] += amount * set.count;
    }
    for (const std::string& flavor : given.flavors) {
      if (workload.avoided.contains(flavor)) return std::nullopt;
      const auto labels = truth.flavors().find(flavor);
      if (labels == truth.flavors().end() || truth.topology_flavors().contains(flavor)) {
        return std::nullopt;
      }
      for (const auto& [label, value] : set.node_selector) {
        const auto have = labels->second.find(label);
        if (have != labels->second.end() && have->second != value) return std::nullopt;
      }
    }
  }
  const bool enough = std::all_of(needed.begin(), needed.end(), [&](const auto& each) {
    return each.second <= given.granted.at(each.first);
  });
  return enough ? std::optional(std::move(needed)) : std::nullopt;
}

bool OrderLaw::IsFirst(const Truth& truth, const WorkloadFacts& workload, SteadyTime now) const {
  const auto waits = waits_.find(workload.uid);
  if (waits == waits_.end() || waits->second.since + window_ > now ||
      (left_ && *left_ + kWakeUp > now)) {
    return false;
  }
  return std::all_of(truth.workloads().begin(), truth.workloads().end(), [&](const auto& each) {
    const WorkloadFacts& other = each.second;
    if (other.uid == workload.uid || other.reserved || other.finished) return true;
    const QueueFacts* queue = truth.OpenQueueOf(other);
    return queue == nullptr || queue->name != waits->second.queue ||
           GoesBefore(*queue, workload, other);
  });
}

void OrderLaw::NoteWorkload(const Truth& truth, const WorkloadFacts* before,
                            const WorkloadFacts* workload, SteadyTime now) {
  const bool same = before != nullptr && workload != nullptr && before->uid == workload->uid;
  if (before != nullptr && HasQuota(*before) &&
      (!same || !HasQuota(*workload) || NeedsLess(*before, *workload))) {
    released_ = now;
  }
  if (before != nullptr && !same && waits_.erase(before->uid) > 0) left_ = now;
  if (workload == nullptr) return;
  NoteWaiting(truth, *workload, now);
  if (!HasQuota(*workload)) return;
  std::erase_if(open_, [workload](const Open& open) { return open.passed_over == workload->uid; });
}

void OrderLaw::NoteQueues(const Truth& truth, SteadyTime now) {
  for (const auto& [key, workload] : truth.workloads()) NoteWaiting(truth, workload, now);
}

void OrderLaw::NoteWaiting(const Truth& truth, const WorkloadFacts& workload, SteadyTime now) {
  const QueueFacts* queue = IsWaiting(workload) ? truth.OpenQueueOf(workload) : nullptr;
  if (queue == nullptr) {
    if (waits_.erase(workload.uid) > 0) left_ = now;
    return;
  }
  Waiting& waiting = waits_.try_emplace(workload.uid, Waiting{.since = now}).first->second;
  const std::int64_t pods = PodsOf(workload);
  if (waiting.queue != queue->name || waiting.priority != workload.priority ||
      waiting.pods != pods) {
    waiting = {now, queue->name, workload.priority, pods};
  }
}

bool OrderLaw::GoesBefore(const QueueFacts& queue, const WorkloadFacts& first,
                          const WorkloadFacts& second) {
  if (first.priority != second.priority) return first.priority > second.priority;
  return !queue.own_order && !first.evicted && !second.evicted && !first.created.empty() &&
         first.created < second.created;
}

void OrderLaw::OnQuota(const Truth& truth, const WorkloadFacts& workload, SteadyTime now) {
  const auto queue = truth.cluster_queues().find(workload.cluster_queue);
  if (queue == truth.cluster_queues().end() || queue->second.by_usage ||
      preemptors_.contains(workload.uid)) {
    return;
  }
  for (const auto& [key, other] : truth.workloads()) {
    const auto waiting = waits_.find(other.uid);
    if (other.uid == workload.uid || waiting == waits_.end() ||
        waiting->second.queue != workload.cluster_queue || waiting->second.since + window_ > now ||
        !GoesBefore(queue->second, other, workload)) {
      continue;
    }
    if (!queue->second.strict && (IsWakingUp(now) || !NeedsOf(truth, workload, other))) continue;
    const std::string text = Show(workload.key) + " gets quota in " + workload.cluster_queue +
                             ", in which " + Show(key) + " of priority " +
                             std::to_string(other.priority) + " waits before it";
    const std::string rule = queue->second.strict ? "strict-order" : "priority-order";
    open_.push_back({now, other.uid, {rule, text}});
  }
}

std::optional<OrderLaw::Breach> OrderLaw::Settled(SteadyTime now) {
  if (open_.empty() || open_.front().since + kSettles > now) return std::nullopt;
  Breach breach = std::move(open_.front().breach);
  open_.pop_front();
  return breach;
}

}  // namespace berth::sim
