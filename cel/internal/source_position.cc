#include "cel/internal/source_position.h"

namespace berth::cel {
namespace {

// A longer line is not shown.
constexpr std::size_t kMaxLine = 16384;

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

}  // namespace

TextPosition PositionOf(std::string_view text, std::size_t at) {
  TextPosition position;
  for (std::size_t i = 0; i < at && i < text.size(); ++i) {
    if (text[i] == '\n') {
      ++position.line;
      position.column = 1;
    } else if (!IsContinuation(text[i])) {
      ++position.column;
    }
  }
  return position;
}

std::string DescribeError(std::string_view text, std::size_t at, std::string_view message) {
  if (at > text.size()) at = text.size();
  const TextPosition position = PositionOf(text, at);
  std::string result = "ERROR: <input>:" + std::to_string(position.line) + ":" +
                       std::to_string(position.column) + ": " + std::string(message);
  std::size_t begin = at;
  while (begin > 0 && text[begin - 1] != '\n') --begin;
  std::size_t end = text.find('\n', at);
  if (end == std::string_view::npos) end = text.size();
  if (text.empty() || end - begin > kMaxLine) return result;
  std::string line;
  std::string mark;
  for (std::size_t i = begin; i < end; ++i) {
    line += text[i] == '\t' ? ' ' : text[i];
    if (i >= at || IsContinuation(text[i])) continue;
    const bool wide = i + 1 < text.size() && IsContinuation(text[i + 1]);
    mark += wide ? "\uFF0E" : ".";
  }
  const bool wide = at + 1 < text.size() && IsContinuation(text[at + 1]);
  mark += wide ? "\uFF3E" : "^";
  return result + "\n | " + line + "\n | " + mark;
}

Error ErrorAt(std::string_view text, std::size_t at, std::string_view message) {
  return Error{ErrorCode::kInvalid, DescribeError(text, at, message)};
}

}  // namespace berth::cel
