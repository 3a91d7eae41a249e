#include "admission/topology/placement_search.h"

#include <algorithm>
#include <limits>

#include "admission/topology/balanced_placement.h"

namespace berth::admission {
namespace {

enum class Unit : std::uint8_t { kPods, kSlices };

class PlacementSearch {
 public:
  PlacementSearch(CountView& view, const ResolvedRequest& request, std::int32_t count)
      : view_(view),
        tree_(view.tree()),
        request_(request),
        count_(count),
        leaders_(view.shape().leader ? 1 : 0),
        best_fit_(view.shape().order == CountKey::Order::kMostFirst),
        prefers_nodes_(!view.shape().filter.preferred.empty()) {}

  FoundDomains Run(Balance balance);

 private:
  struct PickedLevel {
    std::int32_t level = 0;
    PickedDomains domains;
    std::string failure;
  };

  std::int32_t SliceCount() const { return count_ / request_.slice_size; }
  PickedDomain Pick(DomainId id) const { return {id, CountsOf(id)}; }
  DomainCounts CountsOf(DomainId id) const {
    const auto found = overrides_.find(id);
    return found == overrides_.end() ? view_.at(id) : found->second;
  }
  bool TakesAll(const DomainCounts& counts) const {
    return counts.slices_with_leader >= SliceCount() && counts.leaders >= leaders_;
  }

  PickedLevel PickLevel(std::int32_t level);
  using Place = std::vector<DomainId>::const_iterator;
  // The end of the domains from `from` on that are preferred as `from` is.
  Place EndOfTier(Place from, Place end) const;
  std::optional<DomainId> SmallestThatTakesAll(const CountView::Ordering& order) const;
  std::optional<DomainId> SmallestOfTier(Place begin, Place end) const;
  PickedLevel PickSeveral(std::int32_t level, const CountView::Ordering& order);
  PickedLevel PickSeveralWithLeader(std::int32_t level, const CountView::Ordering& order);
  std::string NotFit(std::int32_t level, std::int64_t fitting) const;
  std::string LayersNotFit(std::int32_t level) const;
  std::int64_t SlicesBelow(DomainId id, std::int32_t level, std::int32_t size) const;

  std::size_t BestFit(const PickedDomains& domains, std::size_t from, std::int32_t needed,
                      std::int32_t leaders, Unit unit) const;
  void PrioritizeLeader(PickedDomains& domains, std::int32_t count, std::int32_t leaders,
                        std::int32_t slice_size, Unit unit) const;
  PickedDomains Deal(PickedDomains domains, std::int32_t count, std::int32_t leaders,
                     std::int32_t slice_size, Unit unit) const;
  PickedDomains Children(const PickedDomains& domains) const;
  PickedDomains Descend(PickedDomains domains, std::int32_t level, bool greedy) const;
  std::vector<PodsInDomain> Collect(const PickedDomains& domains, bool leader) const;

