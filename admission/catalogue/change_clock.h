// admission/catalogue/change_clock.h — the last change by which the allocatable quota of a queue,
// or of a tree of cohorts, may have grown. Changes are numbered in their order.
//
// Threads: one. Errors: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "admission/quota/quota_tree.h"

namespace berth::admission {

class ChangeClock {
 public:
  // The number of changes so far.
  std::int64_t count() const { return count_; }
  // Counts a change of one queue; the caller keeps the returned count.
  std::int64_t Tick() { return ++count_; }
  // Counts a change in the tree below a root.
  void NoteTree(NodeId root) {
    const auto slot = static_cast<std::size_t>(root);
    if (slot >= trees_.size()) trees_.resize(slot + 1, 0);
    trees_[slot] = ++count_;
  }
  // The count of the last change in the tree below the root; 0: there was none.
  std::int64_t TreeChangedAt(NodeId root) const {
    const auto slot = static_cast<std::size_t>(root);
    return slot < trees_.size() ? trees_[slot] : 0;
  }

 private:
  std::int64_t count_ = 0;
  std::vector<std::int64_t> trees_;  // by node, set while the node is a root
};

}  // namespace berth::admission
