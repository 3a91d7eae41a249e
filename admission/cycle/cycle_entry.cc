#include "admission/cycle/cycle_entry.h"

#include <algorithm>
#include <string>

namespace berth::admission {

bool Before(const ClusterState& state, const EntryOrder& a, const EntryOrder& b) {
  if (a.holds_quota != b.holds_quota) return a.holds_quota;
  if (a.goes_first != b.goes_first) return a.goes_first;
  if (a.borrow_height != b.borrow_height) return a.borrow_height < b.borrow_height;
  if (a.priority != b.priority) return a.priority > b.priority;
  if (a.queued_at != b.queued_at) return a.queued_at < b.queued_at;
  // Kueue's order of the rest is random. Berth orders by name: numbers depend on the order of
  // arrival, and a restart must not change decisions.
  if (!a.holds_quota) return a.entry < b.entry;  // order of the heads
  const HeadInput& first = a.entry->input;
  const HeadInput& second = b.entry->input;
  const std::string& first_queue = state.queue(first.head.cluster_queue).name;
  const std::string& second_queue = state.queue(second.head.cluster_queue).name;
  if (first_queue != second_queue) return first_queue < second_queue;
  return first.workload->object->meta.key() < second.workload->object->meta.key();
}

EntryOrder OrderOf(CycleEntry& entry, const FeatureGates& gates) {
  const queue::WorkloadInfo& workload = *entry.input.workload;
  const bool by_priority = gates.priority_sorting_within_cohort;
  return {.holds_quota = entry.input.reserved != nullptr,
          .goes_first = entry.GoesFirst(),
          .borrow_height = entry.decision.assignment.borrow_height,
          .priority = by_priority ? workload.priority : 0,
          .queued_at = workload.queued_at,
          .entry = &entry};
}

void Sort(const ClusterState& state, std::vector<EntryOrder>& order) {
  std::sort(order.begin(), order.end(),
            [&state](const EntryOrder& a, const EntryOrder& b) { return Before(state, a, b); });
}

}  // namespace berth::admission
