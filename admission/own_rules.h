// admission/own_rules.h — the rules by which Berth decides otherwise than Kueue
// (docs/differences.md), each with its name and a switch.
//
// Threads: data. Errors: Set returns false for a name that is not here.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace berth::admission {

// Where Berth decides otherwise than Kueue on purpose (docs/differences.md); true: Berth's way.
struct OwnRules {
  // Quota that comes free wakes its tree even if the workload's LocalQueue has gone or is stopped.
  // (Kueue finds the tree through the LocalQueue, and forgets the wake-up without one.)
  bool wake_without_local_queue = true;
  // Victims have to free enough of the resource `pods` too. (Kueue forgets that one in the final
  // search; the preemptor then never fits, and its victims were chosen for nothing.)
  bool victims_for_pods = true;
  // Domains that a workload was nominated with are looked at again, before it is admitted, with all
  // its pod sets together and with the nodes' limits of pods. (Kueue looks at each set alone and
  // forgets those limits: a node may get more pods than it takes.)
  bool count_pods_on_nodes = true;
  // Quota is somebody else's until its holder has stopped. (Kueue admits on what the victims of an
  // earlier entry of the cycle are going to leave; until they have stopped, more is in use than
  // there is.)
  bool quota_until_victims_stop = true;
  // A queue or cohort that moves to another parent wakes the tree that it left too: what it had
  // borrowed there is free. (Kueue wakes only the tree that it joins.)
  bool wake_the_tree_left = true;
  // Room that comes free on nodes wakes all queues that use the flavor, whatever their cohort.
  // (Kueue wakes the tree of the workload that leaves; nothing else may ever wake the others.)
  bool wake_the_flavor = true;
  // A deactivated workload holds its quota until its pods have stopped. (Kueue gives it away at
  // once, and runs both for a while.)
  bool hold_until_stopped = true;
  // A check that says no, or wants another try, is heard although its reservation is being given
  // back or has gone. (Kueue does not hear it, and never looks at the workload again: its issues
  // 3543 and 10807.)
  bool hear_late_answers = true;
  // A head that may not be tried at all (its namespace does not match, a check has failed) is
  // parked, wherever its last scan over flavors stopped. (Kueue makes it the head again while
  // flavors are left from that scan, which never goes on: nobody behind it gets a turn.)
  bool park_heads_not_tried = true;
  // Who preempts has what that frees: it goes before all others, with the flavors and counts it has
  // preempted for, until it is admitted or they cannot be had any more. (In Kueue it competes anew
  // with all others, its victims among them, and chooses flavors and counts anew; so two workloads
  // may preempt each other for ever.)
  bool preemptor_keeps_what_it_freed = true;
  // Who was preempted does not preempt in return who took its place, directly or by way of others,
  // unless for what is its queue's own quota from another queue; and nobody stops twice whom it has
  // stopped in vain, until somebody departs. (In Kueue several rules, each of
  // them right, may go round in a circle: A goes for B, B for C, and C for A.)
  bool no_preemption_in_return = true;

  // False: no rule has that name.
  bool Set(std::string_view name, bool enabled);
  bool Has(std::string_view name) const;  // is on
  // The names of the rules that are on, or off, in the order of RuleNames, with ", " between them.
  std::string NamesOfEnabled() const { return NamesWhere(true); }
  std::string NamesOfDisabled() const { return NamesWhere(false); }
  // Kueue's way in everything.
  static OwnRules None();
  friend bool operator==(const OwnRules&, const OwnRules&) = default;

 private:
  std::string NamesWhere(bool enabled) const;
};

std::span<const std::string_view> RuleNames();

}  // namespace berth::admission
