#include "api/template_text.h"

#include <algorithm>
#include <utility>

namespace berth::api {

TemplateText::TemplateText(std::shared_ptr<const std::string> whole) : base_(std::move(whole)) {
  if (base_ != nullptr) head_ = static_cast<std::uint32_t>(base_->size());
}

TemplateText::TemplateText(std::string_view text, const TemplateText& similar)
    : base_(similar.base_) {
  if (base_ == nullptr) {
    *this = TemplateText(std::make_shared<const std::string>(text));
    return;
  }
  const auto first = std::mismatch(text.begin(), text.end(), base_->begin(), base_->end());
  head_ = static_cast<std::uint32_t>(first.first - text.begin());
  text.remove_prefix(head_);
  const std::string_view rest = std::string_view(*base_).substr(head_);
  const auto last = std::mismatch(text.rbegin(), text.rend(), rest.rbegin(), rest.rend());
  tail_ = static_cast<std::uint32_t>(last.first - text.rbegin());
  text.remove_suffix(tail_);
  between_ = text;
}

std::shared_ptr<const std::string> TemplateText::Whole() const {
  if (IsWhole()) return base_;
  std::string text;
  text.reserve(std::size_t{head_} + between_.size() + tail_);
  text.append(*base_, 0, head_).append(between_).append(*base_, base_->size() - tail_, tail_);
  return std::make_shared<const std::string>(std::move(text));
}

}  // namespace berth::api
