// admission/own_rules.h — the rules by which Berth's decisions differ from Kueue's
// (docs/reference/differences.md), each with a name and a switch.
//
// Threads: data. Errors: Set returns false for a name that no rule has.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace berth::admission {

// A switch per rule: true: Berth's behaviour; false: Kueue's, which the parentheses describe.
struct OwnRules {
  // Released quota wakes its tree even if the workload's LocalQueue is gone or stopped. (Kueue
  // finds the tree through the LocalQueue, and wakes nothing without one.)
  bool wake_without_local_queue = true;
  // Victims have to free enough of the resource `pods` too. (Kueue's final search ignores `pods`:
  // the preemptor may never fit, and its victims were preempted for nothing.)
  bool victims_for_pods = true;
  // The domains of a nomination are checked again before admission, with all pod sets together and
  // with the nodes' limits on pods. (Kueue checks each pod set alone and ignores the limits: a node
  // may get more pods than it accepts.)
  bool count_pods_on_nodes = true;
  // Quota belongs to its holder until the holder has stopped. (Kueue admits on quota that victims
  // of an earlier entry of the cycle will release; until they have stopped, usage exceeds the
  // quota.)
  bool quota_until_victims_stop = true;
  // A queue or cohort that moves wakes also the tree that it left, whose quota it may have
  // borrowed; a deleted Cohort wakes the tree that it left and its own tree. (Kueue wakes only the
  // tree that the queue or cohort joins.)
  bool wake_the_tree_left = true;
  // Room released on nodes wakes all queues that use a flavor on these nodes, in any cohort; a head
  // that lacks the nodes which a cycle keeps for another head is tried again. (Kueue wakes the tree
  // of the released workload, and parks such a head; other trees may never be woken.)
  bool wake_the_flavor = true;
  // A deactivated workload holds its quota until its pods have stopped. (Kueue releases the quota
  // at once, and two workloads run on it for a while.)
  bool hold_until_stopped = true;
  // A check's Rejected or Retry counts although the reservation is being released or is gone.
  // (Kueue ignores the answer, and never reconciles the workload again: Kueue's issues 3543 and
  // 10807.)
  bool hear_late_answers = true;
  // A head that may not be tried (its namespace does not match, a check has failed) is parked,
  // wherever its last flavor scan stopped. (Kueue requeues it as the head while the scan has
  // flavors left, so that the workloads behind it never get a turn.)
  bool park_heads_not_tried = true;
  // Freed quota is kept for its preemptor: the preemptor goes first, with the flavors and counts of
  // its preemption, until it is admitted, or until these flavors and counts cannot fit. (In Kueue
  // the preemptor competes again with all workloads, its victims included, and chooses flavors and
  // counts again; so two workloads may preempt each other for ever.)
  bool preemptor_keeps_what_it_freed = true;
  // A victim does not preempt the workload that preempted it in return, directly or through others,
  // except to reclaim its queue's nominal quota from another queue; and no workload preempts a
  // victim again whose first preemption was in vain, until some workload departs. (In Kueue several
  // rules may form a circle: A preempts B, B preempts C, and C preempts A.)
  bool no_preemption_in_return = true;

  // A workload does not borrow in a cycle in which queues of the cohort that own the quota, and may
  // reclaim it, go on to their next workloads. (In Kueue the borrower is admitted beside the
  // queue's head, fitting or not, and the workload behind that head preempts it in the next cycle.)
  bool owners_before_borrowers = true;

  // A preemption of a workload that was admitted less than a minute ago, while the preemptor
  // waited, is held until the minute is over; a preemptor is held for one minute in ten at most.
  // (Kueue preempts at once, so that the victim was started for nothing.)
  bool spare_the_just_admitted = true;

  // A preemption waits for a victim that is expected to end by itself within seconds. (Kueue evicts
  // the victim, whose work is lost.)
  bool spare_the_soon_done = true;

  // A workload leaves the room to a parked workload of its queue that precedes it, fits now, and is
  // about to be tried again. (Kueue admits the workload, and the parked one preempts it.)
  bool parked_first = true;

  // If two candidates of equal priority got their quota in the same second, the one that was
  // preempted before is preempted last. (Kueue compares the UIDs.)
  bool spare_the_preempted = true;

  // A scan over flavors that finds none ends when its positions repeat. It begins again where quota
  // has come free since its beginning, else the workload is parked. (Kueue continues the scan of
  // each pod set by itself, without end where they are at different flavors, and parks a workload
  // although quota came free at flavors that its scan had passed: the workload waits for ever, and
  // in a StrictFIFO queue so do all workloads behind it.)
  bool rescan_after_changes = true;

  // Returns false where no rule has the name. owners-before-returning-borrowers, the name of a
  // narrower rule, is a second name of owners-before-borrowers.
  bool Set(std::string_view name, bool enabled);
  bool Has(std::string_view name) const;  // whether the rule is on
  // The names of the rules that are on (or off), in the order of RuleNames, joined by ", ".
  std::string NamesOfEnabled() const { return NamesWhere(true); }
  std::string NamesOfDisabled() const { return NamesWhere(false); }
  // All rules off: Kueue's decisions.
  static OwnRules None();
  friend bool operator==(const OwnRules&, const OwnRules&) = default;

 private:
  std::string NamesWhere(bool enabled) const;
};

std::span<const std::string_view> RuleNames();

}  // namespace berth::admission
