#include "api/codec/json_parser.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace berth::api {
namespace {

using Kind = JsonNode::Kind;

constexpr std::string_view kLeftOut = "managedFields";

unsigned char Byte(const char* at) { return static_cast<unsigned char>(*at); }

// Bytes that stand for themselves inside a string.
constexpr std::array<bool, 256> MakePlain() {
  std::array<bool, 256> plain{};
  for (std::size_t c = 0x20; c < 0x80; ++c) plain[c] = c != '"' && c != '\\';
  return plain;
}
constexpr std::array<bool, 256> kPlain = MakePlain();

constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }

void AppendUtf8(std::uint32_t code, std::string& out) {
  const auto put = [&out](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) return put(code);
  if (code < 0x800) {
    put(0xC0U | (code >> 6U));
  } else {
    if (code < 0x10000) {
      put(0xE0U | (code >> 12U));
    } else {
      put(0xF0U | (code >> 18U));
      put(0x80U | ((code >> 12U) & 0x3FU));
    }
    put(0x80U | ((code >> 6U) & 0x3FU));
  }
  put(0x80U | (code & 0x3FU));
}

}  // namespace

void JsonParser::SkipBlanks() {
  while (at_ < end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
}

bool JsonParser::Take(char c) {
  SkipBlanks();
  if (at_ == end_ || *at_ != c) return false;
  ++at_;
  return true;
}

bool JsonParser::AtEnd() {
  SkipBlanks();
  return at_ == end_;
}

bool JsonParser::Value(std::string_view key, int depth) {
  SkipBlanks();
  if (at_ == end_ || depth > kMaxJsonDepth) return false;
  const std::size_t index = nodes_.size();
  const char* start = at_;
  nodes_.emplace_back().key = key;
  bool good = false;
  switch (*at_) {
    case '{': good = Object(depth); break;
    case '[': good = Array(depth); break;
    case '"': {
      std::string_view text;
      good = String(text);
      nodes_[index].kind = Kind::kString;
      nodes_[index].text = text;
      return good;
    }
    case 't': good = Word("true", Kind::kTrue); break;
    case 'f': good = Word("false", Kind::kFalse); break;
    case 'n': good = Word("null", Kind::kNull); break;
    default: good = Number();
  }
  nodes_[index].text = {start, static_cast<std::size_t>(at_ - start)};
  nodes_[index].span = static_cast<std::uint32_t>(nodes_.size() - index);
  return good;
}

bool JsonParser::Object(int depth) {
  nodes_.back().kind = Kind::kObject;
  ++at_;
  if (Take('}')) return true;
  do {
    SkipBlanks();
    std::string_view key;
    if (!String(key) || !Take(':')) return false;
    if (key == kLeftOut ? !SkipValue() : !Value(key, depth + 1)) return false;
  } while (Take(','));
  return Take('}');
}

bool JsonParser::Array(int depth) {
  nodes_.back().kind = Kind::kArray;
  ++at_;
  if (Take(']')) return true;
  do {
    if (!Value({}, depth + 1)) return false;
  } while (Take(','));
  return Take(']');
}

bool JsonParser::Word(std::string_view word, Kind kind) {
  if (static_cast<std::size_t>(end_ - at_) < word.size()) return false;
  if (std::memcmp(at_, word.data(), word.size()) != 0) return false;
  at_ += word.size();
  nodes_.back().kind = kind;
  return true;
}

bool JsonParser::Digits() {
  const char* start = at_;
  while (at_ < end_ && IsDigit(*at_)) ++at_;
  return at_ != start;
}

bool JsonParser::Number() {
  nodes_.back().kind = Kind::kInteger;
  if (*at_ == '-') ++at_;
  const char* start = at_;
  if (!Digits() || (*start == '0' && at_ - start > 1)) return false;
  if (at_ < end_ && *at_ == '.') {
    nodes_.back().kind = Kind::kFloat;
    ++at_;
    if (!Digits()) return false;
  }
  if (at_ < end_ && (*at_ == 'e' || *at_ == 'E')) {
    nodes_.back().kind = Kind::kFloat;
    ++at_;
    if (at_ < end_ && (*at_ == '+' || *at_ == '-')) ++at_;
    if (!Digits()) return false;
  }
  return true;
}

bool JsonParser::String(std::string_view& out) {
  if (at_ == end_ || *at_ != '"') return false;
  const char* start = ++at_;
  for (;;) {
    while (at_ < end_ && kPlain[Byte(at_)]) ++at_;
    if (at_ == end_) return false;
    if (*at_ == '"') break;
    if (*at_ == '\\') return RestOfEscaped(start, out);
    if (!SkipUtf8()) return false;
  }
  out = {start, static_cast<std::size_t>(at_ - start)};
  ++at_;
  return true;
}

bool JsonParser::RestOfEscaped(const char* start, std::string_view& out) {
  std::string& text = unescaped_.emplace_back(start, at_);
  for (;;) {
    start = at_;
    while (at_ < end_ && kPlain[Byte(at_)]) ++at_;
    text.append(start, at_);
    if (at_ == end_) return false;
    if (*at_ == '"') break;
    start = at_;
    if (*at_ == '\\') {
      if (!Escape(text)) return false;
    } else {
      if (!SkipUtf8()) return false;
      text.append(start, at_);
    }
  }
  ++at_;
  out = text;
  return true;
}

bool JsonParser::Escape(std::string& out) {
  constexpr std::string_view kNames = "\"\\/bfnrt";
  constexpr std::string_view kValues = "\"\\/\b\f\n\r\t";
  if (++at_ == end_) return false;
  const char name = *at_++;
  if (name == 'u') return UnicodeEscape(out);
  const std::size_t which = kNames.find(name);
  if (which == std::string_view::npos) return false;
  out += kValues[which];
  return true;
}

bool JsonParser::UnicodeEscape(std::string& out) {
  std::uint32_t code = 0;
  if (!Hex4(code)) return false;
  if (code >= 0xDC00 && code <= 0xDFFF) return false;  // the second half of a pair comes first
  if (code >= 0xD800 && code <= 0xDBFF) {
    std::uint32_t low = 0;
    if (end_ - at_ < 2 || at_[0] != '\\' || at_[1] != 'u') return false;
    at_ += 2;
    if (!Hex4(low) || low < 0xDC00 || low > 0xDFFF) return false;
    code = 0x10000 + ((code - 0xD800) << 10U) + (low - 0xDC00);
  }
  AppendUtf8(code, out);
  return true;
}

bool JsonParser::Hex4(std::uint32_t& out) {
  if (end_ - at_ < 4) return false;
  for (int i = 0; i < 4; ++i, ++at_) {
    const char c = *at_;
    std::uint32_t digit = 0;
    if (IsDigit(c)) {
      digit = static_cast<std::uint32_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      digit = static_cast<std::uint32_t>(c - 'a' + 10);
    } else if (c >= 'A' && c <= 'F') {
      digit = static_cast<std::uint32_t>(c - 'A' + 10);
    } else {
      return false;
    }
    out = out << 4U | digit;
  }
  return true;
}

// One character of more than one byte: shortest form only, no surrogates, at most U+10FFFF.
bool JsonParser::SkipUtf8() {
  const unsigned char lead = Byte(at_);
  std::ptrdiff_t more = 0;
  unsigned char low = 0x80;
  unsigned char high = 0xBF;
  if (lead >= 0xC2 && lead <= 0xDF) {
    more = 1;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    more = 2;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    more = 3;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
  } else {
    return false;  // a control character, or no first byte
  }
  if (end_ - at_ <= more) return false;
  for (std::ptrdiff_t i = 1; i <= more; ++i) {
    const unsigned char next = Byte(at_ + i);
    if (next < (i == 1 ? low : 0x80) || next > (i == 1 ? high : 0xBF)) return false;
  }
  at_ += more + 1;
  return true;
}

bool JsonParser::SkipString() {
  ++at_;
  while (at_ < end_) {
    const char c = *at_++;
    if (c == '"') return true;
    if (c == '\\' && at_ < end_) ++at_;
  }
  return false;
}

bool JsonParser::SkipValue() {
  std::string open;  // the closing brackets that are due
  SkipBlanks();
  if (at_ == end_ || (*at_ != '{' && *at_ != '[')) {  // rare: no list at all
    const std::size_t before = nodes_.size();
    const bool good = Value({}, 0);
    nodes_.resize(before);
    return good;
  }
  while (at_ < end_) {
    const char c = *at_;
    if (c == '"') {
      if (!SkipString()) return false;
      continue;
    }
    ++at_;
    if (c == '{' || c == '[') {
      open += c == '{' ? '}' : ']';
    } else if (c == '}' || c == ']') {
      if (open.back() != c) return false;
      open.pop_back();
      if (open.empty()) return true;
    }
  }
  return false;
}

}  // namespace berth::api
