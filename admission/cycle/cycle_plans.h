// admission/cycle/cycle_plans.h — the preemption plans of one cycle's entries: freed quota is kept
// for its preemptor, which makes preemption terminate (OwnRules::preemptor_keeps_what_it_freed).
//
// A plan goes before all entries except heads of higher priority that need none of its quota and
// were not preempted for it.
//
// Threads: one. Errors: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "admission/cycle/cycle_entry.h"
#include "admission/cycle/cycle_preemptions.h"
#include "admission/cycle/cycle_room.h"
#include "base/small_vector.h"

namespace berth::admission {

class CyclePlans {
  struct PlansOfTree;

 public:
  // The heads that go before one plan, in order. The quota and nodes that a head takes count in the
  // test of the next head.
  class HeadsAbove {
   public:
    // See Above.
    HeadsAbove(CyclePlans& all, const CycleEntry& holder, std::vector<CycleEntry>& entries);
    // The next head, to be processed at once; null: none is left. Call until it is null.
    CycleEntry* Next();

   private:
    void ShowPlans(std::int64_t priority);
    void EndWhatIf();

    CyclePlans& all_;
    PlansOfTree* plans_ = nullptr;
    std::vector<std::size_t> tests_;  // indices in PlansOfTree::above
    std::size_t next_ = 0;            // in tests_
    std::int64_t least_ = 0;          // the priority of the plan's holder
    std::optional<ClusterState::WhatIf> what_if_;
    std::ptrdiff_t plans_below_ = 0;  // number of plans of lower priority in the what-if
    NodeId leaf_ = kNoQuotaNode;
  };

  // The preemptions and the room are those of the cycle; both must outlive the object.
  CyclePlans(const CycleContext& context, CyclePreemptions& preemptions, CycleRoom& room)
      : context_(context), preemptions_(preemptions), room_(room) {}

  // The heads of `entries`, all of the cycle, that go before the plan of `holder`. A head is tested
  // once, and again when it may have more room (NoteProcessed).
  HeadsAbove Above(const CycleEntry& holder, std::vector<CycleEntry>& entries) {
    return HeadsAbove(*this, holder, entries);
  }
  // Call after an entry was processed. From now on counts the entry's own claim in place of the
  // usage that its plan freed, counts its victims as stopped, and tests again every head above a
  // plan that may have gained room.
  void NoteProcessed(const CycleEntry& entry);
  // Ends a cycle.
  void Clear() {
    plans_.clear();
    indexed_ = false;
  }

 private:
  // The entries of one tree that have plans, and the entries that may go before one of them.
  struct PlansOfTree {
    std::vector<CycleEntry*> holders;
    std::vector<std::int64_t> priorities;  // priorities of the holders, rising
    // Entries with plans, by the UIDs of their victims; WorkloadIds are reused.
    std::map<std::string_view, SmallVector<const CycleEntry*, 1>> freed_by;
    std::vector<EntryOrder> above;  // heads of higher priority that can fit, in order
    std::int64_t highest = 0;       // highest priority in `above`
    // Indices in `above`: all, by leaf; the heads to test at the next plan; the heads that need a
    // plan's quota, by the holder of the plan.
    std::map<NodeId, std::size_t> by_leaf;
    std::set<std::size_t> untested;
    std::map<const CycleEntry*, std::vector<std::size_t>> needing;
  };
  struct UsageAt {
    NodeId leaf = kNoQuotaNode;
    const Usage* usage = nullptr;
  };

  void Index(std::vector<CycleEntry>& entries);
  bool MayFit(const CycleEntry& head);
  bool HasRoomBesidePlans(const PlansOfTree& plans, const CycleEntry& head);
  void CountPlans(const PlansOfTree& plans, std::int64_t priority);
  const CycleEntry* HolderOf(const PlansOfTree& plans, const api::Workload& victim,
                             const CycleEntry& head) const;
  const CycleEntry* HolderOfWhatItNeeds(const PlansOfTree& plans, const CycleEntry& head) const;
  void TestAgainBelow(PlansOfTree& plans, NodeId node);
  void TestAgainForNodes();
  bool IsCoveredBy(const CycleEntry& entry, const std::vector<UsageAt>& released) const;

  CycleContext context_;
  CyclePreemptions& preemptions_;
  CycleRoom& room_;
  std::map<NodeId, PlansOfTree> plans_;  // by root; computed for the first plan processed
  bool indexed_ = false;
};

}  // namespace berth::admission
