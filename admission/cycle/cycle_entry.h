// admission/cycle/cycle_entry.h — a head in a cycle, with what the cycle has found for it, and the
// classical order of entries: by borrowing height, priority, queue-order instant, name of the
// queue. Workloads that have quota and lack nodes go first, then those with preemptions of their
// own under way.
//
// Threads: one. Errors: none.
// Source: Kueue pkg/scheduler (entry, entryOrdering).
#pragma once

#include <cstdint>
#include <vector>

#include "admission/cluster_state.h"
#include "admission/decision.h"
#include "admission/feature_gates.h"
#include "admission/own_rules.h"
#include "admission/preemption/preemption.h"
#include "admission/preemption/preemption_history.h"
#include "queue/queue_set.h"

namespace berth::admission {

class KeptPlaces;
class NewVictims;
class VictimRules;
class WakeRequests;
class WorkloadRecords;
struct KeptPlace;

// The objects that all cycles of a scheduler use. All must outlive the cycles.
struct CycleContext {
  ClusterState& state;
  queue::QueueSet& queues;
  const FeatureGates& gates;
  const OwnRules& own_rules;
  PreemptionSearch& search;
  const PreemptionHistory& history;
  bool fair_sharing = false;
  bool one_at_a_time = false;  // SchedulerConfig::block_admission
  bool ignore_undeclared_resources = false;
  const KeptPlaces& kept_places;
  VictimRules& victim_rules;
  NewVictims& new_victims;
  const WakeRequests& wakes;
  const WorkloadRecords& records;
};

// A head with the facts that the cycle needs.
struct HeadInput {
  queue::Head head;
  const queue::WorkloadInfo* workload = nullptr;
  const ScanState* scan = nullptr;  // null: no scan is under way
  // The head's own preemptions are under way, and the gate PrioritizePreemptorWorkloads is on.
  bool waits_for_preemption = false;
  const PreemptionPlan* plan = nullptr;   // null: the head has no preemption plan
  const Reservation* reserved = nullptr;  // not null: has quota, lacks nodes (second pass)
  const Reservation* replaces = nullptr;  // the slice whose quota the head takes over; null: none
};

struct CycleEntry {
  HeadInput input;
  Decision& decision;  // element of the DecisionList
  PreemptionTargets targets;
  std::vector<PlacedPods> placed;  // the pods on nodes beyond those of its own reservation
  bool was_held_back = false;      // OwnRules::no_preemption_in_return changed its victims
  bool done = false;               // processed

  bool GoesFirst() const { return input.waits_for_preemption || input.plan != nullptr; }
};

// The fields that order entries, contiguous in memory.
struct EntryOrder {
  bool holds_quota = false;
  bool goes_first = false;
  std::int32_t borrow_height = 0;
  std::int64_t priority = 0;  // 0 where priority does not count
  WallTime queued_at{};
  CycleEntry* entry = nullptr;
};
EntryOrder OrderOf(CycleEntry& entry, const FeatureGates& gates);
bool Before(const ClusterState& state, const EntryOrder& a, const EntryOrder& b);
// Sorts the entries of a cycle.
void Sort(const ClusterState& state, std::vector<EntryOrder>& order);

}  // namespace berth::admission
