#include "cel/property_names.h"

#include <algorithm>
#include <array>

#include "base/strings.h"

namespace berth::cel {
namespace {

constexpr std::array<std::string_view, 21> kReserved{
    "true",     "false",   "null",      "in",       "as",  "break",  "const",
    "continue", "else",    "for",       "function", "if",  "import", "let",
    "loop",     "package", "namespace", "return",   "var", "void",   "while"};

struct Escape {
  std::string_view plain;
  std::string_view word;
};
constexpr std::array<Escape, 4> kEscapes{
    {{"__", "underscores"}, {".", "dot"}, {"-", "dash"}, {"/", "slash"}}};

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

}  // namespace

bool IsIdentifier(std::string_view name) {
  if (name.empty() || IsDigit(name.front())) return false;
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return IsLetter(c) || IsDigit(c) || c == '_'; });
}

bool IsReservedWord(std::string_view name) {
  return std::find(kReserved.begin(), kReserved.end(), name) != kReserved.end();
}

std::optional<std::string> EscapeProperty(std::string_view name) {
  if (name.empty() || IsDigit(name.front())) return std::nullopt;
  if (IsReservedWord(name)) return "__" + std::string(name) + "__";
  std::string escaped;
  while (!name.empty()) {
    const auto escape = std::find_if(kEscapes.begin(), kEscapes.end(),
                                     [&](const Escape& e) { return name.starts_with(e.plain); });
    if (escape != kEscapes.end()) {
      escaped += "__" + std::string(escape->word) + "__";
      name.remove_prefix(escape->plain.size());
      continue;
    }
    const char c = name.front();
    if (!IsLetter(c) && !IsDigit(c) && c != '_') return std::nullopt;
    escaped += c;
    name.remove_prefix(1);
  }
  return escaped;
}

std::optional<std::string> UnescapeProperty(std::string_view name) {
  if (!IsIdentifier(name)) return std::nullopt;
  if (name.size() > 4 && name.starts_with("__") && name.ends_with("__")) {
    const std::string_view word = name.substr(2, name.size() - 4);
    if (IsReservedWord(word)) return std::string(word);
  }
  if (IsReservedWord(name)) return std::nullopt;
  std::string plain;
  while (!name.empty()) {
    if (!name.starts_with("__")) {
      plain += name.front();
      name.remove_prefix(1);
      continue;
    }
    const auto escape = std::find_if(kEscapes.begin(), kEscapes.end(), [&](const Escape& e) {
      return name.substr(2).starts_with(e.word) && name.substr(2 + e.word.size()).starts_with("__");
    });
    if (escape == kEscapes.end()) {
      // "___dot__" is an underscore and a dot.
      if (!name.starts_with("___")) return std::nullopt;
      plain += '_';
      name.remove_prefix(1);
      continue;
    }
    plain += escape->plain;
    name.remove_prefix(4 + escape->word.size());
  }
  return plain;
}

}  // namespace berth::cel
