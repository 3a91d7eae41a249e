// cel/internal/lexer.h — the tokens of an expression's text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace berth::cel {

enum class TokenKind : std::uint8_t {
  kEnd,
  kName,  // also true, false, null, in
  kInt,   // 12, 0x1F
  kUint,  // ends with u
  kDouble,
  kString,  // quotes and prefix included
  kBytes,
  kSymbol,  // operators and brackets
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::size_t at = 0;
  std::string_view text;
};

// The last token is kEnd. Blanks and comments (// to the end of the line) are left out. The tokens
// view `text`. kInvalid with the place of a character that begins no token.
Result<std::vector<Token>> Tokenize(std::string_view text);

// The content of a string or bytes token: quotes removed, escapes read, line ends as \n.
Result<std::string> Unquote(const Token& token);

}  // namespace berth::cel
