#include "admission/policies/kept_places.h"

#include <algorithm>

#include "admission/cycle/entry_nodes.h"
#include "admission/flavors/flavor_assigner.h"
#include "admission/quota/quota_room.h"

namespace berth::admission {
namespace {

// The workloads of one queue that a refresh tries: those that can never fit are passed over.
constexpr int kMostTried = 8;
constexpr Duration kStaleAfter = std::chrono::seconds(1);

}  // namespace

void KeptPlaces::SetRule(ClusterQueueId queue, const api::ReserveAfter& after, int count) {
  const bool off = after.rule == api::ReserveAfter::Rule::kOff;
  if (off) {
    rules_.erase(queue);
  } else {
    rules_[queue] = {after, count};
  }
  context_.queues.places().ListAges(queue, !off);
  version_ = -1;
}

const KeptPlace* KeptPlaces::Of(WorkloadId workload) const {
  const auto found =
      std::find_if(places_.begin(), places_.end(),
                   [workload](const KeptPlace& place) { return place.workload == workload; });
  return found == places_.end() ? nullptr : &*found;
}

bool KeptPlaces::InSameTree(ClusterQueueId a, ClusterQueueId b) const {
  const QuotaTree& tree = context_.state.tree();
  return tree.Root(context_.state.queue(a).node) == tree.Root(context_.state.queue(b).node);
}

void KeptPlaces::Refresh(WallTime now) {
  if (rules_.empty() && places_.empty() && standings_.empty()) return;
  const std::int64_t version = context_.state.reservations().version();
  const std::int64_t changes = context_.state.changes().count();
  const std::uint64_t waiting = context_.queues.places().version();
  if (version == version_ && changes == changes_ && waiting == waiting_ &&
      now - now_ < kStaleAfter) {
    return;
  }
  version_ = version;
  changes_ = changes;
  now_ = now;
  const std::vector<KeptPlace> before = std::move(places_);
  places_.clear();
  standings_.clear();
  ++computed_;
  for (const auto& [queue, rule] : rules_) Keep(queue, rule);
  for (const KeptPlace& place : before) {
    if (!Has(place.workload)) context_.queues.places().SetKept(place.workload, false);
  }
  for (const KeptPlace& place : places_) context_.queues.places().SetKept(place.workload, true);
  waiting_ = context_.queues.places().version();
}

void KeptPlaces::Keep(ClusterQueueId queue, const Rule& rule) {
  if (!Usable(context_.state, queue)) return;
  const Duration after = rule.after.rule == api::ReserveAfter::Rule::kTime
                             ? rule.after.time
                             : context_.waits.ReserveAfter(queue);
  Standing& standing = standings_.emplace_back(Standing{queue, after});
  int tried = 0;
  for (const auto& [queued_at, workload] : context_.queues.places().ByAge(queue)) {
    if (now_ - queued_at < after || standing.kept == rule.count || tried == kMostTried) return;
    if (!MayHavePlace(workload, queue)) continue;
    ++tried;
    auto place = PlaceFor(workload, queue);
    if (!place) continue;
    place->after = after;
    places_.push_back(*std::move(place));
    ++standing.kept;
  }
}

bool KeptPlaces::MayHavePlace(WorkloadId workload, ClusterQueueId queue) const {
  const queue::WorkloadInfo& info = context_.records.at(workload).info;
  return !info.failed_check && context_.queues.NamespacePasses(queue::Head{workload, queue}) &&
         !context_.queues.places().IsInBackoff(workload);
}

WallTime KeptPlaces::EndOf(const Reservation& held) const {
  const std::int64_t seconds = context_.records.at(held.workload).info.run_seconds;
  const WallTime end = held.reserved_at + std::chrono::seconds(seconds);
  if (!held.admitted) return now_ + std::chrono::seconds(seconds);
  return end > now_ ? end : now_ + (now_ - held.reserved_at) / 2;
}

std::vector<KeptPlaces::End> KeptPlaces::EndsOfTree(ClusterQueueId queue) const {
  std::vector<End> ends;
  const auto tree = TreeOf(context_.state, queue);
  const auto queues = tree ? QueuesOf(context_.state, *tree) : std::vector{queue};
  for (const ClusterQueueId each : queues) {
    for (const ListedReservation& listed : context_.state.reservations().Of(each)) {
      ends.push_back({EndOf(*listed.reservation), listed.reservation, nullptr});
    }
  }
  for (const KeptPlace& place : places_) {
    if (InSameTree(place.queue, queue)) ends.push_back({place.until, nullptr, &place});
  }
  std::sort(ends.begin(), ends.end(), [this](const End& a, const End& b) {
    if (a.at != b.at) return a.at < b.at;
    const auto number = [](const End& end) {
      return end.reservation == nullptr ? end.place->workload : end.reservation->workload;
    };
    return number(a) < number(b);
  });
  return ends;
}

void KeptPlaces::TakeOut(const End& end) {
  ClusterState& state = context_.state;
  if (end.reservation != nullptr) return state.TakeOut(*end.reservation);
  state.tree().RemoveUsage(state.queue(end.place->queue).node, end.place->usage);
  state.placer().Free(end.place->placed);
}

// Whether the workload fits in the state as it is; then `place` has its usage and its nodes.
bool KeptPlaces::FitsNow(WorkloadId workload, ClusterQueueId queue, KeptPlace& place) {
  const queue::WorkloadInfo& info = context_.records.at(workload).info;
  Decision decision;
  decision.workload = workload;
  decision.object = info.object;
  decision.cluster_queue = queue;
  const bool fits =
      FitsWithoutPreemption({context_.state, context_.gates, context_.fair_sharing, 0,
                             context_.gates.topology_aware_scheduling, context_.ignore_undeclared},
                            info, queue, decision.assignment);
  if (!fits) return false;
  HeadInput input;
  input.head = {workload, queue};
  input.workload = &info;
  CycleEntry entry{input, decision, {}, {}};
  NotePlaced(context_.state, context_.gates, entry);
  place.usage = decision.assignment.usage;
  place.placed = std::move(entry.placed);
  return true;
}

std::optional<KeptPlace> KeptPlaces::PlaceFor(WorkloadId workload, ClusterQueueId queue) {
  const queue::WorkloadInfo& info = context_.records.at(workload).info;
  KeptPlace place{.workload = workload,
                  .queue = queue,
                  .object = info.object,
                  .priority = info.priority,
                  .at = now_};
  const std::vector<End> ends = EndsOfTree(queue);
  ClusterState& state = context_.state;
  const ClusterState::WhatIf what_if = state.Begin();
  for (const KeptPlace& earlier : places_) {
    if (!InSameTree(earlier.queue, queue)) continue;
    state.tree().AddUsage(state.queue(earlier.queue).node, earlier.usage);
    state.placer().Use(earlier.placed);
  }
  // The smallest number of ends with which the workload fits: it lies in (none, all].
  std::size_t none = 0;
  std::size_t all = ends.size();
  bool fits = FitsNow(workload, queue, place);
  if (fits) {
    all = 0;
  } else {
    const ClusterState::WhatIf everything = state.Begin();
    for (const End& end : ends) TakeOut(end);
    fits = FitsNow(workload, queue, place);
    state.RollBack(everything);
  }
  while (fits && none + 1 < all) {
    const std::size_t middle = none + (all - none) / 2;
    const ClusterState::WhatIf half = state.Begin();
    for (std::size_t i = none; i < middle; ++i) TakeOut(ends[i]);
    if (FitsNow(workload, queue, place)) {
      state.RollBack(half);
      all = middle;
    } else {
      none = middle;
    }
  }
  state.RollBack(what_if);
  if (!fits) return std::nullopt;
  if (all > 0) place.at = std::max(place.at, ends[all - 1].at);
  place.until = place.at + std::chrono::seconds(info.run_seconds);
  FillEnded(ends, all, place);
  return place;
}

// Counts in what ends at the same instant, too.
void KeptPlaces::FillEnded(const std::vector<End>& ends, std::size_t count,
                           KeptPlace& place) const {
  while (count < ends.size() && ends[count].at <= place.at) ++count;
  std::map<NodeId, Usage> sums;
  for (std::size_t i = 0; i < count; ++i) {
    const Reservation* held = ends[i].reservation;
    if (held == nullptr) continue;
    Usage& sum = sums[context_.state.queue(held->cluster_queue).node];
    for (const FlavorResourceAmount& item : held->usage) {
      AddTo(sum, item.flavor_resource, item.amount);
    }
    place.left.insert(place.left.end(), held->placed.begin(), held->placed.end());
  }
  place.ended.assign(sums.begin(), sums.end());
}

const KeptPlace* KeptPlaces::DelayedBy(const CycleEntry& entry) const {
  if (places_.empty() || entry.decision.second_pass || entry.input.plan != nullptr) return nullptr;
  const queue::WorkloadInfo& info = *entry.input.workload;
  const WallTime end = now_ + std::chrono::seconds(info.run_seconds);
  ClusterState& state = context_.state;
  const NodeId leaf = state.queue(entry.decision.cluster_queue).node;
  for (const KeptPlace& place : places_) {
    if (place.workload == entry.decision.workload) return nullptr;  // later places are younger
    if (!InSameTree(place.queue, entry.decision.cluster_queue)) continue;
    if (info.priority > place.priority || end <= place.at) continue;
    const ClusterState::WhatIf what_if = state.Begin();
    for (const auto& [node, usage] : place.ended) state.tree().RemoveUsage(node, usage);
    if (!place.left.empty()) state.placer().Free(place.left);
    state.tree().AddUsage(state.queue(place.queue).node, place.usage);
    state.placer().Use(place.placed);
    const bool beside = Fits(state.tree(), leaf, entry.decision.assignment.usage) &&
                        state.placer().Fits(entry.placed, TopologyPlacer::Counting::kTogether);
    state.RollBack(what_if);
    if (!beside) return &place;
  }
  return nullptr;
}

}  // namespace berth::admission
