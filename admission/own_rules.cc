#include "admission/own_rules.h"

#include <iterator>

namespace berth::admission {
namespace {

constexpr bool OwnRules::*kSwitches[] = {
    &OwnRules::wake_without_local_queue,
    &OwnRules::victims_for_pods,
    &OwnRules::count_pods_on_nodes,
    &OwnRules::quota_until_victims_stop,
    &OwnRules::wake_the_tree_left,
    &OwnRules::wake_the_flavor,
    &OwnRules::hold_until_stopped,
    &OwnRules::hear_late_answers,
    &OwnRules::park_heads_not_tried,
    &OwnRules::preemptor_keeps_what_it_freed,
    &OwnRules::no_preemption_in_return,
    &OwnRules::owners_before_borrowers,
    &OwnRules::spare_the_just_admitted,
    &OwnRules::spare_the_soon_done,
    &OwnRules::parked_first,
    &OwnRules::spare_the_preempted,
    &OwnRules::rescan_after_changes,
};
constexpr std::string_view kNames[] = {
    "wake-without-local-queue",
    "victims-for-pods",
    "count-pods-on-nodes",
    "quota-until-victims-stop",
    "wake-the-tree-left",
    "wake-the-flavor",
    "hold-until-stopped",
    "hear-late-answers",
    "park-heads-not-tried",
    "preemptor-keeps-what-it-freed",
    "no-preemption-in-return",
    "owners-before-borrowers",
    "spare-the-just-admitted",
    "spare-the-soon-done",
    "parked-first",
    "spare-the-preempted",
    "rescan-after-changes",
};
constexpr std::string_view kOldName = "owners-before-returning-borrowers";
constexpr std::string_view kNewName = "owners-before-borrowers";
static_assert(std::size(kSwitches) == std::size(kNames));
static_assert(std::size(kNames) == sizeof(OwnRules), "a rule without a name");

}  // namespace

bool OwnRules::Set(std::string_view name, bool enabled) {
  if (name == kOldName) name = kNewName;
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    if (kNames[i] != name) continue;
    this->*kSwitches[i] = enabled;
    return true;
  }
  return false;
}

bool OwnRules::Has(std::string_view name) const {
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    if (kNames[i] == name) return this->*kSwitches[i];
  }
  return false;
}

std::string OwnRules::NamesWhere(bool enabled) const {
  std::string names;
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    if (this->*kSwitches[i] != enabled) continue;
    if (!names.empty()) names += ", ";
    names += kNames[i];
  }
  return names;
}

OwnRules OwnRules::None() {
  OwnRules rules;
  for (const auto rule : kSwitches) rules.*rule = false;
  return rules;
}

std::span<const std::string_view> RuleNames() { return kNames; }

}  // namespace berth::admission
