// admission/topology/balanced_placement.h — preferred placement that spreads evenly (gate
// TASBalancedPlacement, off by default).
//
// Among the domains below each domain one level above the preferred one, the fewest that take all
// are looked for, and of these each gets at least `threshold` slices: the largest number for which
// that works. Domains with less room than the threshold are left out. Where no such threshold
// exists the usual search goes on.
//
// Cost: looks at whole subtrees; not for hot paths.
// Threads: one. Errors: nullopt: no balanced way.
// Source: Kueue KEP-2724 (balanced placement), pkg/cache/scheduler/tas_balanced_placement.go.
#pragma once

#include <optional>

#include "admission/topology/placement_search.h"

namespace berth::admission {

struct BalancedPlacement {
  std::int32_t level = 0;
  PickedDomains domains;     // each with the pods it gets
  CountOverrides overrides;  // numbers of the domains below
};

std::optional<BalancedPlacement> FindBalanced(CountView& view, const ResolvedRequest& request,
                                              std::int32_t count, std::int32_t leaders);

}  // namespace berth::admission
