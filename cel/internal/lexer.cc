#include "cel/internal/lexer.h"

#include <array>
#include <optional>

#include "base/strings.h"
#include "cel/internal/source_position.h"

namespace berth::cel {
namespace {

bool IsHex(char c) { return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool IsNameStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Result<std::vector<Token>> Run() {
    std::vector<Token> tokens;
    while (true) {
      SkipBlanks();
      Token token;
      token.at = at_;
      if (at_ == text_.size()) {
        tokens.push_back(token);
        return tokens;
      }
      const std::size_t size = Next(token.kind);
      if (size == 0) return Refuse();
      token.text = text_.substr(at_, size);
      at_ += size;
      tokens.push_back(token);
    }
  }

 private:
  char Peek(std::size_t offset) const {
    return at_ + offset < text_.size() ? text_[at_ + offset] : '\0';
  }

  Error Refuse() const {
    const std::size_t size = text_.size() - at_;
    std::size_t end = 1;
    while (end < size && (static_cast<unsigned char>(text_[at_ + end]) & 0xC0U) == 0x80U) ++end;
    return ErrorAt(text_, at_,
                   "Syntax error: token recognition error at: '" +
                       ReplaceInvalidUtf8(text_.substr(at_, end)) + "'");
  }

  void SkipBlanks() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f') {
        ++at_;
      } else if (c == '/' && Peek(1) == '/') {
        at_ = text_.find('\n', at_);
        if (at_ == std::string_view::npos) at_ = text_.size();
      } else {
        return;
      }
    }
  }

  // The size of the token at at_, 0 if none begins there.
  std::size_t Next(TokenKind& kind) const {
    const char c = Peek(0);
    if (IsDigit(c) || (c == '.' && IsDigit(Peek(1)))) return Number(kind);
    if (const std::size_t size = Quoted(kind)) return size;
    if (IsNameStart(c)) {
      kind = TokenKind::kName;
      std::size_t size = 1;
      while (IsNameStart(Peek(size)) || IsDigit(Peek(size))) ++size;
      return size;
    }
    kind = TokenKind::kSymbol;
    constexpr std::array<std::string_view, 6> kPairs{"==", "!=", "<=", ">=", "&&", "||"};
    for (const std::string_view pair : kPairs) {
      if (text_.substr(at_, 2) == pair) return 2;
    }
    constexpr std::string_view kSingle = "<>[]{}().,-!?:+*/%";
    return kSingle.find(c) == std::string_view::npos ? 0 : 1;
  }

  std::size_t Digits(std::size_t from) const {
    std::size_t end = from;
    while (IsDigit(Peek(end))) ++end;
    return end;
  }

  std::size_t Number(TokenKind& kind) const {
    kind = TokenKind::kInt;
    std::size_t end = 0;
    if (Peek(0) == '0' && Peek(1) == 'x' && IsHex(Peek(2))) {
      end = 2;
      while (IsHex(Peek(end))) ++end;
    } else {
      end = Digits(0);
      if (Peek(end) == '.' && IsDigit(Peek(end + 1))) {
        kind = TokenKind::kDouble;
        end = Digits(end + 1);
      }
      if (Peek(end) == 'e' || Peek(end) == 'E') {
        const std::size_t sign = Peek(end + 1) == '+' || Peek(end + 1) == '-' ? 1 : 0;
        if (IsDigit(Peek(end + 1 + sign))) {
          kind = TokenKind::kDouble;
          end = Digits(end + 1 + sign);
        }
      }
    }
    if (kind == TokenKind::kInt && (Peek(end) == 'u' || Peek(end) == 'U')) {
      kind = TokenKind::kUint;
      ++end;
    }
    return end;
  }

  // A string or bytes with their prefix; 0 if none begins here or it does not end.
  std::size_t Quoted(TokenKind& kind) const {
    std::size_t begin = 0;
    bool raw = false;
    kind = TokenKind::kString;
    if (Peek(begin) == 'b' || Peek(begin) == 'B') {
      kind = TokenKind::kBytes;
      ++begin;
    }
    if (Peek(begin) == 'r' || Peek(begin) == 'R') {
      raw = true;
      ++begin;
    }
    const char quote = Peek(begin);
    if (quote != '"' && quote != '\'') return 0;
    const bool triple = Peek(begin + 1) == quote && Peek(begin + 2) == quote;
    std::size_t i = begin + (triple ? 3 : 1);
    while (at_ + i < text_.size()) {
      const char c = Peek(i);
      if (c == '\\' && !raw) {
        i += 2;
        continue;
      }
      if (c == quote && (!triple || (Peek(i + 1) == quote && Peek(i + 2) == quote))) {
        return i + (triple ? 3 : 1);
      }
      if (!triple && (c == '\n' || c == '\r')) return 0;
      ++i;
    }
    return 0;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

void AppendUtf8(std::string& text, std::uint32_t code) {
  const auto byte = [&](std::uint32_t bits) { text += static_cast<char>(bits); };
  if (code < 0x80U) {
    byte(code);
  } else if (code < 0x800U) {
    byte(0xC0U | (code >> 6U));
    byte(0x80U | (code & 0x3FU));
  } else if (code < 0x10000U) {
    byte(0xE0U | (code >> 12U));
    byte(0x80U | ((code >> 6U) & 0x3FU));
    byte(0x80U | (code & 0x3FU));
  } else {
    byte(0xF0U | (code >> 18U));
    byte(0x80U | ((code >> 12U) & 0x3FU));
    byte(0x80U | ((code >> 6U) & 0x3FU));
    byte(0x80U | (code & 0x3FU));
  }
}

Error BadEscape(const char* why) { return Error{ErrorCode::kInvalid, why}; }

// `count` digits of `base` at the start of `text`.
std::optional<std::uint32_t> TakeCode(std::string_view& text, std::size_t count,
                                      std::uint32_t base) {
  if (text.size() < count) return std::nullopt;
  std::uint32_t code = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const char c = text[i];
    if (!IsHex(c)) return std::nullopt;
    const auto digit =
        static_cast<std::uint32_t>(IsDigit(c) ? c - '0' : (c >= 'a' ? c - 'a' + 10 : c - 'A' + 10));
    if (digit >= base) return std::nullopt;
    code = code * base + digit;
  }
  text.remove_prefix(count);
  return code;
}

