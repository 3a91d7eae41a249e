// admission/topology/balanced_placement.h — preferred placement that spreads pods evenly (gate
// TASBalancedPlacement, off by default).
//
// For each domain one level above the preferred level: finds the fewest domains below it that take
// all pods, such that each gets at least `threshold` slices, with the largest possible threshold.
// Domains with less room than the threshold are left out. Where no threshold works, the ordinary
// search decides.
//
// Cost: walks whole subtrees; not for hot paths.
// Threads: one. Errors: none; nullopt: there is no balanced placement.
// Source: Kueue KEP-2724 (balanced placement), pkg/cache/scheduler/tas_balanced_placement.go.
#pragma once

#include <optional>

#include "admission/topology/placement_search.h"

namespace berth::admission {

struct BalancedPlacement {
  std::int32_t level = 0;
  PickedDomains domains;     // each with its pods
  CountOverrides overrides;  // counts of the domains below
};

std::optional<BalancedPlacement> FindBalanced(CountView& view, const ResolvedRequest& request,
                                              std::int32_t count, std::int32_t leaders);

}  // namespace berth::admission
