#include "admission/topology/balanced_placement.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace berth::admission {
namespace {

using Domains = std::vector<DomainId>;

struct Greedy {
  std::int32_t domains = 0;  // number of domains used
  DomainId last_with_leader = kNoDomain;
  DomainId last = kNoDomain;
};

class Balancer {
 public:
  Balancer(CountView& view, const ResolvedRequest& request, std::int32_t count,
           std::int32_t leaders)
      : view_(view),
        tree_(view.tree()),
        request_(request),
        slices_(count / request.slice_size),
        leaders_(leaders) {}

  std::optional<BalancedPlacement> Run();

 private:
  DomainCounts& at(DomainId id) { return numbers_.try_emplace(id, view_.at(id)).first->second; }
  PickedDomain Pick(DomainId id) { return {id, at(id)}; }
  Domains ChildrenOf(const Domains& domains) const;
  std::optional<Greedy> Evaluate(const Domains& domains);
  std::int32_t Threshold(const Greedy& greedy);
  void Clear(DomainId id);
  void ClearLeaders(DomainId id);
  void PruneOne(DomainId id, std::int32_t threshold);
  void Recount(DomainId id);
  void Prune(const Domains& domains, std::int32_t threshold);
  std::optional<Greedy> EvaluatePruned(const Domains& domains, std::int32_t threshold);
  double Entropy(DomainId id);
  Domains FewestThatFit(Domains domains, bool by_entropy);
  std::optional<PickedDomains> Place(const Domains& domains, std::int32_t threshold);

