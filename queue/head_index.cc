#include "queue/head_index.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace berth::queue {
namespace {

std::uint64_t BitOf(std::size_t slot) { return std::uint64_t{1} << (slot % 64); }

}  // namespace

std::int32_t HeadIndex::NewBlock(std::size_t place) {
  if (free_blocks_.empty()) {
    free_blocks_.push_back(static_cast<std::int32_t>(blocks_.size()));
    blocks_.emplace_back();
  }
  const std::int32_t made = free_blocks_.back();
  free_blocks_.pop_back();
  order_.insert(order_.begin() + static_cast<std::ptrdiff_t>(place), made);
  return made;
}

// Call after a block was added or removed.
void HeadIndex::NumberBlocks() {
  blocks_with_heads_.assign((order_.size() + kBits - 1) / kBits, 0);
  for (std::size_t place = 0; place < order_.size(); ++place) {
    BlockAt(place).place = static_cast<std::int32_t>(place);
    NoteBlock(BlockAt(place));
  }
}

void HeadIndex::NoteBlock(const Block& block) {
  const auto place = static_cast<std::size_t>(block.place);
  std::uint64_t& word = blocks_with_heads_[place / kBits];
  word = block.with_heads != 0 ? word | BitOf(place) : word & ~BitOf(place);
}

std::int32_t HeadIndex::BlockFor(ClusterQueueId queue) {
  if (order_.empty()) {
    const std::int32_t made = NewBlock(0);
    NumberBlocks();
    return made;
  }
  // The last block whose first name is not greater; the first block has all names below the
  // second's first name.
  const auto behind =
      std::partition_point(order_.begin() + 1, order_.end(), [this, queue](std::int32_t block) {
        return !ComesBefore(queue, blocks_[static_cast<std::size_t>(block)].first_name);
      });
  const std::int32_t found = *(behind - 1);
  if (blocks_[static_cast<std::size_t>(found)].queues.size() < kBits) return found;
  Divide(found);
  return BlockFor(queue);
}

void HeadIndex::Sort(Block& block) {
  std::vector<std::pair<ClusterQueueId, bool>> members;
  members.reserve(block.queues.size());
  for (std::size_t slot = 0; slot < block.queues.size(); ++slot) {
    members.emplace_back(block.queues[slot], (block.with_heads & BitOf(slot)) != 0);
  }
  std::sort(members.begin(), members.end(),
            [this](const auto& a, const auto& b) { return ComesBefore(a.first, b.first); });
  block.with_heads = 0;
  for (std::size_t slot = 0; slot < members.size(); ++slot) {
    block.queues[slot] = members[slot].first;
    at(members[slot].first).slot = static_cast<std::int32_t>(slot);
    if (members[slot].second) block.with_heads |= BitOf(slot);
  }
  block.sorted = true;
}

// Moves the second half of a full block to a new block.
void HeadIndex::Divide(std::int32_t full) {
  Sort(blocks_[static_cast<std::size_t>(full)]);
  const std::int32_t made =
      NewBlock(static_cast<std::size_t>(blocks_[static_cast<std::size_t>(full)].place) + 1);
  Block& lower = blocks_[static_cast<std::size_t>(full)];
  Block& upper = blocks_[static_cast<std::size_t>(made)];
  constexpr std::size_t kHalf = kBits / 2;
  upper = Block{};
  upper.queues.assign(lower.queues.begin() + kHalf, lower.queues.end());
  upper.first_name = upper.queues.front();
  upper.with_heads = lower.with_heads >> kHalf;
  lower.queues.resize(kHalf);
  lower.with_heads &= BitOf(kHalf) - 1;
  for (std::size_t slot = 0; slot < upper.queues.size(); ++slot) {
    at(upper.queues[slot]) = {made, static_cast<std::int32_t>(slot)};
  }
  NumberBlocks();
}

void HeadIndex::Add(ClusterQueueId queue) {
  BERTH_ASSERT(!Has(queue));
  const auto number = static_cast<std::size_t>(queue);
  if (number >= positions_.size()) positions_.resize(number + 1);
  const std::int32_t found = BlockFor(queue);
  Block& block = blocks_[static_cast<std::size_t>(found)];
  block.sorted = block.sorted && (block.queues.empty() || ComesBefore(block.queues.back(), queue));
  at(queue) = {found, static_cast<std::int32_t>(block.queues.size())};
  block.queues.push_back(queue);
}

void HeadIndex::Remove(ClusterQueueId queue) {
  BERTH_ASSERT(Has(queue));
  SetHead(queue, false);
  const Position gone = std::exchange(at(queue), Position{});
  Block& block = blocks_[static_cast<std::size_t>(gone.block)];
  const ClusterQueueId last = block.queues.back();
  block.queues.pop_back();
  if (last != queue) {
    const std::size_t from = block.queues.size();
    const auto to = static_cast<std::size_t>(gone.slot);
    block.queues[to] = last;
    at(last).slot = gone.slot;
    if ((block.with_heads & BitOf(from)) != 0) block.with_heads ^= BitOf(from) | BitOf(to);
    block.sorted = false;
  }
  if (!block.queues.empty()) return;
  order_.erase(order_.begin() + block.place);
  block = Block{};
  free_blocks_.push_back(gone.block);
  NumberBlocks();
}

void HeadIndex::SetHead(ClusterQueueId queue, bool has_head) {
  if (!Has(queue)) return;
  const Position& position = at(queue);
  Block& block = blocks_[static_cast<std::size_t>(position.block)];
  const std::uint64_t bit = BitOf(static_cast<std::size_t>(position.slot));
  block.with_heads = has_head ? block.with_heads | bit : block.with_heads & ~bit;
  NoteBlock(block);
}

bool HeadIndex::HasHeads() const {
  return std::any_of(blocks_with_heads_.begin(), blocks_with_heads_.end(),
                     [](std::uint64_t bits) { return bits != 0; });
}

}  // namespace berth::queue
