// admission/topology/placement_search.h — chooses the domains for the pods of one pod set.
//
//     CountView ─▶ level and domains that take all (FitLevel) ─▶ down, level by level (Descend)
//
// Best fit (required, preferred): the single domain with the least room left over; else the largest
// domains, filled, and the tightest for the remainder. Least free capacity (unconstrained): the
// smallest domain that takes all pods; else domains from the smallest on. Below the slice level
// pods are distributed within the chosen domains, so that slices stay in one domain. Where the pods
// prefer nodes, the sum of the preferences of a domain's nodes precedes its room in every order,
// and the best fit is the best of the domains with the highest sum.
//
// The view's counts do not change; the search copies the domains that it touches.
//
// Threads: one. Errors: a text in Kueue's words: the pods that fit, and why nodes are excluded.
// Source: Kueue KEP-2724, pkg/cache/scheduler/tas_flavor_snapshot.go (phase 2).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "admission/topology/count_view.h"
#include "admission/topology/topology_request.h"

namespace berth::admission {

struct PodsInDomain {
  DomainId domain = kNoDomain;  // a leaf
  std::int32_t count = 0;
  friend bool operator==(const PodsInDomain&, const PodsInDomain&) = default;
};

struct FoundDomains {
  std::vector<PodsInDomain> workers;  // by values of the domains
  std::vector<PodsInDomain> leader;   // where the request has a leader
  std::string failure;                // empty: domains were found
};

enum class Balance : std::uint8_t { kOff, kOn };

// Precondition: `view` is refreshed, and its shape is that of `request`.
FoundDomains FindPlaces(CountView& view, const ResolvedRequest& request, std::int32_t count,
                        Balance balance);

// Types that the parts of the search share. A picked domain: first its counts, later the pods
// placed there.
struct PickedDomain {
  DomainId domain = kNoDomain;
  DomainCounts counts;
};
using PickedDomains = std::vector<PickedDomain>;
// Counts that replace those of the view (balanced placement prunes domains).
using CountOverrides = std::map<DomainId, DomainCounts>;

// Sorts by the order of ByCapacity, without and with leaders.
void SortByCapacity(const CountView& view, PickedDomains& domains);
void SortByLeaderCapacity(const CountView& view, PickedDomains& domains);

}  // namespace berth::admission
