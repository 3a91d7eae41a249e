#include "base/terminal_text.h"

#include <array>
#include <cstdint>
#include <cstdio>

#include "base/strings.h"

namespace berth {
namespace {

enum class Form { kScreen, kLine, kJson };

constexpr std::array<std::string_view, 6> kStyles{"\x1b[0m",  "\x1b[1m",  "\x1b[2m",
                                                  "\x1b[31m", "\x1b[32m", "\x1b[33m"};

// The style at the start of `text`; empty: none.
std::string_view StyleAt(std::string_view text) {
  for (const std::string_view style : kStyles) {
    if (text.starts_with(style)) return style;
  }
  return {};
}

// The bytes of the character at the start of `text`; 0: a byte that is no UTF-8.
std::size_t CharacterLength(std::string_view text) {
  for (std::size_t length = 1; length <= 4 && length <= text.size(); ++length) {
    if (IsValidUtf8(text.substr(0, length))) return length;
  }
  return 0;
}

// `sequence`: one character in UTF-8.
std::uint32_t CodePoint(std::string_view sequence) {
  const auto first = static_cast<std::uint8_t>(sequence.front());
  if (sequence.size() == 1) return first;
  std::uint32_t code = first & (0x7FU >> sequence.size());
  for (const char c : sequence.substr(1)) {
    code = (code << 6U) | (static_cast<std::uint8_t>(c) & 0x3FU);
  }
  return code;
}

bool ActsOnTerminal(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7F && code <= 0x9F) || code == 0x2028 || code == 0x2029 ||
         (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

std::string Visible(std::uint32_t code, Form form) {
  std::array<char, 16> text{};
  if (form == Form::kJson) {
    std::snprintf(text.data(), text.size(), "\\u%04x", code);
  } else if (code < 0x80) {
    std::snprintf(text.data(), text.size(), "^%c", static_cast<char>(code ^ 0x40U));
  } else {
    std::snprintf(text.data(), text.size(), "<U+%04X>", code);
  }
  return text.data();
}

// Line ends and tabs stand between the values of JSON, never inside.
std::string Convert(std::string_view text, Form form) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::string_view style = form == Form::kScreen ? StyleAt(text) : std::string_view();
    std::size_t length = style.size();
    if (!style.empty()) {
      out += style;
    } else if (form == Form::kScreen && text.starts_with("\r\n")) {
      length = 2;
      out += "\r\n";
    } else if ((length = CharacterLength(text)) == 0) {
      std::array<char, 8> shown{};
      length = 1;
      std::snprintf(shown.data(), shown.size(), "<0x%02X>",
                    static_cast<unsigned>(static_cast<std::uint8_t>(text.front())));
      out += shown.data();
    } else {
      const std::uint32_t code = CodePoint(text.substr(0, length));
      const bool is_line_end = code == '\n';
      if (is_line_end && form == Form::kLine) {
        out += "\\n";
      } else if (is_line_end || code == '\t' || !ActsOnTerminal(code)) {
        out += text.substr(0, length);
      } else {
        out += Visible(code, form);
      }
    }
    text.remove_prefix(length);
  }
  return out;
}

}  // namespace

std::string TerminalScreen(std::string_view text) { return Convert(text, Form::kScreen); }
std::string TerminalLine(std::string_view text) { return Convert(text, Form::kLine); }
std::string TerminalJson(std::string_view json) { return Convert(json, Form::kJson); }

}  // namespace berth
