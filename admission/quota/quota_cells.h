// admission/quota/quota_cells.h — the quota cells of one node of the quota tree: one cell for each
// flavor-resource that the node or a node below has quota for, or that the node uses.
//
//     window: cells of the numbers first … first + width - 1, gaps included (close numbers)
//     index:  cells in the order of insertion, and a sorted list of (number, cell)
//
// Reading a window costs one comparison. A window that would be mostly gaps becomes an index. Empty
// cells are dropped before the memory grows, so memory is proportional to the largest number of
// cells that the node had in use at one time.
//
// Threads: one. Errors: none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "api/quantity.h"

namespace berth::admission {

using api::Amount;
using FlavorResourceId = std::int32_t;

// The amounts of a flavor-resource at a node, as admission/quota/quota_tree.h defines them. One
// cache line.
struct alignas(64) QuotaCell {
  static constexpr Amount kNoLimit = INT64_MAX;
  Amount usage = 0;
  Amount subtree = 0;
  Amount local = 0;  // the part of `subtree` that the node does not lend
  Amount borrowing_limit = kNoLimit;
  Amount nominal = 0;
  Amount lending_limit = kNoLimit;
  std::int32_t mentions = 0;  // own quota: 1; each child with mentions: 1
  bool own = false;           // the node itself has quota

  bool IsEmpty() const { return mentions == 0 && usage == 0; }
  // The unused part of the node's local quota.
  Amount LocalAvailable() const { return std::max<Amount>(0, api::SubtractAmounts(local, usage)); }
  std::optional<Amount> BorrowingLimit() const {
    return borrowing_limit == kNoLimit ? std::nullopt : std::optional(borrowing_limit);
  }
  // Whether `more` usage would exceed (or usage exceeds) the node's subtree quota.
  bool BorrowingWith(Amount more) const { return api::AddAmounts(usage, more) > subtree; }
  bool Borrowing() const { return usage > subtree; }
};

class QuotaCells {
 public:
  // Returns null where the node has no cell: all amounts are 0.
  const QuotaCell* Find(FlavorResourceId fr) const {
    const auto slot = static_cast<std::uint32_t>(fr - first_);
    if (slot < width_) return &cells_[slot];
    if (index_ == nullptr) return nullptr;
    const std::uint32_t indexed = FindIndexed(fr);
    return indexed == kNone ? nullptr : &cells_[indexed];
  }
  // Returns the cell, made if missing; the reference is valid until the node's next Make.
  QuotaCell& Make(FlavorResourceId fr) {
    const auto slot = static_cast<std::uint32_t>(fr - first_);
    if (slot < width_) return cells_[slot];
    return MakeOutside(fr);
  }
  // Calls visit(FlavorResourceId, cell) in the order of numbers; some cells may be empty.
  template <typename Visit>
  void ForEach(Visit visit) const {
    Walk(*this, visit);
  }
  template <typename Visit>
  void ForEach(Visit visit) {
    Walk(*this, visit);
  }
  std::size_t size() const { return cells_.size(); }  // gaps included

 private:
  using Index = std::vector<std::pair<FlavorResourceId, std::uint32_t>>;

  static constexpr std::uint32_t kNone = UINT32_MAX;

  template <typename Cells, typename Visit>
  static void Walk(Cells& cells, Visit& visit) {
    for (std::uint32_t slot = 0; slot < cells.width_; ++slot) {
      visit(cells.first_ + static_cast<FlavorResourceId>(slot), cells.cells_[slot]);
    }
    if (cells.index_ == nullptr) return;
    for (const auto& [fr, slot] : *cells.index_) visit(fr, cells.cells_[slot]);
  }
  std::uint32_t FindIndexed(FlavorResourceId fr) const;
  QuotaCell& MakeOutside(FlavorResourceId fr);
  // Extends the window to `fr`; returns false where it would be mostly gaps.
  bool Widen(FlavorResourceId fr);
  void UseIndex();
  void DropEmpty();

  FlavorResourceId first_ = 0;
  std::uint32_t width_ = 0;   // 0 with an index
  std::uint32_t wanted_ = 0;  // approximate count of cells that are no gaps
  std::vector<QuotaCell> cells_;
  std::unique_ptr<Index> index_;
};

}  // namespace berth::admission
