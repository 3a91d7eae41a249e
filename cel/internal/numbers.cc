#include "cel/internal/numbers.h"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/rfc3339.h"
#include "base/strings.h"

namespace berth::cel {
namespace {

constexpr std::int64_t kFirstSecond = -62135596800;  // 0001-01-01T00:00:00Z
constexpr std::int64_t kLastSecond = 253402300799;   // 9999-12-31T23:59:59Z

// A finite number's digits d1 d2 …, its value being d1.d2… × 10^exponent.
struct Digits {
  bool negative = false;
  std::string digits;
  int exponent = 0;
};

Digits DigitsOf(double value) {
  std::array<char, 64> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                 std::chars_format::scientific);
  std::string_view text(buffer.data(), static_cast<std::size_t>(end.ptr - buffer.data()));
  Digits parts;
  parts.negative = text.starts_with('-');
  if (parts.negative) text.remove_prefix(1);
  const std::size_t at = text.find('e');
  for (const char c : text.substr(0, at)) {
    if (c != '.') parts.digits += c;
  }
  std::string_view exponent = text.substr(at + 1);
  if (exponent.starts_with('+')) exponent.remove_prefix(1);
  std::from_chars(exponent.data(), exponent.data() + exponent.size(), parts.exponent);
  return parts;
}

std::string Plain(const Digits& parts) {
  std::string text = parts.negative ? "-" : "";
  const int count = static_cast<int>(parts.digits.size());
  if (parts.exponent < 0) {
    text += "0.";
    text.append(static_cast<std::size_t>(-parts.exponent - 1), '0');
    return text + parts.digits;
  }
  for (int i = 0; i < count || i <= parts.exponent; ++i) {
    if (i == parts.exponent + 1) text += '.';
    text += i < count ? parts.digits[static_cast<std::size_t>(i)] : '0';
  }
  return text;
}

std::optional<std::string> NotFinite(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Inf" : "+Inf";
  return std::nullopt;
}

// Nanoseconds of a unit at the start of `text`, which is removed; 0: there is none.
std::int64_t TakeUnit(std::string_view& text) {
  struct Unit {
    std::string_view name;
    std::int64_t nanos;
  };
  constexpr std::array<Unit, 8> kUnits{{{"ns", 1},
                                        {"us", 1'000},
                                        {"\u00B5s", 1'000},
                                        {"\u03BCs", 1'000},
                                        {"ms", 1'000'000},
                                        {"s", kNanosPerSecond},
                                        {"m", 60 * kNanosPerSecond},
                                        {"h", 3600 * kNanosPerSecond}}};
  std::size_t end = 0;
  while (end < text.size() && text[end] != '.' && (text[end] < '0' || text[end] > '9')) ++end;
  for (const Unit& unit : kUnits) {
    if (text.substr(0, end) != unit.name) continue;
    text.remove_prefix(end);
    return unit.nanos;
  }
  return 0;
}

// Number and unit at the start of `text`, in nanoseconds.
std::optional<std::uint64_t> TakePart(std::string_view& text) {
  constexpr std::uint64_t kLimit = std::uint64_t{1} << 63U;
  std::uint64_t whole = 0;
  double fraction = 0;
  double scale = 1;
  bool any = false;
  bool point = false;
  for (; !text.empty(); text.remove_prefix(1)) {
    const char c = text.front();
    if (c == '.' && !point) {
      point = true;
      continue;
    }
    if (c < '0' || c > '9') break;
    any = true;
    if (point) {
      if (scale < 1e18) {
        fraction = fraction * 10 + (c - '0');
        scale *= 10;
      }
    } else {
      if (whole > kLimit / 10) return std::nullopt;
      whole = whole * 10 + static_cast<std::uint64_t>(c - '0');
    }
  }
  if (!any) return std::nullopt;
  const std::int64_t unit = TakeUnit(text);
  if (unit == 0) return std::nullopt;
  const auto factor = static_cast<std::uint64_t>(unit);
  if (whole > kLimit / factor) return std::nullopt;
  return whole * factor +
         static_cast<std::uint64_t>(fraction * (static_cast<double>(unit) / scale));
}

}  // namespace

std::string FormatDouble(double value) {
  if (auto text = NotFinite(value)) return *text;
  Digits parts = DigitsOf(value);
  const int count = static_cast<int>(parts.digits.size());
  // Go's %g for the shortest text: an exponent below -4 or from 6 up is written.
  if (parts.exponent >= -4 && parts.exponent < 6) return Plain(parts);
  std::string text = parts.negative ? "-" : "";
  text += parts.digits[0];
  if (count > 1) text += "." + parts.digits.substr(1);
  text += parts.exponent < 0 ? "e-" : "e+";
  const int size = parts.exponent < 0 ? -parts.exponent : parts.exponent;
  if (size < 10) text += '0';
  return text + std::to_string(size);
}

std::string FormatPlainDouble(double value) {
  if (auto text = NotFinite(value)) return *text;
  return Plain(DigitsOf(value));
}

std::optional<double> ParseDouble(std::string_view text) {
  std::string_view number = text;
  if (number.starts_with('+') || number.starts_with('-')) number.remove_prefix(1);
  const bool negative = text.starts_with('-');
  const std::string lower = ToLower(number);
  if (lower == "nan" && number.size() == text.size()) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (lower == "inf" || lower == "infinity") {
    return negative ? -std::numeric_limits<double>::infinity()
                    : std::numeric_limits<double>::infinity();
  }
  std::string plain;  // without the underscores that Go allows between digits
  for (std::size_t i = 0; i < number.size(); ++i) {
    const auto is_digit = [&](std::size_t at) {
      return at < number.size() && number[at] >= '0' && number[at] <= '9';
    };
    if (number[i] != '_') {
      plain += number[i];
    } else if (i == 0 || !is_digit(i - 1) || !is_digit(i + 1)) {
      return std::nullopt;
    }
  }
  number = plain;
  if (number.empty() || number.find_first_not_of("0123456789.eE+-") != std::string_view::npos) {
    return std::nullopt;
  }
  if (number.front() == '+' || number.front() == '-') return std::nullopt;
  double value = 0;
  const char* const end = number.data() + number.size();
  const auto result = std::from_chars(number.data(), end, value);
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return negative ? -value : value;
}

std::optional<std::uint64_t> ParseUint64(std::string_view text) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  if (text.empty() || result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return value;
}

std::optional<std::int64_t> ParseDuration(std::string_view text) {
  constexpr std::uint64_t kLimit = std::uint64_t{1} << 63U;
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text == "0") return 0;
  if (text.empty()) return std::nullopt;
  std::uint64_t sum = 0;
  while (!text.empty()) {
    const auto part = TakePart(text);
    if (!part || *part > kLimit - sum) return std::nullopt;
    sum += *part;
  }
  if (negative) {
    return sum == kLimit ? INT64_MIN : -static_cast<std::int64_t>(sum);
  }
  if (sum >= kLimit) return std::nullopt;
  return static_cast<std::int64_t>(sum);
}

std::string FormatDuration(std::int64_t nanoseconds) {
  // Seconds as Go's Duration.Seconds() has them: whole seconds and the rest as doubles.
  const std::int64_t seconds = nanoseconds / kNanosPerSecond;
  const std::int64_t rest = nanoseconds % kNanosPerSecond;
  return FormatPlainDouble(static_cast<double>(seconds) + static_cast<double>(rest) / 1e9) + "s";
}

bool IsInstantInRange(Instant instant) {
  return instant.seconds >= kFirstSecond && instant.seconds <= kLastSecond;
}

std::optional<Instant> ParseInstant(std::string_view text) {
  // Go reads neither a blank nor lower-case letters between the parts.
  if (text.size() < 20 || text[10] != 'T' || text.find('z') != std::string_view::npos) {
    return std::nullopt;
  }
  if (text.substr(17, 2) == "60") return std::nullopt;
  std::string copy(text);
  if (copy[19] == ',') copy[19] = '.';  // Go reads it so
  const auto time = ParseTime(copy);
  if (!time) return std::nullopt;
  Instant instant;
  instant.seconds = std::chrono::floor<std::chrono::seconds>(*time).time_since_epoch().count();
  if (copy[19] == '.') {
    std::int32_t scale = 100'000'000;
    for (const char c : text.substr(20)) {
      if (c < '0' || c > '9' || scale == 0) break;
      instant.nanos += scale * (c - '0');
      scale /= 10;
    }
  }
  if (!IsInstantInRange(instant)) return std::nullopt;
  return instant;
}

std::string FormatInstant(Instant instant) {
  std::string text = FormatTime(
      WallTime(std::chrono::duration_cast<berth::Duration>(std::chrono::seconds(instant.seconds))));
  if (instant.nanos == 0) return text;
  std::string fraction = std::to_string(kNanosPerSecond + instant.nanos).substr(1);
  while (fraction.ends_with('0')) fraction.pop_back();
  text.insert(text.size() - 1, "." + fraction);
  return text;
}

}  // namespace berth::cel