  CountView& view_;
  const TopologyTree& tree_;
  const ResolvedRequest& request_;
  std::int32_t count_;
  std::int32_t leaders_;
  bool best_fit_;
  bool prefers_nodes_;
  CountOverrides overrides_;
};

std::int64_t PlacementSearch::SlicesBelow(DomainId id, std::int32_t level,
                                          std::int32_t size) const {
  const TopologyTree::Domain& domain = tree_.domain(id);
  if (!view_.present(id)) return 0;
  if (domain.level == level) return view_.at(id).pods / size;
  std::int64_t sum = 0;
  for (const DomainId child : domain.children) sum += SlicesBelow(child, level, size);
  return sum;
}

// If there are several layers: the number of slices of each layer that the best domain would take.
std::string PlacementSearch::LayersNotFit(std::int32_t level) const {
  std::string text = "topology \"" + tree_.name() + "\" doesn't allow to fit";
  DomainId best = kNoDomain;
  for (DomainId id = 0; id < tree_.domain_count(); ++id) {
    if (tree_.domain(id).level != level || !view_.present(id)) continue;
    const bool better = best == kNoDomain || view_.at(id).slices > view_.at(best).slices ||
                        (view_.at(id).slices == view_.at(best).slices &&
                         LeafKey(tree_.domain(id).values) < LeafKey(tree_.domain(best).values));
    if (better) best = id;
  }
  if (best == kNoDomain) return text;
  for (const auto& layer : request_.layers) {
    const std::optional<std::int32_t> at = tree_.LevelOf(layer.topology);
    if (!at) continue;
    text += "; " + std::to_string(SlicesBelow(best, *at, layer.size)) + "/" +
            std::to_string(count_ / layer.size) + " slice(s) fit on level " + layer.topology;
  }
  return text + view_.Exclusions();
}

std::string PlacementSearch::NotFit(std::int32_t level, std::int64_t fitting) const {
  if (!request_.layers.empty()) return LayersNotFit(level);
  const char* unit = request_.slice_size == 1 ? " pod(s)" : " slice(s)";
  std::string text = "topology \"" + tree_.name() + '"';
  if (fitting == 0) {
    text += " doesn't allow to fit any of " + std::to_string(SliceCount()) + unit;
  } else {
    text += " allows to fit only " + std::to_string(fitting) + " out of " +
            std::to_string(SliceCount()) + unit;
  }
  return text + view_.Exclusions();
}

PlacementSearch::Place PlacementSearch::EndOfTier(Place from, Place end) const {
  if (!prefers_nodes_ || from == end) return end;
  return std::partition_point(from, end, [this, preference = view_.preference(*from)](DomainId id) {
    return view_.preference(id) == preference;
  });
}

// The domains are sorted: those with a leader first, then by preference. As in Kueue, a required
// level and order kLeastFirst try each tier of preference; else the most preferred tier decides.
std::optional<DomainId> PlacementSearch::SmallestThatTakesAll(
    const CountView::Ordering& order) const {
  const Place begin = order.domains.begin();
  const Place led_end = leaders_ == 0
                            ? order.domains.end()
                            : std::partition_point(begin, order.domains.end(), [this](DomainId id) {
                                return view_.at(id).leaders >= leaders_;
                              });
  for (Place tier = begin; tier != led_end;) {
    const Place end = EndOfTier(tier, led_end);
    if (const std::optional<DomainId> found = SmallestOfTier(tier, end)) return found;
    if (best_fit_ && !request_.required) break;
    tier = end;
  }
  return std::nullopt;
}

// The domains that take all pods are adjacent: at the front in order kMostFirst, else at the end.
std::optional<DomainId> PlacementSearch::SmallestOfTier(Place begin, Place tier_end) const {
  if (!best_fit_) {
    const auto first = std::partition_point(begin, tier_end, [this](DomainId id) {
      return view_.at(id).slices_with_leader < SliceCount();
    });
    if (first == tier_end) return std::nullopt;
    return *first;
  }
  const auto end = std::partition_point(begin, tier_end, [this](DomainId id) {
    return view_.at(id).slices_with_leader >= SliceCount();
  });
  if (end == begin) return std::nullopt;
  const std::int32_t tightest = view_.at(*(end - 1)).slices_with_leader;
  return *std::partition_point(begin, end, [this, tightest](DomainId id) {
    return view_.at(id).slices_with_leader > tightest;
  });
}

PlacementSearch::PickedLevel PlacementSearch::PickLevel(std::int32_t level) {
  const CountView::Ordering& order = view_.ByCapacity(level);
  if (order.domains.empty()) {
    return {level,
            {},
            "no topology domains at level: " + tree_.levels()[static_cast<std::size_t>(level)]};
  }
  if (const std::optional<DomainId> one = SmallestThatTakesAll(order)) {
    return {level, {Pick(*one)}, ""};
  }
  if (request_.required) {
    const DomainCounts& most = view_.at(best_fit_ ? order.domains.front() : order.domains.back());
    return {level, {}, NotFit(level, best_fit_ ? most.slices : most.pods)};
  }
  if (level > 0 && !request_.unconstrained) return PickLevel(level - 1);
  return leaders_ > 0 ? PickSeveralWithLeader(level, order) : PickSeveral(level, order);
}

// Largest first with a tight last domain; or smallest first.
PlacementSearch::PickedLevel PlacementSearch::PickSeveral(std::int32_t level,
                                                          const CountView::Ordering& order) {
  std::int64_t remaining = SliceCount();
  if (order.slices < remaining) return {level, {}, NotFit(level, order.slices)};
  PickedLevel picked{level, {}, ""};
  auto next = order.domains.begin();
  if (!best_fit_ && !prefers_nodes_) {
    next = std::partition_point(next, order.domains.end(),
                                [this](DomainId id) { return view_.at(id).slices == 0; });
  }
  for (; remaining > 0 && next != order.domains.end(); ++next) {
    DomainId id = *next;
    if (view_.at(id).slices == 0) continue;
    if (best_fit_ && view_.at(id).slices >= remaining) {
      const auto enough = [this, remaining](DomainId other) {
        return view_.at(other).slices >= remaining;
      };
      const auto end = std::partition_point(next, EndOfTier(next, order.domains.end()), enough);
      const std::int32_t tightest = view_.at(*(end - 1)).slices;
      id = *std::partition_point(next, end, [this, tightest](DomainId other) {
        return view_.at(other).slices > tightest;
      });
    }
    picked.domains.push_back(Pick(id));
    remaining -= view_.at(id).slices;
  }
  return picked;
}

PlacementSearch::PickedLevel PlacementSearch::PickSeveralWithLeader(
    std::int32_t level, const CountView::Ordering& order) {
  PickedDomains sorted;
  sorted.reserve(order.domains.size());
  for (const DomainId id : order.domains) sorted.push_back(Pick(id));
  PrioritizeLeader(sorted, count_, leaders_, request_.slice_size, Unit::kSlices);
  PickedLevel picked{level, {}, ""};
  std::int64_t remaining = SliceCount();
  std::int32_t leaders = leaders_;
  std::size_t next = 0;
  for (; leaders > 0 && next < sorted.size() && sorted[next].counts.leaders > 0; ++next) {
    std::size_t taken = next;
    if (best_fit_ && sorted[next].counts.slices_with_leader >= remaining) {
      taken = BestFit(sorted, next, static_cast<std::int32_t>(remaining), leaders, Unit::kSlices);
    }
    picked.domains.push_back(sorted[taken]);
    leaders -= sorted[taken].counts.leaders;
    remaining -= sorted[taken].counts.slices_with_leader;
  }
  if (leaders > 0) return {level, {}, NotFit(level, leaders_ - leaders)};
  PickedDomains rest(sorted.begin() + static_cast<std::ptrdiff_t>(next), sorted.end());
  SortByCapacity(view_, rest);
  for (std::size_t i = 0; remaining > 0 && i < rest.size(); ++i) {
    std::size_t taken = i;
    if (best_fit_ && rest[i].counts.slices >= remaining) {
      taken = BestFit(rest, i, static_cast<std::int32_t>(remaining), 0, Unit::kSlices);
    }
    picked.domains.push_back(rest[taken]);
    remaining -= rest[taken].counts.slices;
  }
  if (remaining > 0) return {level, {}, NotFit(level, SliceCount() - remaining)};
  return picked;
}

// Among the domains from `from` on that are preferred alike: the first with the least sufficient
// room; `from` if none is sufficient.
std::size_t PlacementSearch::BestFit(const PickedDomains& domains, std::size_t from,
                                     std::int32_t needed, std::int32_t leaders, Unit unit) const {
  std::size_t best = from;
  std::int64_t best_room = std::numeric_limits<std::int64_t>::max();
  for (std::size_t i = from; i < domains.size(); ++i) {
    const DomainCounts& counts = domains[i].counts;
    if (view_.preference(domains[i].domain) != view_.preference(domains[from].domain)) break;
    if (counts.leaders < leaders) continue;
    std::int32_t room = unit == Unit::kSlices ? counts.slices : counts.pods;
    if (leaders > 0) {
      room = unit == Unit::kSlices ? counts.slices_with_leader : counts.pods_with_leader;
    }
    if (room < needed || room >= best_room) continue;
    best = i;
    best_room = room;
  }
  return best;
}

// Moves a domain to the front where the leader leaves enough room for all pods.
void PlacementSearch::PrioritizeLeader(PickedDomains& domains, std::int32_t count,
                                       std::int32_t leaders, std::int32_t slice_size,
                                       Unit unit) const {
  if (leaders == 0 || domains.size() < 2) return;
  const auto room = [unit](const DomainCounts& counts) {
    return unit == Unit::kSlices ? counts.slices : counts.pods;
  };
  const std::int32_t needed = unit == Unit::kSlices ? count / slice_size : count;
  std::int64_t available = 0;
  for (const PickedDomain& picked : domains) available += room(picked.counts);
  for (std::size_t i = 0; i < domains.size(); ++i) {
    const DomainCounts& counts = domains[i].counts;
    const std::int32_t led =
        unit == Unit::kSlices ? counts.slices_with_leader : counts.pods_with_leader;
    if (counts.leaders < leaders || available - (room(counts) - led) < needed) continue;
    std::rotate(domains.begin(), domains.begin() + static_cast<std::ptrdiff_t>(i),
                domains.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    return;
  }
}

// Distributes `count` pods and the leaders to `domains` in order; unused domains are dropped.
PickedDomains PlacementSearch::Deal(PickedDomains domains, std::int32_t count, std::int32_t leaders,
                                    std::int32_t slice_size, Unit unit) const {
  PrioritizeLeader(domains, count, leaders, slice_size, unit);
  if (unit == Unit::kPods) slice_size = 1;
  const auto room = [unit](DomainCounts& counts) -> std::int32_t& {
    return unit == Unit::kSlices ? counts.slices : counts.pods;
  };
  const auto led_room = [unit](DomainCounts& counts) -> std::int32_t& {
    return unit == Unit::kSlices ? counts.slices_with_leader : counts.pods_with_leader;
  };
  PickedDomains dealt;
  std::int32_t remaining = unit == Unit::kSlices ? count / slice_size : count;
  for (std::size_t i = 0; i < domains.size(); ++i) {
    const bool with_leader = leaders > 0;
    std::size_t taken = i;
    const std::int32_t offered =
        with_leader ? led_room(domains[i].counts) : room(domains[i].counts);
    if (best_fit_ && offered >= remaining && domains[i].counts.leaders >= leaders) {
      taken = BestFit(domains, i, remaining, leaders, unit);
    }
    DomainCounts& counts = domains[taken].counts;
    const bool last =
        (with_leader ? led_room(counts) : room(counts)) >= remaining && counts.leaders >= leaders;
    const std::int32_t given =
        last ? remaining : std::min(with_leader ? led_room(counts) : room(counts), remaining);
    counts.leaders = with_leader ? std::min(counts.leaders, leaders) : 0;
    room(counts) = given;
    led_room(counts) = std::min(led_room(counts), given);
    counts.pods = given * slice_size;
    leaders -= counts.leaders;
    remaining -= given;
    dealt.push_back(domains[taken]);
    if (last) return dealt;
  }
  return dealt;
}

PickedDomains PlacementSearch::Children(const PickedDomains& domains) const {
  PickedDomains children;
  for (const PickedDomain& picked : domains) {
    for (const DomainId id : tree_.domain(picked.domain).children) {
      if (view_.present(id)) children.push_back(Pick(id));
    }
  }
  return children;
}

PickedDomains PlacementSearch::Descend(PickedDomains domains, std::int32_t level,
                                       bool greedy) const {
  const std::int32_t lowest = tree_.level_count() - 1;
  // Above the slice level the parent of a slice does not matter.
  for (; greedy && level < std::min(lowest, request_.slice_level); ++level) {
    PickedDomains children = Children(domains);
    SortByCapacity(view_, children);
    domains = Deal(std::move(children), count_, leaders_, request_.slice_size, Unit::kSlices);
  }
  for (; level < lowest; ++level) {
    std::int32_t size = request_.slice_size;
    if (level >= request_.slice_level) {
      const auto below = static_cast<std::size_t>(level) + 1;
      const bool layered = below < request_.inner_sizes.size() && request_.inner_sizes[below] > 0;
      size = layered ? request_.inner_sizes[below] : 1;
    }
    PickedDomains next;
    for (const PickedDomain& parent : domains) {
      PickedDomains children = Children({parent});
      SortByCapacity(view_, children);
      if (size > 1) {
        for (PickedDomain& child : children) {
          child.counts.slices = child.counts.pods / size;
          child.counts.slices_with_leader = child.counts.pods_with_leader / size;
        }
      }
      PickedDomains dealt = Deal(std::move(children), parent.counts.pods, parent.counts.leaders,
                                 size, size > 1 ? Unit::kSlices : Unit::kPods);
      next.insert(next.end(), dealt.begin(), dealt.end());
    }
    domains = std::move(next);
  }
  return domains;
}

std::vector<PodsInDomain> PlacementSearch::Collect(const PickedDomains& domains,
                                                   bool leader) const {
  std::vector<PodsInDomain> places;
  for (const PickedDomain& picked : domains) {
    const std::int32_t count = leader ? picked.counts.leaders : picked.counts.pods;
    if (count > 0) places.push_back({picked.domain, count});
  }
  std::sort(places.begin(), places.end(), [this](const auto& a, const auto& b) {
    return tree_.domain(a.domain).rank < tree_.domain(b.domain).rank;
  });
  return places;
}

FoundDomains PlacementSearch::Run(Balance balance) {
  PickedLevel picked;
  bool balanced = false;
  if (balance == Balance::kOn && !request_.required && !request_.unconstrained) {
    if (auto found = FindBalanced(view_, request_, count_, leaders_)) {
      picked = {found->level, std::move(found->domains), ""};
      overrides_ = std::move(found->overrides);
      balanced = true;
    }
  }
  if (!balanced) picked = PickLevel(request_.level);
  if (!picked.failure.empty()) return {{}, {}, picked.failure};
  PickedDomains domains =
      Deal(std::move(picked.domains), count_, leaders_, request_.slice_size, Unit::kSlices);
  domains = Descend(std::move(domains), picked.level, !balanced);
  FoundDomains places;
  places.workers = Collect(domains, false);
  if (leaders_ > 0) places.leader = Collect(domains, true);
  return places;
}

// The order of domains with equal counts: fewest free GPUs first, then by values.
std::pair<std::int64_t, std::int64_t> LastRank(const CountView& view, DomainId id) {
  return {view.free_gpus(id), view.tree().domain(id).rank};
}

}  // namespace

void SortByCapacity(const CountView& view, PickedDomains& domains) {
  const bool most_first = view.shape().order == CountKey::Order::kMostFirst;
  std::sort(domains.begin(), domains.end(), [&](const PickedDomain& a, const PickedDomain& b) {
    const std::int64_t preference = view.preference(a.domain);
    if (preference != view.preference(b.domain)) return preference > view.preference(b.domain);
    if (a.counts.slices != b.counts.slices) {
      return (a.counts.slices > b.counts.slices) == most_first;
    }
    if (a.counts.pods != b.counts.pods) return a.counts.pods < b.counts.pods;
    return LastRank(view, a.domain) < LastRank(view, b.domain);
  });
}

void SortByLeaderCapacity(const CountView& view, PickedDomains& domains) {
  const bool most_first = view.shape().order == CountKey::Order::kMostFirst;
  std::sort(domains.begin(), domains.end(), [&](const PickedDomain& a, const PickedDomain& b) {
    if (a.counts.leaders != b.counts.leaders) return a.counts.leaders > b.counts.leaders;
    const std::int64_t preference = view.preference(a.domain);
    if (preference != view.preference(b.domain)) return preference > view.preference(b.domain);
    if (a.counts.slices_with_leader != b.counts.slices_with_leader) {
      return (a.counts.slices_with_leader > b.counts.slices_with_leader) == most_first;
    }
    if (a.counts.pods_with_leader != b.counts.pods_with_leader) {
      return a.counts.pods_with_leader < b.counts.pods_with_leader;
    }
    return LastRank(view, a.domain) < LastRank(view, b.domain);
  });
}

FoundDomains FindPlaces(CountView& view, const ResolvedRequest& request, std::int32_t count,
                        Balance balance) {
  return PlacementSearch(view, request, count).Run(balance);
}

}  // namespace berth::admission
