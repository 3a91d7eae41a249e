#include "api/yaml/scalar.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "base/strings.h"

namespace berth::api {
namespace {

using Json = nlohmann::json;

constexpr std::array<std::string_view, 11> kTrueWords{"y",  "Y",  "yes",  "Yes",  "YES", "on",
                                                      "On", "ON", "true", "True", "TRUE"};
constexpr std::array<std::string_view, 11> kFalseWords{
    "n", "N", "no", "No", "NO", "off", "Off", "OFF", "false", "False", "FALSE"};
constexpr std::array<std::string_view, 5> kNullWords{"", "~", "null", "Null", "NULL"};
constexpr std::array<std::string_view, 12> kNotNumbers{".nan",  ".NaN",  ".NAN",  ".inf",
                                                       ".Inf",  ".INF",  "+.inf", "+.Inf",
                                                       "+.INF", "-.inf", "-.Inf", "-.INF"};

template <typename Words>
bool IsOneOf(const Words& words, std::string_view text) {
  for (const std::string_view word : words) {
    if (word == text) return true;
  }
  return false;
}

// Forms: 0x1F, 0o17, 017, 0b11, 42, with a sign; "_" is removed already.
std::optional<Json> ReadInteger(std::string_view text) {
  bool negative = false;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  int base = 10;
  if (text.size() > 1 && text[0] == '0') {
    const char mark = text[1];
    if (mark == 'x' || mark == 'X') base = 16;
    if (mark == 'o' || mark == 'O') base = 8;
    if (mark == 'b' || mark == 'B') base = 2;
    text.remove_prefix(base == 10 ? 1 : 2);
    if (base == 10) base = 8;
  }
  std::uint64_t magnitude = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), magnitude, base);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (!negative) {
    constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (magnitude <= kMax) return Json(static_cast<std::int64_t>(magnitude));
    return Json(magnitude);
  }
  constexpr std::uint64_t kLimit = std::uint64_t{1} << 63U;
  if (magnitude > kLimit) return std::nullopt;
  return Json(static_cast<std::int64_t>(~magnitude + 1));
}

// [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?
bool LooksLikeFloat(std::string_view text) {
  std::size_t at = 0;
  const auto digits = [&] {
    const std::size_t start = at;
    while (at < text.size() && IsDigit(text[at])) ++at;
    return at > start;
  };
  if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
  if (at < text.size() && text[at] == '.') {
    ++at;
    if (!digits()) return false;
  } else {
    if (!digits()) return false;
    if (at < text.size() && text[at] == '.') {
      ++at;
      digits();
    }
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
    if (!digits()) return false;
  }
  return at == text.size();
}

// A whole number becomes an integer: JSON writes 1e3 as 1000.
std::optional<Json> ReadFloat(std::string_view text) {
  if (!LooksLikeFloat(text)) return std::nullopt;
  if (text[0] == '+') text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range && text.find("e-") != std::string_view::npos) {
    return Json(0);  // underflow
  }
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (std::trunc(value) == value && value > -kExact && value < kExact) {
    return Json(static_cast<std::int64_t>(value));
  }
  return Json(value);
}

}  // namespace

bool LooksLikeTime(std::string_view text) {
  std::size_t at = 0;
  const auto digits = [&](std::size_t least, std::size_t most) {
    const std::size_t start = at;
    while (at < text.size() && at - start < most && IsDigit(text[at])) ++at;
    return at - start >= least;
  };
  const auto take = [&](char c) {
    if (at == text.size() || text[at] != c) return false;
    ++at;
    return true;
  };
  if (digits(4, 4) && take('-') && digits(1, 2) && take('-') && digits(1, 2)) {
    if (at == text.size()) return true;
    if (text[at] != 'T' && text[at] != 't' && text[at] != ' ') return false;
    ++at;
    return digits(1, 2) && take(':') && digits(1, 2) && take(':') && digits(1, 2);
  }
  // 190:20:30 and 190:20:30.15 are sexagesimal numbers.
  at = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  if (!digits(1, text.size())) return false;
  std::size_t groups = 0;
  while (take(':')) {
    if (!digits(1, 2)) return false;
    ++groups;
  }
  if (groups > 0 && take('.')) digits(0, text.size());
  return groups > 0 && at == text.size();
}

std::optional<Json> ResolvePlainScalar(std::string_view text) {
  if (IsOneOf(kNullWords, text)) return Json(nullptr);
  if (IsOneOf(kTrueWords, text)) return Json(true);
  if (IsOneOf(kFalseWords, text)) return Json(false);
  if (IsOneOf(kNotNumbers, text)) return std::nullopt;
  const char first = text[0];
  if (!IsDigit(first) && first != '-' && first != '+' && first != '.') return Json(text);

  std::string plain;
  for (const char c : text) {
    if (c != '_') plain += c;
  }
  if (first != '.') {
    if (auto integer = ReadInteger(plain)) return integer;
  }
  if (auto number = ReadFloat(plain)) return number;
  return Json(text);
}

Character CharacterAt(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const char32_t first = byte(at);
  if (first < 0x80) return {first, 1};
  const std::size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() - at < bytes) return {0xFFFD, 1};
  char32_t code = first & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(at + i) & 0xC0U) != 0x80U) return {0xFFFD, 1};
    code = (code << 6U) | (byte(at + i) & 0x3FU);
  }
  return {code, bytes};
}

bool IsAllowedInStream(char32_t code) {
  return code == '\t' || code == '\n' || code == '\r' || (code >= 0x20 && code < 0x7F) ||
         code == 0x85 || (code >= 0xA0 && code != 0xFFFE && code != 0xFFFF);
}

bool IsWrittenPlain(char32_t code) {
  return (code >= 0x20 && code < 0x7F) ||
         (code >= 0xA0 && code < 0xFFFE && code != 0xFEFF && code != 0x2028 && code != 0x2029);
}

}  // namespace berth::api
