// api/template_text.h — the JSON text of a pod template, stored as its difference from the text of
// a similar template. Jobs that are submitted together often differ in one argument alone.
//
//     base   {"spec":{"containers":[{"args":["--seed=1","--fast"],…      shared by many texts
//     text   {"spec":{"containers":[{"args":["--seed=27","--fast"],…     here: "27" and its place
//
// Units: bytes; a text has at most 4 GiB. Threads: copies may be used by different threads. Errors:
// std::bad_alloc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace berth::api {

class TemplateText {
 public:
  TemplateText() = default;                                         // no text
  explicit TemplateText(std::shared_ptr<const std::string> whole);  // null: no text
  // `text`, stored as its difference from the base of `similar`.
  TemplateText(std::string_view text, const TemplateText& similar);

  // Whether the text is its base, without a difference.
  bool IsWhole() const { return between_.empty() && (base_ == nullptr || EndsMeet()); }
  // The text; null: there is none. A text without a difference is not copied.
  std::shared_ptr<const std::string> Whole() const;

 private:
  bool EndsMeet() const { return std::size_t{head_} + tail_ == base_->size(); }

  std::shared_ptr<const std::string> base_;
  std::uint32_t head_ = 0;  // bytes at the beginning of the base
  std::uint32_t tail_ = 0;  // bytes at its end
  std::string between_;
};

}  // namespace berth::api
