// tests/golden/own_rules.h — Berth's own rules by the names they have in docs/differences.md.
//
// Threads: data. Errors: nullopt for a name that is not here.
#pragma once

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include "admission/feature_gates.h"

namespace berth::golden {

struct NamedRule {
  std::string_view name;
  bool admission::OwnRules::*enabled;
};

inline constexpr NamedRule kOwnRules[] = {
    {"wake-without-local-queue", &admission::OwnRules::wake_without_local_queue},
    {"victims-for-pods", &admission::OwnRules::victims_for_pods},
    {"count-pods-on-nodes", &admission::OwnRules::count_pods_on_nodes},
    {"quota-until-victims-stop", &admission::OwnRules::quota_until_victims_stop},
    {"wake-the-tree-left", &admission::OwnRules::wake_the_tree_left},
    {"wake-the-flavor", &admission::OwnRules::wake_the_flavor},
    {"hold-until-stopped", &admission::OwnRules::hold_until_stopped},
    {"hear-late-answers", &admission::OwnRules::hear_late_answers},
    {"park-heads-not-tried", &admission::OwnRules::park_heads_not_tried},
    {"preemptor-keeps-what-it-freed", &admission::OwnRules::preemptor_keeps_what_it_freed},
    {"no-preemption-in-return", &admission::OwnRules::no_preemption_in_return},
};
static_assert(std::size(kOwnRules) == sizeof(admission::OwnRules), "a rule without a name");

// Kueue's way in everything.
inline admission::OwnRules NoOwnRules() {
  admission::OwnRules rules;
  for (const NamedRule& rule : kOwnRules) rules.*rule.enabled = false;
  return rules;
}

// `names`: separated by commas; the others are off.
inline std::optional<admission::OwnRules> OwnRulesOf(const std::string& names) {
  admission::OwnRules rules = NoOwnRules();
  for (std::size_t begin = 0; begin <= names.size();) {
    const std::size_t end = std::min(names.find(',', begin), names.size());
    const std::string_view name = std::string_view(names).substr(begin, end - begin);
    bool known = false;
    for (const NamedRule& rule : kOwnRules) {
      if (rule.name != name) continue;
      rules.*rule.enabled = known = true;
    }
    if (!known) return std::nullopt;
    begin = end + 1;
  }
  return rules;
}

}  // namespace berth::golden
