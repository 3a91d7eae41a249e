// admission/topology/placement_search.h — which domains the pods of one set go to.
//
//     CountView ─▶ level and domains that take all (FitLevel) ─▶ down, level by level (Descend)
//
// Best fit (required, preferred): the single domain with the least left over; else the fullest use
// of the largest domains, and the tightest for what remains. Least free capacity (unconstrained):
// the smallest domain that takes all; else from the smallest on. Below the level of the slices pods
// are dealt within the domains chosen above, so that slices stay together.
//
// The view's numbers are not changed; the search works on copies of the domains it touches.
//
// Threads: one. Errors: a text in Kueue's words: what fits, and why nodes are out of question.
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
  std::vector<PodsInDomain> leader;   // where the shape has one
  std::string failure;                // empty: found
};

enum class Balance : std::uint8_t { kOff, kOn };

// `view` is fresh, and of the shape that belongs to `request`.
FoundDomains FindPlaces(CountView& view, const ResolvedRequest& request, std::int32_t count,
                        Balance balance);

// What the parts of the search share. A domain on its way: numbers to start from, then what is
// taken of it.
struct PickedDomain {
  DomainId domain = kNoDomain;
  DomainCounts counts;
};
using PickedDomains = std::vector<PickedDomain>;
// Numbers of domains that stand in for those of the view (balanced placement prunes).
using CountOverrides = std::map<DomainId, DomainCounts>;

// In the order of ByCapacity without and with regard to leaders.
void SortByCapacity(const CountView& view, PickedDomains& domains);
void SortByLeaderCapacity(const CountView& view, PickedDomains& domains);

}  // namespace berth::admission
