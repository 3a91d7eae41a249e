#include "cel/internal/runes.h"

#include <cstring>

#include "base/strings.h"

namespace berth::cel {

std::size_t RuneSize(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  if (first < 0xC0U) return 1;
  const std::size_t size = first >= 0xF0U ? 4 : (first >= 0xE0U ? 3 : 2);
  if (size > text.size() || !IsValidUtf8(text.substr(0, size))) return 1;
  return size;
}

std::size_t CountRunes(std::string_view text) {
  std::size_t count = 0;
  for (; !text.empty(); ++count) text.remove_prefix(RuneSize(text));
  return count;
}

std::size_t OffsetOfRune(std::string_view text, std::size_t index) {
  std::size_t offset = 0;
  for (; index > 0; --index) {
    if (offset == text.size()) return std::string_view::npos;
    offset += RuneSize(text.substr(offset));
  }
  return offset;
}

std::size_t FindText(std::string_view text, std::string_view wanted, std::size_t from) {
  if (from > text.size()) return std::string_view::npos;
  if (wanted.empty()) return from;
  const void* found = memmem(text.data() + from, text.size() - from, wanted.data(), wanted.size());
  if (found == nullptr) return std::string_view::npos;
  return static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
}

}  // namespace berth::cel