// Reads the escape behind a backslash at the start of `text`, and removes it.
Status TakeEscape(std::string_view& text, bool bytes, std::string& result) {
  constexpr std::string_view kLetters = "abfnrtv\\'\"`?";
  constexpr std::string_view kMeanings = "\a\b\f\n\r\t\v\\'\"`?";
  if (text.empty()) return BadEscape("unable to unescape string, found '\\' as last character");
  const char c = text.front();
  if (const std::size_t at = kLetters.find(c); at != std::string_view::npos) {
    result += kMeanings[at];
    text.remove_prefix(1);
    return OkStatus();
  }
  std::optional<std::uint32_t> code;
  if (c == 'x' || c == 'X') {
    text.remove_prefix(1);
    code = TakeCode(text, 2, 16);
  } else if ((c == 'u' || c == 'U') && !bytes) {
    text.remove_prefix(1);
    code = TakeCode(text, c == 'u' ? 4 : 8, 16);
  } else if (c >= '0' && c <= '3') {
    code = TakeCode(text, 3, 8);
  }
  if (!code) return BadEscape("unable to unescape string");
  if (bytes) {
    result += static_cast<char>(*code);
    return OkStatus();
  }
  if (*code > 0x10FFFFU || (*code >= 0xD800U && *code <= 0xDFFFU)) {
    return BadEscape("invalid unicode code point");
  }
  AppendUtf8(result, *code);
  return OkStatus();
}

std::string NormalizeLineEnds(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r') {
      result += text[i];
      continue;
    }
    result += '\n';
    if (i + 1 < text.size() && text[i + 1] == '\n') ++i;
  }
  return result;
}

}  // namespace

Result<std::vector<Token>> Tokenize(std::string_view text) { return Lexer(text).Run(); }

Result<std::string> Unquote(const Token& token) {
  const bool bytes = token.kind == TokenKind::kBytes;
  std::string_view text = token.text;
  if (bytes) text.remove_prefix(1);
  const bool raw = text.front() == 'r' || text.front() == 'R';
  if (raw) text.remove_prefix(1);
  const bool triple = text.size() >= 6 && text[1] == text[0] && text[2] == text[0];
  const std::size_t quotes = triple ? 3 : 1;
  const std::string content = NormalizeLineEnds(text.substr(quotes, text.size() - 2 * quotes));
  if (raw) return content;
  std::string result;
  std::string_view rest = content;
  while (!rest.empty()) {
    const char c = rest.front();
    rest.remove_prefix(1);
    if (c != '\\') {
      result += c;
      continue;
    }
    BERTH_CHECK_OK(TakeEscape(rest, bytes, result));
  }
  return result;
}

}  // namespace berth::cel