  CountView& view_;
  const TopologyTree& tree_;
  const ResolvedRequest& request_;
  std::int32_t slices_;
  std::int32_t leaders_;
  CountOverrides numbers_;  // the counts of the present candidates
};

Domains Balancer::ChildrenOf(const Domains& domains) const {
  Domains children;
  for (const DomainId id : domains) {
    for (const DomainId child : tree_.domain(id).children) {
      if (view_.present(child)) children.push_back(child);
    }
  }
  return children;
}

std::optional<Greedy> Balancer::Evaluate(const Domains& domains) {
  PickedDomains sorted;
  for (const DomainId id : domains) sorted.push_back(Pick(id));
  Greedy greedy;
  std::int32_t slices = slices_;
  std::int32_t leaders = leaders_;
  std::size_t next = 0;
  if (leaders > 0) {
    SortByLeaderCapacity(view_, sorted);
    for (; leaders > 0 && next < sorted.size() && sorted[next].counts.leaders > 0; ++next) {
      ++greedy.domains;
      greedy.last_with_leader = sorted[next].domain;
      leaders -= sorted[next].counts.leaders;
      slices -= sorted[next].counts.slices_with_leader;
    }
    if (leaders > 0) return std::nullopt;
  }
  PickedDomains rest(sorted.begin() + static_cast<std::ptrdiff_t>(next), sorted.end());
  SortByCapacity(view_, rest);
  for (const PickedDomain& picked : rest) {
    if (slices <= 0 || picked.counts.slices <= 0) break;
    ++greedy.domains;
    greedy.last = picked.domain;
    slices -= picked.counts.slices;
  }
  if (slices > 0 || greedy.domains == 0) return std::nullopt;
  return greedy;
}

std::int32_t Balancer::Threshold(const Greedy& greedy) {
  std::int32_t threshold = slices_ / greedy.domains;
  if (greedy.last_with_leader != kNoDomain) {
    threshold = std::min(threshold, at(greedy.last_with_leader).slices_with_leader);
  }
  if (greedy.last != kNoDomain) threshold = std::min(threshold, at(greedy.last).slices);
  return threshold;
}

void Balancer::Clear(DomainId id) {
  at(id) = {};
  for (const DomainId child : tree_.domain(id).children) Clear(child);
}

void Balancer::ClearLeaders(DomainId id) {
  DomainCounts& counts = at(id);
  counts.pods_with_leader = counts.slices_with_leader = counts.leaders = 0;
  for (const DomainId child : tree_.domain(id).children) ClearLeaders(child);
}

void Balancer::PruneOne(DomainId id, std::int32_t threshold) {
  const DomainCounts& counts = at(id);
  if (counts.slices < threshold) {
    Clear(id);
  } else if (leaders_ > 0 && counts.leaders > 0 && counts.slices_with_leader < threshold) {
    ClearLeaders(id);  // it may take workers
  }
}

// Recomputes the sums, without inner layers.
void Balancer::Recount(DomainId id) {
  const TopologyTree::Domain& domain = tree_.domain(id);
  DomainCounts& counts = at(id);
  if (domain.leaf < 0) {
    std::int32_t pods_cost = std::numeric_limits<std::int32_t>::max();
    std::int32_t slices_cost = pods_cost;
    bool any_leader = false;
    DomainCounts sum;
    for (const DomainId child_id : domain.children) {
      if (!view_.present(child_id)) continue;
      Recount(child_id);
      const DomainCounts& child = at(child_id);
      sum.pods += child.pods;
      sum.slices += child.slices;
      sum.leaders = std::max(sum.leaders, child.leaders);
      if (leaders_ > 0 && child.leaders == 0) continue;
      any_leader = true;
      pods_cost = std::min(pods_cost, child.pods - child.pods_with_leader);
      slices_cost = std::min(slices_cost, child.slices - child.slices_with_leader);
    }
    if (any_leader) {
      sum.pods_with_leader = sum.pods - pods_cost;
      sum.slices_with_leader = sum.slices - slices_cost;
    }
    counts = sum;
  }
  if (domain.level == request_.slice_level) {
    counts.slices = counts.pods / request_.slice_size;
    counts.slices_with_leader = counts.pods_with_leader / request_.slice_size;
  }
}

void Balancer::Prune(const Domains& domains, std::int32_t threshold) {
  for (const DomainId id : domains) {
    for (const DomainId child : tree_.domain(id).children) PruneOne(child, threshold);
  }
  for (const DomainId id : domains) {
    Recount(id);
    PruneOne(id, threshold);
  }
}

std::optional<Greedy> Balancer::EvaluatePruned(const Domains& domains, std::int32_t threshold) {
  numbers_.clear();
  Prune(domains, threshold);
  return Evaluate(domains);
}

// The entropy of the room over the children. Used in comparisons only; equal inputs give equal
// bits, because the sum follows the order of the children.
double Balancer::Entropy(DomainId id) {
  double total = 0;
  for (const DomainId child : tree_.domain(id).children) total += at(child).pods;
  double entropy = 0;
  for (const DomainId child : tree_.domain(id).children) {
    if (at(child).pods <= 0) continue;
    const double part = at(child).pods / total;
    entropy -= part * std::log2(part);
  }
  return entropy;
}

// Returns as few domains as the greedy search needs, with the least room in total. Dynamic
// programming: for each number of used domains, leaders and pods left, keeps the first selection.
Domains Balancer::FewestThatFit(Domains domains, bool by_entropy) {
  const std::optional<Greedy> greedy = Evaluate(domains);
  if (!greedy) return {};
  std::sort(domains.begin(), domains.end(), [&](DomainId a, DomainId b) {
    if (by_entropy) {
      if (at(a).leaders != at(b).leaders) return at(a).leaders > at(b).leaders;
      if (at(a).slices_with_leader != at(b).slices_with_leader) {
        return at(a).slices_with_leader > at(b).slices_with_leader;
      }
      const double left = Entropy(a);
      const double right = Entropy(b);
      if (left != right) return left > right;
    }
    return tree_.domain(a).rank < tree_.domain(b).rank;
  });
  using Ways = std::map<std::pair<std::int32_t, std::int64_t>, Domains>;  // leaders, pods left
  std::vector<Ways> ways(static_cast<std::size_t>(greedy->domains) + 1);
  ways[0][{leaders_, std::int64_t{slices_} * request_.slice_size}] = {};
  for (const DomainId id : domains) {
    const DomainCounts counts = at(id);
    for (std::size_t used = ways.size() - 1; used > 0; --used) {
      for (const auto& [left, way] : ways[used - 1]) {
        if (left.first <= 0 && left.second <= 0) continue;
        Domains longer = way;
        longer.push_back(id);
        if (left.first > 0 && counts.leaders > 0) {
          ways[used].try_emplace(
              {left.first - counts.leaders, left.second - counts.pods_with_leader}, longer);
        }
        if (counts.slices > 0) {
          ways[used].try_emplace({left.first, left.second - counts.pods}, longer);
        }
      }
    }
  }
  Domains best;
  for (const auto& [left, way] : ways.back()) {
    if (left.first == 0 && left.second <= 0) best = way;  // ascending: the last has the least room
  }
  return best;
}

std::optional<PickedDomains> Balancer::Place(const Domains& domains, std::int32_t threshold) {
  const Domains chosen = FewestThatFit(domains, false);
  const auto used = static_cast<std::int32_t>(chosen.size());
  if (chosen.empty() || slices_ < used * threshold) return std::nullopt;
  PickedDomains placed;
  for (const DomainId id : chosen) placed.push_back(Pick(id));
  SortByLeaderCapacity(view_, placed);
  std::int32_t extra = slices_ - used * threshold;
  std::int32_t leaders = leaders_;
  for (PickedDomain& picked : placed) {
    DomainCounts& counts = picked.counts;
    std::int32_t more = 0;
    if (leaders > 0) {
      more = std::min(counts.slices_with_leader - threshold, extra);
      counts.leaders = 1;
      --leaders;
    } else {
      if (extra > 0) more = std::min(counts.slices - threshold, extra);
      counts.leaders = 0;
    }
    counts.slices = counts.slices_with_leader = threshold + more;
    counts.pods = counts.slices * request_.slice_size;
    counts.pods_with_leader = counts.pods - counts.leaders;
    at(picked.domain) = counts;
    extra -= more;
  }
  if (extra > 0 || leaders > 0) return std::nullopt;
  return placed;
}

std::optional<BalancedPlacement> Balancer::Run() {
  std::vector<Domains> groups(1);
  for (DomainId id = 0; id < tree_.domain_count(); ++id) {
    if (!view_.present(id) || tree_.domain(id).level != std::max(request_.level - 1, 0)) continue;
    if (request_.level == 0) {
      groups[0].push_back(id);
    } else {
      groups.push_back({id});
    }
  }
  if (request_.level > 0) {
    groups.erase(groups.begin());
    std::sort(groups.begin(), groups.end(), [this](const Domains& a, const Domains& b) {
      return tree_.domain(a.front()).rank < tree_.domain(b.front()).rank;
    });
    for (Domains& group : groups) group = ChildrenOf(group);
  }
  std::int32_t best_threshold = 0;
  std::int32_t best_count = 0;
  Domains best;
  CountOverrides best_numbers;
  for (const Domains& group : groups) {
    numbers_.clear();
    const bool above_slices = request_.level < request_.slice_level;
    const auto greedy = Evaluate(above_slices ? ChildrenOf(group) : group);
    if (!greedy) continue;
    std::int32_t threshold = Threshold(*greedy);
    std::int32_t with_leader = threshold;
    if (leaders_ > 0 && greedy->last != kNoDomain) {
      with_leader = std::min(threshold, at(greedy->last).slices_with_leader);
    }
    if (threshold < best_threshold) continue;
    auto pruned = EvaluatePruned(group, threshold);
    if (!pruned && with_leader < threshold) {
      if (with_leader <= 0 || with_leader < best_threshold) continue;
      threshold = with_leader;
      pruned = EvaluatePruned(group, threshold);
    }
    if (!pruned) continue;
    if (threshold > best_threshold ||
        (threshold == best_threshold && pruned->domains < best_count)) {
      best_threshold = threshold;
      best_count = pruned->domains;
      best = group;
      best_numbers = numbers_;
    }
  }
  if (best_threshold <= 0) return std::nullopt;
  numbers_ = std::move(best_numbers);
  BalancedPlacement fit;
  fit.level = request_.level;
  if (request_.level < request_.slice_level) {
    const Domains chosen = FewestThatFit(best, true);
    if (chosen.empty()) return std::nullopt;
    best = ChildrenOf(chosen);
    ++fit.level;
  }
  auto placed = Place(best, best_threshold);
  if (!placed) return std::nullopt;
  fit.domains = *std::move(placed);
  fit.overrides = std::move(numbers_);
  return fit;
}

}  // namespace

std::optional<BalancedPlacement> FindBalanced(CountView& view, const ResolvedRequest& request,
                                              std::int32_t count, std::int32_t leaders) {
  return Balancer(view, request, count, leaders).Run();
}

}  // namespace berth::admission
