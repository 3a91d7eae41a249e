#include "admission/quota/quota_cells.h"

#include <algorithm>

namespace berth::admission {
namespace {

// A window of at most this size is never an index.
constexpr std::size_t kSmallWindow = 8;
// Cells in front move all cells of a window; larger windows do not move.
constexpr std::size_t kMostMoved = 64;

bool IsDense(std::size_t width, std::size_t wanted) { return width <= 2 * wanted + kSmallWindow; }

}  // namespace

std::uint32_t QuotaCells::FindIndexed(FlavorResourceId fr) const {
  const auto found = std::lower_bound(
      index_->begin(), index_->end(), fr,
      [](const auto& entry, FlavorResourceId number) { return entry.first < number; });
  return found == index_->end() || found->first != fr ? kNone : found->second;
}

QuotaCell& QuotaCells::MakeOutside(FlavorResourceId fr) {
  if (index_ != nullptr) {
    const std::uint32_t known = FindIndexed(fr);
    if (known != kNone) return cells_[known];
  }
  if (cells_.size() == cells_.capacity()) DropEmpty();
  if (index_ == nullptr) {
    if (Widen(fr)) return cells_[static_cast<std::size_t>(fr - first_)];
    UseIndex();
  }
  const std::pair<FlavorResourceId, std::uint32_t> entry{fr,
                                                         static_cast<std::uint32_t>(cells_.size())};
  index_->insert(std::upper_bound(index_->begin(), index_->end(), entry), entry);
  return cells_.emplace_back();
}

bool QuotaCells::Widen(FlavorResourceId fr) {
  if (cells_.empty()) first_ = fr;
  const FlavorResourceId first = std::min(first_, fr);
  const FlavorResourceId last =
      std::max(first_ + static_cast<FlavorResourceId>(cells_.size()) - 1, fr);
  const auto width = static_cast<std::size_t>(last - first) + 1;
  if (!IsDense(width, wanted_ + 1)) return false;
  if (first < first_ && cells_.size() > kMostMoved) return false;
  if (first < first_) {
    cells_.insert(cells_.begin(), static_cast<std::size_t>(first_ - first), QuotaCell{});
  }
  if (width > cells_.size()) cells_.resize(width);
  first_ = first;
  width_ = static_cast<std::uint32_t>(width);
  ++wanted_;
  return true;
}

void QuotaCells::UseIndex() {
  auto index = std::make_unique<Index>();
  std::vector<QuotaCell> kept;
  ForEach([&](FlavorResourceId fr, QuotaCell& cell) {
    if (cell.IsEmpty()) return;
    index->emplace_back(fr, static_cast<std::uint32_t>(kept.size()));
    kept.push_back(cell);
  });
  cells_ = std::move(kept);
  index_ = std::move(index);
  first_ = 0;
  width_ = wanted_ = 0;
}

void QuotaCells::DropEmpty() {
  const auto in_use = static_cast<std::size_t>(std::count_if(
      cells_.begin(), cells_.end(), [](const QuotaCell& cell) { return !cell.IsEmpty(); }));
  if (2 * in_use + kSmallWindow >= cells_.size()) return;
  const QuotaCells before = std::move(*this);
  *this = QuotaCells{};
  before.ForEach([this](FlavorResourceId fr, const QuotaCell& cell) {
    if (!cell.IsEmpty()) Make(fr) = cell;
  });
}

}  // namespace berth::admission
