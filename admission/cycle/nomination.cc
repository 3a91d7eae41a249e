#include "admission/cycle/nomination.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "admission/cycle/entry_nodes.h"
#include "admission/flavors/flavor_topology.h"
#include "admission/flavors/partial_admission.h"
#include "admission/workloads/workload_slices.h"

namespace berth::admission {
namespace {

// The planned count of each pod set; fewer where some pods need no quota any more.
std::vector<std::int32_t> CountsOf(const PreemptionPlan& plan, const queue::WorkloadInfo& info) {
  std::vector<std::int32_t> counts;
  for (std::size_t i = 0; i < info.pod_sets.size(); ++i) {
    counts.push_back(std::min(plan.assignment.pod_sets[i].count, info.pod_sets[i].count));
  }
  return counts;
}

// False without a look at the object.
bool MayBeReduced(const queue::WorkloadInfo& workload) {
  return std::any_of(workload.pod_sets.begin(), workload.pod_sets.end(),
                     [](const queue::PodSetInfo& info) { return info.may_shrink; });
}

}  // namespace

PreemptionRequest Nomination::RequestFor(const CycleEntry& entry,
                                         const Assignment& assignment) const {
  PreemptionRequest request;
  request.workload = entry.input.workload;
  request.queue = entry.input.head.cluster_queue;
  request.usage = assignment.usage;
  const ResourceId pods =
      context_.own_rules.victims_for_pods ? queue::Names::kNone : context_.state.vocabulary().pods;
  erase_if(request.usage, [&](const FlavorResourceAmount& item) {
    return item.amount == 0 ||
           (pods >= 0 &&
            context_.state.vocabulary().flavor_resources.ResourceOf(item.flavor_resource) == pods);
  });
  request.contested = ContestedBy(assignment);
  if (context_.gates.topology_aware_scheduling && UsesTopologies(context_.state, assignment)) {
    request.placements = OpenPlacements(context_.state, context_.state.queue(request.queue),
                                        *request.workload->object, assignment)
                             .requests;
  }
  return request;
}

void Nomination::AssignFlavors(CycleEntry& entry, const ScanState* scan,
                               const Assignment* nominated) {
  if (entry.input.reserved != nullptr) {
    AssignAgain(entry);
  } else {
    // The slice that the entry replaces is no victim: its pods go on in the new slice.
    const std::size_t excluded = context_.search.excluded_count();
    if (entry.input.replaces != nullptr) context_.search.Exclude(*entry.input.replaces);
    Choose(entry, scan, nominated);
    if (!entry.targets.empty() && context_.own_rules.no_preemption_in_return)
      HoldBack(entry, scan, nominated);
    if (entry.input.replaces != nullptr) context_.search.ExcludeFirst(excluded);
  }
  NotePlaced(context_.state, context_.gates, entry);
}

void Nomination::Choose(CycleEntry& entry, const ScanState* scan, const Assignment* nominated) {
  WorkloadOracle oracle(context_.search, context_.state, *entry.input.workload,
                        entry.input.head.cluster_queue);
  const FlavorAssigner::Context assigner_context{context_.state,
                                                 context_.gates,
                                                 context_.fair_sharing,
                                                 number_,
                                                 context_.gates.topology_aware_scheduling,
                                                 context_.ignore_undeclared_resources};
  const Reservation* replaced = entry.input.replaces;
  Charges charges;
  if (replaced != nullptr) {
    charges = ChargesOf(context_.state, *replaced->object,
                        context_.gates.reclaimable_pods ? queue::ReclaimRule::kFrees
                                                        : queue::ReclaimRule::kIgnored);
  }
  FlavorAssigner assigner(assigner_context, *entry.input.workload, entry.input.head.cluster_queue,
                          replaced == nullptr ? scan : nullptr, nominated, oracle);
  if (replaced != nullptr) assigner.SetReplaced(*replaced->object, charges);
  entry.targets.clear();
  entry.decision.spared.clear();
  std::vector<std::int32_t> counts;
  const PreemptionPlan* plan = entry.input.plan;
  const bool as_planned = plan != nullptr && nominated == &plan->assignment;
  if (as_planned) counts = CountsOf(*plan, *entry.input.workload);
  Assignment& full = entry.decision.assignment;
  assigner.Assign(counts, full);
  if (as_planned && full.mode == AssignmentMode::kPreempt) {
    entry.targets = context_.search.Keep(RequestFor(entry, full), plan->victims);
  } else if (full.mode == AssignmentMode::kPreempt) {
    entry.targets = oracle.Targets(RequestFor(entry, full), &entry.decision.spared);
  }
  const bool usable = full.mode == AssignmentMode::kFit || !entry.targets.empty() || as_planned;
  if (!usable) TryPartially(entry, assigner, oracle);
}

// Assigns fewer pods, if some counts fit; else changes nothing.
void Nomination::TryPartially(CycleEntry& entry, FlavorAssigner& assigner, WorkloadOracle& oracle) {
  if (!context_.gates.partial_admission || !MayBeReduced(*entry.input.workload)) return;
  const auto probe = [&](const std::vector<std::int32_t>& counts) {
    Assignment assignment;
    assigner.Assign(counts, assignment);
    if (assignment.mode == AssignmentMode::kFit) {
      entry.decision.assignment = std::move(assignment);
      entry.targets.clear();
      return true;
    }
    if (assignment.mode != AssignmentMode::kPreempt) return false;
    PreemptionTargets targets =
        oracle.Targets(RequestFor(entry, assignment), &entry.decision.spared);
    if (targets.empty()) return false;
    entry.decision.assignment = std::move(assignment);
    entry.targets = std::move(targets);
    return true;
  };
  LargestReducedCounts(*entry.input.workload->object, probe);
}

// Finds domains for pods of the reservation that lack them.
void Nomination::AssignAgain(CycleEntry& entry) {
  ClusterState& state = context_.state;
  const api::Workload& workload = *entry.input.workload->object;
  Assignment& assignment = entry.decision.assignment;
  entry.targets.clear();
  TakeReserved(state, workload, assignment);
  const ClusterQueueId queue = entry.input.head.cluster_queue;
  PlaceByTopology(state, state.queue(queue), workload, assignment);
  if (assignment.mode != AssignmentMode::kPreempt || HasUnhealthyAssignment(workload)) return;
  entry.targets = context_.search.Find(RequestFor(entry, assignment), &entry.decision.spared);
}

// Whether the entry has its planned assignment, or another one without borrowing, which no queue
// may reclaim; or waits for its own victims alone.
bool Nomination::IsAsPlanned(const CycleEntry& entry) const {
  const Assignment& assignment = entry.decision.assignment;
  const PreemptionPlan& plan = *entry.input.plan;
  if (assignment.mode == AssignmentMode::kFit) {
    return assignment.borrow_height == 0 || SameChoice(assignment, plan.assignment);
  }
  if (assignment.mode != AssignmentMode::kPreempt || entry.targets.empty()) return false;
  const bool its_own =
      std::all_of(entry.targets.begin(), entry.targets.end(), [&plan](const auto& target) {
        return target.reservation->evicted &&
               std::find(plan.victims.begin(), plan.victims.end(), target.reservation->workload) !=
                   plan.victims.end();
      });
  return its_own && SameChoice(assignment, plan.assignment);
}

// After the ordinary nomination: if the result differs from the plan's assignment, nominates again
// for that assignment alone. A plan that cannot fit any more ends.
void Nomination::KeepToPlan(CycleEntry& entry) {
  if (IsAsPlanned(entry)) return;
  Assignment other = std::move(entry.decision.assignment);
  PreemptionTargets other_targets = std::move(entry.targets);
  std::vector<PlacedPods> other_placed = std::move(entry.placed);
  SparedCandidates other_spared = std::move(entry.decision.spared);
  AssignFlavors(entry, nullptr, &entry.input.plan->assignment);
  const AssignmentMode mode = entry.decision.assignment.mode;
  if (mode == AssignmentMode::kFit ||
      (mode == AssignmentMode::kPreempt && !entry.targets.empty())) {
    return;
  }
  entry.decision.assignment = std::move(other);
  entry.targets = std::move(other_targets);
  entry.placed = std::move(other_placed);
  entry.decision.spared = std::move(other_spared);
  entry.input.plan = nullptr;
}

// Victims that the entry may not take: they took its quota, or an earlier preemption of them was in
// vain. It may reclaim its queue's nominal quota from queues that took it.
std::vector<const Reservation*> Nomination::NotToBeTaken(
    const CycleEntry& entry, const std::vector<WorkloadId>& above) const {
  const bool entitled = entry.decision.assignment.borrow_height == 0;
  std::vector<const Reservation*> spared;
  for (const PreemptionTarget& target : entry.targets) {
    const Reservation& victim = *target.reservation;
    if (victim.evicted) continue;
    const bool other_queue = victim.cluster_queue != entry.input.head.cluster_queue;
    const bool in_return = !(entitled && other_queue) &&
                           target.reason != PreemptionReason::kTimeSliceExpired &&
                           std::binary_search(above.begin(), above.end(), victim.workload);
    if (in_return || context_.history.InVain(entry.decision.workload, victim.workload)) {
      spared.push_back(&victim);
    }
  }
  return spared;
}

// The entry has victims. If some of them may not be taken, searches again with those excluded,
// until all may be taken.
void Nomination::HoldBack(CycleEntry& entry, const ScanState* scan, const Assignment* nominated) {
  const std::vector<WorkloadId> above = context_.history.Above(entry.decision.workload);
  PreemptionSearch& search = context_.search;
  const std::size_t excluded_before = search.excluded_count();
  SparedCandidates held_back;
  while (true) {
    const std::vector<const Reservation*> not_these = NotToBeTaken(entry, above);
    if (not_these.empty()) break;
    for (const Reservation* victim : not_these) {
      search.Exclude(*victim);
      if (held_back.size() < kMaxSparedByPolicy) {
        held_back.push_back({victim->workload, SparedCandidate::Cause::kPreemptedIt});
      }
    }
    Choose(entry, scan, nominated);
    entry.was_held_back = true;
  }
  if (search.excluded_count() == excluded_before) return;
  search.ExcludeFirst(excluded_before);
  for (const SparedCandidate& spared : entry.decision.spared) {
    if (held_back.size() < kMaxSpared) held_back.push_back(spared);
  }
  entry.decision.spared = held_back;
}

}  // namespace berth::admission
