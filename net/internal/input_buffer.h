// net/internal/input_buffer.h — received bytes that are not parsed yet, contiguous.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

namespace berth::net {

class InputBuffer {
 public:
  // The capacity while a connection waits for a request; a body grows it.
  static constexpr std::size_t kSmallSize = 4 * 1024;
  static constexpr std::size_t kLargeSize = 64 * 1024;

  std::string_view view() const { return {bytes_.get() + begin_, end_ - begin_}; }
  bool empty() const { return begin_ == end_; }

  // Returns free space behind the bytes; grows the buffer to `size` bytes, or more where necessary.
  std::pair<char*, std::size_t> Prepare(std::size_t size) {
    const std::string_view kept = view();
    const bool is_too_small = size_ < size;
    if (is_too_small || (kept.empty() && size_ > size)) {
      auto fresh = std::make_unique_for_overwrite<char[]>(size);
      if (!kept.empty()) std::memcpy(fresh.get(), kept.data(), kept.size());
      bytes_ = std::move(fresh);
      size_ = size;
    } else if (begin_ > 0 && !kept.empty()) {
      std::memmove(bytes_.get(), kept.data(), kept.size());
    }
    end_ -= begin_;
    begin_ = 0;
    return {bytes_.get() + end_, size_ - end_};
  }
  void Commit(std::size_t count) { end_ += count; }
  void Consume(std::size_t count) { begin_ += std::min(count, end_ - begin_); }

 private:
  std::unique_ptr<char[]> bytes_;  // uninitialised: written before it is read
  std::size_t size_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace berth::net
