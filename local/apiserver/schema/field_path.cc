#include "local/apiserver/schema/field_path.h"

#include "base/strings.h"

namespace berth::local {

FieldPath FieldPath::Index(std::size_t index) const {
  FieldPath item(this, "[", "", "]");
  item.index_ = index;
  return item;
}

void FieldPath::AppendPartTo(std::string& text) const {
  text += lead_;
  if (index_ == kNoIndex) {
    text += name_;
  } else {
    text += std::to_string(index_);
  }
  text += tail_;
}

// The depth of objects is bounded, and so is this recursion.
void FieldPath::AppendTo(std::string& text) const {
  if (parent_ != nullptr) parent_->AppendTo(text);
  AppendPartTo(text);
}

std::string FieldPath::Text() const {
  std::string text;
  if (paths_->text_bytes_ < FieldPaths::kMostTextBytes) {
    AppendTo(text);
  } else {
    FieldPath last = *this;
    last.name_ = TruncateUtf8(name_, kShortBytes);
    text = "…";
    last.AppendPartTo(text);
  }
  paths_->text_bytes_ += text.size();
  return text;
}

}  // namespace berth::local
