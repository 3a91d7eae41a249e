// queue/head_index.h — the ClusterQueues that are present, in the order of their names, and which
// of them have a head.
//
//     order:  block │ block │ block …     blocks in the order of names, at most 64 queues in each
//     heads:  a bit for each block that has a queue with a head, a bit for each such queue
//
// Adding a queue costs a search for its block, and sometimes a division of the block; the queues of
// a block are sorted when heads are read. A walk over the heads costs the number of heads, not the
// number of queues.
//
// Threads: one. Errors: none; adding a queue twice and removing an absent one are bugs.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "queue/names.h"

namespace berth::queue {

using ClusterQueueId = std::int32_t;

class HeadIndex {
 public:
  Names& names() { return names_; }  // a queue that was added keeps its number
  const Names& names() const { return names_; }

  void Add(ClusterQueueId queue);  // the queue has no head at first
  void Remove(ClusterQueueId queue);
  bool Has(ClusterQueueId queue) const {
    const auto number = static_cast<std::size_t>(queue);
    return number < positions_.size() && positions_[number].block >= 0;
  }
  // No effect where the queue is absent.
  void SetHead(ClusterQueueId queue, bool has_head);
  bool HasHeads() const;

  // Calls visit(queue) for each present queue, in no order.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (const std::int32_t block : order_) {
      for (const ClusterQueueId queue : blocks_[static_cast<std::size_t>(block)].queues) {
        visit(queue);
      }
    }
  }
  // Calls visit(queue) for each queue with a head, by name. `visit` must not change this object.
  template <typename Visit>
  void ForEachHead(Visit visit) {
    for (std::size_t word = 0; word < blocks_with_heads_.size(); ++word) {
      for (std::uint64_t bits = blocks_with_heads_[word]; bits != 0; bits &= bits - 1) {
        Block& block = BlockAt(word * kBits + static_cast<std::size_t>(std::countr_zero(bits)));
        if (!block.sorted) Sort(block);
        for (std::uint64_t heads = block.with_heads; heads != 0; heads &= heads - 1) {
          visit(block.queues[static_cast<std::size_t>(std::countr_zero(heads))]);
        }
      }
    }
  }

 private:
  static constexpr std::size_t kBits = 64;

  struct Block {
    std::vector<ClusterQueueId> queues;
    std::uint64_t with_heads = 0;    // a bit for each queue of the block
    ClusterQueueId first_name = -1;  // number of the block's first name
    std::int32_t place = -1;         // index in order_
    bool sorted = true;
  };
  struct Position {
    std::int32_t block = -1;
    std::int32_t slot = -1;  // in the block's list
  };

  Position& at(ClusterQueueId queue) { return positions_[static_cast<std::size_t>(queue)]; }
  Block& BlockAt(std::size_t place) { return blocks_[static_cast<std::size_t>(order_[place])]; }
  bool ComesBefore(ClusterQueueId a, ClusterQueueId b) const { return names_[a] < names_[b]; }
  std::int32_t BlockFor(ClusterQueueId queue);
  std::int32_t NewBlock(std::size_t place);
  void Sort(Block& block);
  void Divide(std::int32_t full);
  void NoteBlock(const Block& block);
  void NumberBlocks();

  Names names_;
  std::vector<Position> positions_;  // by ClusterQueueId
  std::vector<Block> blocks_;
  std::vector<std::int32_t> free_blocks_;
  std::vector<std::int32_t> order_;
  std::vector<std::uint64_t> blocks_with_heads_;  // a bit for each index in order_
};

}  // namespace berth::queue
