// cel/internal/source_position.h — errors with their position in the text of an expression.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace berth::cel {

// Line (from 1) and column (from 1, in characters) of the byte `at` of `text`.
struct TextPosition {
  std::size_t line = 1;
  std::size_t column = 1;
};
TextPosition PositionOf(std::string_view text, std::size_t at);

// "ERROR: <input>:1:5: message", the line, and a mark below the position, as cel-go prints them.
std::string DescribeError(std::string_view text, std::size_t at, std::string_view message);
Error ErrorAt(std::string_view text, std::size_t at, std::string_view message);

}  // namespace berth::cel
