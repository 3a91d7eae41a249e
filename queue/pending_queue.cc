#include "queue/pending_queue.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/assert.h"

namespace berth::queue {

std::int32_t PendingQueue::ShapeFor(std::uint64_t hash) {
  const auto [known, added] = shape_numbers_.try_emplace(hash, 0);
  if (!added) return known->second;
  if (free_shapes_.empty()) {
    free_shapes_.push_back(static_cast<std::int32_t>(shapes_.size()));
    shapes_.emplace_back();
  }
  known->second = free_shapes_.back();
  free_shapes_.pop_back();
  shapes_[static_cast<std::size_t>(known->second)] = ShapeGroups{hash, {}, false};
  return known->second;
}

void PendingQueue::DropShapeIfUnused(std::int32_t index) {
  const ShapeGroups& shape = shapes_[static_cast<std::size_t>(index)];
  if (!shape.groups.empty() || shape.marked) return;
  shape_numbers_.erase(shape.hash);
  free_shapes_.push_back(index);
}

std::int32_t PendingQueue::GroupFor(const PendingNode& node) {
  const std::int32_t number = ShapeFor(node.shape);
  ShapeGroups& shape = shapes_[static_cast<std::size_t>(number)];
  for (const std::int32_t index : shape.groups) {
    const Group& known = group(index);
    if (known.namespace_id != node.namespace_id) continue;
    if (by_.by_usage && known.local_queue != node.local_queue) continue;
    if (!by_.by_user || known.user == node.user) return index;
  }
  std::int32_t index = 0;
  if (free_groups_.empty()) {
    index = static_cast<std::int32_t>(groups_.size());
    groups_.emplace_back();
  } else {
    index = free_groups_.back();
    free_groups_.pop_back();
    const bool listed = group(index).listed_as_parked;
    group(index) = Group{};
    group(index).listed_as_parked = listed;
  }
  group(index).shape = number;
  group(index).namespace_id = node.namespace_id;
  group(index).local_queue = by_.by_usage ? node.local_queue : -1;
  group(index).user = by_.by_user ? node.user : -1;
  shape.groups.push_back(index);
  return index;
}

void PendingQueue::DropIfEmpty(std::int32_t index) {
  const Group& empty = group(index);
  if (empty.bags[0].count + empty.bags[1].count != 0) return;
  ShapeGroups& shape = shapes_[static_cast<std::size_t>(empty.shape)];
  shape.groups.erase(std::find(shape.groups.begin(), shape.groups.end(), index));
  DropShapeIfUnused(empty.shape);
  group(index).newcomers = {};
  free_groups_.push_back(index);
}

bool PendingQueue::IsNewcomer(NodeIndex node, std::int32_t index) const {
  const PendingNode& known = at(node);
  return known.cluster_queue == number_ && known.pending_in == PendingIn::kGroup &&
         known.index == index && !known.named;
}

// Bounds the list where no workload is ever parked in bulk: it never grows beyond the group.
void PendingQueue::AddNewcomer(NodeIndex node, std::int32_t index) {
  constexpr std::size_t kSlack = 16;
  if (listing_ != Listing::kNew || at(node).named) return;
  const Group& joined = group(index);
  std::vector<NodeIndex>& list = group(index).newcomers;
  list.push_back(node);
  const auto members = static_cast<std::size_t>(joined.bags[0].count + joined.bags[1].count);
  if (list.size() <= 2 * members + kSlack) return;
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
  std::erase_if(list, [&](NodeIndex other) { return !IsNewcomer(other, index); });
}

void PendingQueue::NameNewcomers(std::int32_t index, std::vector<NodeIndex>& list) {
  std::vector<NodeIndex> kept;  // parked already, one by one
  for (const NodeIndex node : std::exchange(group(index).newcomers, {})) {
    if (!IsNewcomer(node, index)) continue;
    if (at(node).bag != group(index).active_bag) {
      kept.push_back(node);
      continue;
    }
    at(node).named = true;
    list.push_back(node);
  }
  group(index).newcomers = std::move(kept);
}

bool PendingQueue::EntryBefore(const OrderEntry& a, const OrderEntry& b) const {
  if (by_.by_usage) {
    const double left = UsageOf(groups_[static_cast<std::size_t>(a.group)].local_queue);
    const double right = UsageOf(groups_[static_cast<std::size_t>(b.group)].local_queue);
    if (left != right) return left < right;
  }
  if (a.priority != b.priority) return a.priority > b.priority;
  if (by_.by_user) {
    const double left = ShareOf(a.first);
    const double right = ShareOf(b.first);
    if (left != right) return left < right;
  }
  if (a.place != b.place) return a.place < b.place;
  return *at(a.first).key.uid < *at(b.first).key.uid;
}

PendingQueue::OrderEntry PendingQueue::EntryOf(std::int32_t index) const {
  const NodeIndex first = groups_[static_cast<std::size_t>(index)].active().heap;
  return {at(first).key.priority, at(first).key.place, first, index};
}

double PendingQueue::UsageOf(std::int32_t local_queue) const {
  const auto slot = static_cast<std::size_t>(local_queue);
  return slot < usages_.size() ? usages_[slot] : 0.0;
}

double PendingQueue::ShareOf(NodeIndex node) const {
  if (!by_.by_user) return 0;
  if (at(node).kept) return -1;
  const auto found = user_shares_.find(at(node).user);
  return found == user_shares_.end() ? 0 : found->second;
}

void PendingQueue::Resort() {
  if (by_ == Order{}) return;
  for (std::size_t position = order_.size(); position-- > 0;) SiftDown(position);
}

void PendingQueue::Swap(std::size_t a, std::size_t b) {
  std::swap(order_[a], order_[b]);
  group(order_[a].group).position = static_cast<std::int32_t>(a);
  group(order_[b].group).position = static_cast<std::int32_t>(b);
}

void PendingQueue::SiftUp(std::size_t position) {
  while (position > 0) {
    const std::size_t parent = (position - 1) / 2;
    if (!EntryBefore(order_[position], order_[parent])) return;
    Swap(position, parent);
    position = parent;
  }
}

void PendingQueue::SiftDown(std::size_t position) {
  while (true) {
    std::size_t first = position;
    for (std::size_t child = 2 * position + 1; child <= 2 * position + 2; ++child) {
      if (child < order_.size() && EntryBefore(order_[child], order_[first])) first = child;
    }
    if (first == position) return;
    Swap(position, first);
    position = first;
  }
}

void PendingQueue::Reorder(std::int32_t index) {
  Group& changed = group(index);
  if (changed.position < 0) {
    if (changed.active().count == 0) return;
    changed.position = static_cast<std::int32_t>(order_.size());
    order_.push_back(EntryOf(index));
    SiftUp(order_.size() - 1);
    return;
  }
  const auto position = static_cast<std::size_t>(changed.position);
  if (changed.active().count > 0) {
    if (order_[position].first == changed.active().heap) return;
    order_[position] = EntryOf(index);
    SiftUp(position);
    SiftDown(static_cast<std::size_t>(changed.position));
    return;
  }
  changed.position = -1;
  const OrderEntry last = order_.back();
  order_.pop_back();
  if (last.group == index) return;
  order_[position] = last;
  group(last.group).position = static_cast<std::int32_t>(position);
  SiftUp(position);
  SiftDown(static_cast<std::size_t>(group(last.group).position));
}

void PendingQueue::PutIntoBag(NodeIndex node, std::int32_t index, std::uint8_t bag) {
  Access access{nodes_};
  Bag& target = group(index).bags[bag];
  target.heap = Insert(access, target.heap, node);
  ++target.count;
  Count(group(index), at(node).counter, bag, 1);
  at(node).index = index;
  at(node).bag = bag;
  at(node).pending_in = PendingIn::kGroup;
}

void PendingQueue::Count(Group& of, CounterId counter, std::uint8_t bag, std::int32_t more) {
  if (counter == kNoCounter) return;
  auto share = std::find_if(of.shares.begin(), of.shares.end(),
                            [counter](const Share& known) { return known.counter == counter; });
  if (share == of.shares.end()) share = &of.shares.emplace_back(Share{.counter = counter});
  share->count[bag] += more;
  if (bag == of.active_bag) counts_.AddActive(counter, more);
  if (share->count[0] + share->count[1] == 0) of.shares.erase(share);
}

void PendingQueue::SetCounter(NodeIndex node, CounterId counter) {
  PendingNode& changed = at(node);
  const CounterId before = std::exchange(changed.counter, counter);
  if (before == counter || changed.pending_in != PendingIn::kGroup) return;
  Count(group(changed.index), before, changed.bag, -1);
  Count(group(changed.index), counter, changed.bag, 1);
}

void PendingQueue::ListAsParked(std::int32_t index) {
  if (group(index).listed_as_parked) return;
  group(index).listed_as_parked = true;
  parked_groups_.push_back(index);
}

void PendingQueue::Push(NodeIndex node) {
  const std::int32_t index = GroupFor(at(node));
  PutIntoBag(node, index, group(index).active_bag);
  AddNewcomer(node, index);
  ++active_count_;
  Reorder(index);
}

void PendingQueue::Park(NodeIndex node) {
  if (at(node).pending_in == PendingIn::kGroup) {
    const std::int32_t index = at(node).index;
    if (group(index).active().count == 1) {
      MoveAll(index, Side::kParked, nullptr);
      ListAsParked(index);
      return;
    }
    Take(node);
  }
  const std::int32_t index = GroupFor(at(node));
  PutIntoBag(node, index, static_cast<std::uint8_t>(1 - group(index).active_bag));
  AddNewcomer(node, index);
  ++parked_count_;
  ListAsParked(index);
}

void PendingQueue::BackOff(NodeIndex node) {
  Take(node);
  at(node).pending_in = PendingIn::kBackoff;
  at(node).index = static_cast<std::int32_t>(in_backoff_.size());
  in_backoff_.push_back(node);
}

void PendingQueue::Remove(NodeIndex node) {
  if (preemptor_.node == node) preemptor_ = Preemptor{};
  Take(node);
}

void PendingQueue::Take(NodeIndex node) {
  PendingNode& removed = at(node);
  if (removed.pending_in == PendingIn::kBackoff) {
    const auto slot = static_cast<std::size_t>(removed.index);
    in_backoff_[slot] = in_backoff_.back();
    at(in_backoff_[slot]).index = removed.index;
    in_backoff_.pop_back();
  } else if (removed.pending_in == PendingIn::kGroup) {
    const std::int32_t index = removed.index;
    Group& from = group(index);
    Bag& bag = from.bags[removed.bag];
    Access access{nodes_};
    bag.heap = Erase(access, bag.heap, node);
    --bag.count;
    Count(from, removed.counter, removed.bag, -1);
    if (removed.bag == from.active_bag) {
      --active_count_;
      Reorder(index);
    } else {
      --parked_count_;
    }
    DropIfEmpty(index);
  }
  removed.pending_in = PendingIn::kNothing;
  removed.index = -1;
}

NodeIndex PendingQueue::Head() const {
  if (order_.empty()) return kNoNode;
  if (preemptor_.sticky && preemptor_.node != kNoNode && IsActive(preemptor_.node)) {
    // A LocalQueue with less usage comes first.
    const std::int32_t first = groups_[static_cast<std::size_t>(order_.front().group)].local_queue;
    const bool behind = by_.by_usage && !preemptor_.before_usage &&
                        UsageOf(at(preemptor_.node).local_queue) > UsageOf(first);
    if (!behind) return preemptor_.node;
  }
  return order_.front().first;
}

void PendingQueue::MoveAll(std::int32_t index, Side to, std::vector<NodeIndex>* list) {
  Group& moved = group(index);
  Access access{nodes_};
  Bag& from = to == Side::kParked ? moved.active() : moved.parked();
  if (list != nullptr) {
    ForEach(access, from.heap, [list](NodeIndex node) { list->push_back(node); });
  }
  const std::int64_t count = from.count;
  const std::uint8_t active_before = moved.active_bag;
  // Moves all nodes to the fuller bag, which takes the wanted role.
  const std::uint8_t target = moved.bags[0].count >= moved.bags[1].count ? 0 : 1;
  Bag& fuller = moved.bags[target];
  Bag& other = moved.bags[1 - target];
  ForEach(access, other.heap, [this, target](NodeIndex node) { at(node).bag = target; });
  fuller.heap = Meld(access, fuller.heap, other.heap);
  fuller.count += other.count;
  other = Bag{};
  moved.active_bag = to == Side::kActive ? target : static_cast<std::uint8_t>(1 - target);
  for (Share& share : moved.shares) {
    const std::int32_t all = share.count[0] + share.count[1];
    counts_.AddActive(share.counter, (to == Side::kActive ? all : 0) - share.count[active_before]);
    share.count[target] = all;
    share.count[1 - target] = 0;
  }
  active_count_ += to == Side::kActive ? count : -count;
  parked_count_ += to == Side::kActive ? -count : count;
  Reorder(index);
}

void PendingQueue::BulkPark(NodeIndex like, std::vector<NodeIndex>& parked) {
  const std::int32_t number = at(like).pending_in == PendingIn::kGroup ? group(at(like).index).shape
                                                                       : ShapeFor(at(like).shape);
  ShapeGroups& marked = shapes_[static_cast<std::size_t>(number)];
  if (!marked.marked) marked_shapes_.push_back(number);
  marked.marked = true;
  for (const std::int32_t index : marked.groups) {
    if (group(index).active().count == 0) continue;
    if (listing_ == Listing::kNew) NameNewcomers(index, parked);
    MoveAll(index, Side::kParked, listing_ == Listing::kAll ? &parked : nullptr);
    ListAsParked(index);
  }
}

bool PendingQueue::IsMarked(std::uint64_t shape) const {
  if (marked_shapes_.empty()) return false;
  const auto found = shape_numbers_.find(shape);
  return found != shape_numbers_.end() && shapes_[static_cast<std::size_t>(found->second)].marked;
}

bool PendingQueue::IsActive(NodeIndex node) const {
  const PendingNode& asked = at(node);
  return asked.pending_in == PendingIn::kGroup &&
         groups_[static_cast<std::size_t>(asked.index)].active_bag == asked.bag;
}

std::vector<NodeIndex> PendingQueue::ParkedBefore(NodeIndex node, std::size_t most) const {
  std::vector<NodeIndex> before;
  if (marked_shapes_.empty()) return before;
  const PendingRank rank = node == kNoNode ? PendingRank{} : RankOf(node);
  for (const std::int32_t shape : marked_shapes_) {
    for (const std::int32_t index : shapes_[static_cast<std::size_t>(shape)].groups) {
      const Bag& parked = groups_[static_cast<std::size_t>(index)].parked();
      if (parked.count == 0) continue;
      if (node == kNoNode || Before(RankOf(parked.heap), rank)) before.push_back(parked.heap);
    }
  }
  before = Sorted(std::move(before));
  before.resize(std::min(before.size(), most));
  return before;
}

bool PendingQueue::MayWake(const PendingNode& node, WallTime now) const {
  return !node.requeued_false && (!node.requeue_at || *node.requeue_at <= now);
}

bool PendingQueue::IsBelow(const ShapeGroups& shape, std::int64_t from) const {
  const auto below = [&](const Bag& bag) {
    return bag.count == 0 || at(bag.heap).key.priority < from;
  };
  return !shape.groups.empty() &&
         std::all_of(shape.groups.begin(), shape.groups.end(), [&](std::int32_t index) {
           const Group& known = groups_[static_cast<std::size_t>(index)];
           return below(known.bags[0]) && below(known.bags[1]);
         });
}

void PendingQueue::DropMarks(std::int64_t from) {
  std::erase_if(marked_shapes_, [&](std::int32_t shape) {
    ShapeGroups& marked = shapes_[static_cast<std::size_t>(shape)];
    if (IsBelow(marked, from)) return false;
    marked.marked = false;
    DropShapeIfUnused(shape);
    return true;
  });
}

std::int64_t PendingQueue::Wake(WallTime now, std::int64_t from,
                                const std::function<bool(std::int32_t)>& namespace_passes,
                                std::vector<NodeIndex>* woken) {
  DropMarks(from);
  std::int64_t count = 0;
  std::swap(woken_groups_, parked_groups_);
  for (const std::int32_t index : woken_groups_) {
    Group& waiting = group(index);
    waiting.listed_as_parked = false;
    if (waiting.parked().count == 0) continue;
    if (at(waiting.parked().heap).key.priority < from || !namespace_passes(waiting.namespace_id)) {
      ListAsParked(index);
      continue;
    }
    count += waiting.parked().count;
    MoveAll(index, Side::kActive, woken);
  }
  woken_groups_.clear();
  for (std::size_t i = 0; i < in_backoff_.size();) {
    const NodeIndex node = in_backoff_[i];
    if (at(node).key.priority < from || !MayWake(at(node), now) ||
        !namespace_passes(at(node).namespace_id)) {
      ++i;
      continue;
    }
    Take(node);  // moves another node to this slot
    Push(node);
    ++count;
    if (woken != nullptr) woken->push_back(node);
  }
  return count;
}

PendingQueue::ShapeCounts PendingQueue::CountShapes() const {
  ShapeCounts counts;
  std::set<std::uint64_t> in_backoff;
  for (const NodeIndex node : in_backoff_) in_backoff.insert(at(node).shape);
  for (const ShapeGroups& shape : shapes_) {
    bool active = false;
    bool waiting = in_backoff.erase(shape.hash) > 0;
    for (const std::int32_t index : shape.groups) {
      const Group& of_shape = groups_[static_cast<std::size_t>(index)];
      active |= of_shape.bags[of_shape.active_bag].count > 0;
      waiting |= of_shape.bags[1 - of_shape.active_bag].count > 0;
    }
    counts.active += active ? 1 : 0;
    counts.waiting += waiting ? 1 : 0;
  }
  counts.waiting += static_cast<std::int64_t>(in_backoff.size());
  return counts;
}

void PendingQueue::SetPreemptor(const Preemptor& preemptor) { preemptor_ = preemptor; }

PendingRank PendingQueue::RankOf(NodeIndex node) const {
  const bool preempts = preemptor_.node == node;
  return {.before_usage = preempts && preemptor_.before_usage,
          .usage = by_.by_usage ? UsageOf(at(node).local_queue) : 0,
          .sticky = preempts && preemptor_.sticky,
          .user_share = ShareOf(node),
          .key = at(node).key};
}

std::vector<NodeIndex> PendingQueue::Sorted(std::vector<NodeIndex> list) const {
  std::sort(list.begin(), list.end(),
            [this](NodeIndex a, NodeIndex b) { return Before(RankOf(a), RankOf(b)); });
  return list;
}

std::vector<NodeIndex> PendingQueue::All() const { return Sorted(Unsorted()); }

std::vector<NodeIndex> PendingQueue::Unsorted() const {
  std::vector<NodeIndex> list;
  list.reserve(static_cast<std::size_t>(active_count_ + waiting_count()));
  AppendActive(list);
  AppendInadmissible(list);
  return list;
}

void PendingQueue::AppendActive(std::vector<NodeIndex>& list) const {
  Access access{nodes_};
  for (const OrderEntry& entry : order_) {
    ForEach(access, entry.first, [&list](NodeIndex node) { list.push_back(node); });
  }
}

void PendingQueue::AppendInadmissible(std::vector<NodeIndex>& list) const {
  list.insert(list.end(), in_backoff_.begin(), in_backoff_.end());
  Access access{nodes_};
  for (const std::int32_t index : parked_groups_) {
    const Group& waiting = groups_[static_cast<std::size_t>(index)];
    ForEach(access, waiting.bags[1 - waiting.active_bag].heap,
            [&list](NodeIndex node) { list.push_back(node); });
  }
}

std::vector<NodeIndex> PendingQueue::Active() const {
  std::vector<NodeIndex> list;
  AppendActive(list);
  return Sorted(std::move(list));
}

std::vector<NodeIndex> PendingQueue::Inadmissible() const {
  std::vector<NodeIndex> list;
  AppendInadmissible(list);
  return Sorted(std::move(list));
}

}  // namespace berth::queue
