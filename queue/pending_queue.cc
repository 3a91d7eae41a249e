#include "queue/pending_queue.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace berth::queue {

std::int32_t PendingQueue::GroupFor(const PendingNode& node) {
  Shape& shape = shapes_[node.shape];
  for (const std::int32_t index : shape.groups) {
    const Group& known = group(index);
    if (known.namespace_id != node.namespace_id) continue;
    if (!by_usage_ || known.local_queue == node.local_queue) return index;
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
  group(index).shape = node.shape;
  group(index).namespace_id = node.namespace_id;
  group(index).local_queue = by_usage_ ? node.local_queue : -1;
  shape.groups.push_back(index);
  return index;
}

void PendingQueue::DropIfEmpty(std::int32_t index) {
  const Group& empty = group(index);
  if (empty.bags[0].count + empty.bags[1].count != 0) return;
  const auto shape = shapes_.find(empty.shape);
  std::erase(shape->second.groups, index);
  if (shape->second.groups.empty() && !shape->second.marked) shapes_.erase(shape);
  free_groups_.push_back(index);
}

bool PendingQueue::GroupBefore(std::int32_t a, std::int32_t b) const {
  const Group& left = groups_[static_cast<std::size_t>(a)];
  const Group& right = groups_[static_cast<std::size_t>(b)];
  if (by_usage_ && left.local_queue != right.local_queue) {
    const double left_usage = UsageOf(left.local_queue);
    const double right_usage = UsageOf(right.local_queue);
    if (left_usage != right_usage) return left_usage < right_usage;
  }
  return Before(at(left.active().heap).key, at(right.active().heap).key);
}

double PendingQueue::UsageOf(std::int32_t local_queue) const {
  const auto slot = static_cast<std::size_t>(local_queue);
  return slot < usages_.size() ? usages_[slot] : 0.0;
}

void PendingQueue::UsageChanged() {
  if (!by_usage_) return;
  for (std::size_t position = order_.size(); position-- > 0;) SiftDown(position);
}

void PendingQueue::Swap(std::size_t a, std::size_t b) {
  std::swap(order_[a], order_[b]);
  group(order_[a]).position = static_cast<std::int32_t>(a);
  group(order_[b]).position = static_cast<std::int32_t>(b);
}

void PendingQueue::SiftUp(std::size_t position) {
  while (position > 0) {
    const std::size_t parent = (position - 1) / 2;
    if (!GroupBefore(order_[position], order_[parent])) return;
    Swap(position, parent);
    position = parent;
  }
}

void PendingQueue::SiftDown(std::size_t position) {
  while (true) {
    std::size_t first = position;
    for (std::size_t child = 2 * position + 1; child <= 2 * position + 2; ++child) {
      if (child < order_.size() && GroupBefore(order_[child], order_[first])) first = child;
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
    order_.push_back(index);
    SiftUp(order_.size() - 1);
    return;
  }
  const auto position = static_cast<std::size_t>(changed.position);
  if (changed.active().count > 0) {
    SiftUp(position);
    SiftDown(static_cast<std::size_t>(changed.position));
    return;
  }
  changed.position = -1;
  const std::int32_t last = order_.back();
  order_.pop_back();
  if (last == index) return;
  order_[position] = last;
  group(last).position = static_cast<std::int32_t>(position);
  SiftUp(position);
  SiftDown(static_cast<std::size_t>(group(last).position));
}

void PendingQueue::PutIntoBag(NodeIndex node, std::int32_t index, std::uint8_t bag) {
  Access access{nodes_};
  Bag& target = group(index).bags[bag];
  target.heap = Insert(access, target.heap, node);
  ++target.count;
  at(node).index = index;
  at(node).bag = bag;
  at(node).place = Place::kGrouped;
}

void PendingQueue::ListAsParked(std::int32_t index) {
  if (group(index).listed_as_parked) return;
  group(index).listed_as_parked = true;
  parked_groups_.push_back(index);
}

void PendingQueue::Push(NodeIndex node) {
  const std::int32_t index = GroupFor(at(node));
  PutIntoBag(node, index, group(index).active_bag);
  ++active_count_;
  Reorder(index);
}

void PendingQueue::Park(NodeIndex node) {
  const std::int32_t index = GroupFor(at(node));
  PutIntoBag(node, index, static_cast<std::uint8_t>(1 - group(index).active_bag));
  ++parked_count_;
  ListAsParked(index);
}

void PendingQueue::Hold(NodeIndex node) {
  at(node).place = Place::kHeld;
  at(node).index = static_cast<std::int32_t>(held_.size());
  held_.push_back(node);
}

void PendingQueue::Remove(NodeIndex node) {
  PendingNode& removed = at(node);
  if (preemptor_.node == node) preemptor_ = Preemptor{};
  if (removed.place == Place::kHeld) {
    const auto slot = static_cast<std::size_t>(removed.index);
    held_[slot] = held_.back();
    at(held_[slot]).index = removed.index;
    held_.pop_back();
  } else if (removed.place == Place::kGrouped) {
    const std::int32_t index = removed.index;
    Group& from = group(index);
    Bag& bag = from.bags[removed.bag];
    Access access{nodes_};
    bag.heap = Erase(access, bag.heap, node);
    --bag.count;
    if (removed.bag == from.active_bag) {
      --active_count_;
      Reorder(index);
    } else {
      --parked_count_;
    }
    DropIfEmpty(index);
  }
  removed.place = Place::kNowhere;
  removed.index = -1;
}

NodeIndex PendingQueue::Head() const {
  if (order_.empty()) return kNoNode;
  const Group& first = groups_[static_cast<std::size_t>(order_.front())];
  if (preemptor_.sticky && preemptor_.node != kNoNode && IsActive(preemptor_.node)) {
    // Not before a LocalQueue that used less.
    const bool behind =
        by_usage_ && UsageOf(at(preemptor_.node).local_queue) > UsageOf(first.local_queue);
    if (!behind) return preemptor_.node;
  }
  return first.active().heap;
}

NodeIndex PendingQueue::Pop() {
  const NodeIndex head = Head();
  if (head == kNoNode) return kNoNode;
  const Preemptor kept = preemptor_;
  Remove(head);
  preemptor_ = kept;
  at(head).place = Place::kInFlight;
  at(head).evaluated_generation = at(head).generation;
  return head;
}

void PendingQueue::MoveAll(std::int32_t index, Side to, std::vector<NodeIndex>* list) {
  Group& moved = group(index);
  Access access{nodes_};
  Bag& from = to == Side::kParked ? moved.active() : moved.parked();
  if (list != nullptr) {
    ForEach(access, from.heap, [list](NodeIndex node) { list->push_back(node); });
  }
  const std::int64_t count = from.count;
  // Everything goes into the fuller bag, which then plays the wanted part.
  const std::uint8_t target = moved.bags[0].count >= moved.bags[1].count ? 0 : 1;
  Bag& fuller = moved.bags[target];
  Bag& other = moved.bags[1 - target];
  ForEach(access, other.heap, [this, target](NodeIndex node) { at(node).bag = target; });
  fuller.heap = Meld(access, fuller.heap, other.heap);
  fuller.count += other.count;
  other = Bag{};
  moved.active_bag = to == Side::kActive ? target : static_cast<std::uint8_t>(1 - target);
  active_count_ += to == Side::kActive ? count : -count;
  parked_count_ += to == Side::kActive ? -count : count;
  Reorder(index);
}

void PendingQueue::BulkPark(std::uint64_t shape, std::vector<NodeIndex>* parked) {
  Shape& marked = shapes_[shape];
  if (!marked.marked) marked_shapes_.push_back(shape);
  marked.marked = true;
  for (const std::int32_t index : marked.groups) {
    if (group(index).active().count == 0) continue;
    MoveAll(index, Side::kParked, parked);
    ListAsParked(index);
  }
}

bool PendingQueue::IsMarked(std::uint64_t shape) const {
  const auto found = shapes_.find(shape);
  return found != shapes_.end() && found->second.marked;
}

bool PendingQueue::IsActive(NodeIndex node) const {
  const PendingNode& asked = at(node);
  return asked.place == Place::kGrouped &&
         groups_[static_cast<std::size_t>(asked.index)].active_bag == asked.bag;
}

bool PendingQueue::IsWaiting(NodeIndex node) const {
  return at(node).place == Place::kHeld || (at(node).place == Place::kGrouped && !IsActive(node));
}

bool PendingQueue::MayWake(const PendingNode& node, WallTime now) const {
  return !node.requeued_false && (!node.requeue_at || *node.requeue_at <= now);
}

std::int64_t PendingQueue::Wake(WallTime now,
                                const std::function<bool(std::int32_t)>& namespace_passes,
                                std::vector<NodeIndex>* woken) {
  for (const std::uint64_t shape : std::exchange(marked_shapes_, {})) {
    const auto found = shapes_.find(shape);
    if (found == shapes_.end()) continue;
    found->second.marked = false;
    if (found->second.groups.empty()) shapes_.erase(found);
  }
  std::int64_t count = 0;
  for (const std::int32_t index : std::exchange(parked_groups_, {})) {
    Group& waiting = group(index);
    waiting.listed_as_parked = false;
    if (waiting.parked().count == 0) continue;
    if (!namespace_passes(waiting.namespace_id)) {
      ListAsParked(index);
      continue;
    }
    count += waiting.parked().count;
    MoveAll(index, Side::kActive, woken);
  }
  for (std::size_t i = 0; i < held_.size();) {
    const NodeIndex node = held_[i];
    if (!MayWake(at(node), now) || !namespace_passes(at(node).namespace_id)) {
      ++i;
      continue;
    }
    const Preemptor kept = preemptor_;
    Remove(node);  // puts another one into this slot
    preemptor_ = kept;
    Push(node);
    ++count;
    if (woken != nullptr) woken->push_back(node);
  }
  return count;
}

void PendingQueue::SetPreemptor(const Preemptor& preemptor) { preemptor_ = preemptor; }

std::vector<NodeIndex> PendingQueue::Sorted(std::vector<NodeIndex> list) const {
  std::sort(list.begin(), list.end(), [this](NodeIndex a, NodeIndex b) {
    if (by_usage_) {
      const double left = UsageOf(at(a).local_queue);
      const double right = UsageOf(at(b).local_queue);
      if (left != right) return left < right;
    }
    const bool first = preemptor_.sticky && preemptor_.node == a;
    const bool second = preemptor_.sticky && preemptor_.node == b;
    if (first != second) return first;
    return Before(at(a).key, at(b).key);
  });
  return list;
}

std::vector<NodeIndex> PendingQueue::Active() const {
  std::vector<NodeIndex> list;
  Access access{nodes_};
  for (const std::int32_t index : order_) {
    ForEach(access, groups_[static_cast<std::size_t>(index)].active().heap,
            [&list](NodeIndex node) { list.push_back(node); });
  }
  return Sorted(std::move(list));
}

std::vector<NodeIndex> PendingQueue::Inadmissible() const {
  std::vector<NodeIndex> list = held_;
  Access access{nodes_};
  for (const std::int32_t index : parked_groups_) {
    const Group& waiting = groups_[static_cast<std::size_t>(index)];
    ForEach(access, waiting.bags[1 - waiting.active_bag].heap,
            [&list](NodeIndex node) { list.push_back(node); });
  }
  return Sorted(std::move(list));
}

}  // namespace berth::queue
