// net/internal/input_buffer.h — bytes that were received and not yet parsed, contiguous.
#pragma once

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::net {

class InputBuffer {
 public:
  // What stands here while a connection waits; a body grows it.
  static constexpr std::size_t kSmallSize = 4 * 1024;
  static constexpr std::size_t kLargeSize = 64 * 1024;

  std::string_view view() const { return {bytes_.data() + begin_, end_ - begin_}; }
  bool empty() const { return begin_ == end_; }

  // Room behind the bytes: the buffer has `size` bytes from now on, or more where it must.
  std::pair<char*, std::size_t> Prepare(std::size_t size) {
    if (begin_ > 0) {
      std::memmove(bytes_.data(), bytes_.data() + begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = 0;
    }
    if (end_ == 0 && bytes_.size() > size) {
      bytes_ = std::vector<char>(size);
    } else if (bytes_.size() < size) {
      bytes_.resize(size);
    }
    return {bytes_.data() + end_, bytes_.size() - end_};
  }
  void Commit(std::size_t count) { end_ += count; }
  void Consume(std::size_t count) { begin_ += std::min(count, end_ - begin_); }

 private:
  std::vector<char> bytes_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace berth::net
