#include "base/rfc3339.h"

#include <array>
#include <cstdio>

namespace berth {
namespace {

using std::chrono::days;
using std::chrono::floor;
using std::chrono::hours;
using std::chrono::minutes;

void AppendDigits(std::string& text, unsigned value, unsigned unit) {
  for (; unit > 0; unit /= 10) text.push_back(static_cast<char>('0' + value / unit % 10));
}

std::string FormatSeconds(WallTime time) {
  constexpr unsigned kThousands = 1000;
  constexpr unsigned kTens = 10;
  const auto day = floor<days>(time);
  const std::chrono::year_month_day date{day};
  const auto of_day = static_cast<unsigned>(floor<std::chrono::seconds>(time - day).count());
  const auto year = static_cast<int>(date.year());
  std::string text;
  text.reserve(20);
  if (year >= 0 && year < 10'000) {
    AppendDigits(text, static_cast<unsigned>(year), kThousands);
  } else {
    std::array<char, 16> digits{};
    std::snprintf(digits.data(), digits.size(), "%04d", year);
    text += digits.data();
  }
  const auto append = [&text](char before, unsigned value) {
    text.push_back(before);
    AppendDigits(text, value, kTens);
  };
  append('-', static_cast<unsigned>(date.month()));
  append('-', static_cast<unsigned>(date.day()));
  append('T', of_day / 3600);
  append(':', of_day / 60 % 60);
  append(':', of_day % 60);
  return text;
}

// Reads exactly `width` digits at the front of `text` and removes them.
std::optional<int> TakeDigits(std::string_view& text, std::size_t width) {
  if (text.size() < width) return std::nullopt;
  int value = 0;
  for (std::size_t i = 0; i < width; ++i) {
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
    value = value * 10 + (text[i] - '0');
  }
  text.remove_prefix(width);
  return value;
}

bool TakeChar(std::string_view& text, std::string_view any_of) {
  if (text.empty() || any_of.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

// ".589518" and the like, cut to microseconds; zero where there is no fraction.
std::optional<Duration> TakeFraction(std::string_view& text) {
  if (!TakeChar(text, ".")) return Duration::zero();
  int micros = 0;
  std::size_t digit_count = 0;
  while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
    if (digit_count < 6) micros = micros * 10 + (text.front() - '0');
    ++digit_count;
    text.remove_prefix(1);
  }
  if (digit_count == 0) return std::nullopt;
  for (std::size_t i = digit_count; i < 6; ++i) micros *= 10;
  return Duration(micros);
}

std::optional<Duration> TakeOffset(std::string_view& text) {
  if (TakeChar(text, "Zz")) return Duration::zero();
  const bool west = text.starts_with('-');
  if (!TakeChar(text, "+-")) return std::nullopt;
  const auto hour = TakeDigits(text, 2);
  if (!hour || !TakeChar(text, ":")) return std::nullopt;
  const auto minute = TakeDigits(text, 2);
  if (!minute || *hour > 23 || *minute > 59) return std::nullopt;
  const Duration offset = hours(*hour) + minutes(*minute);
  return west ? -offset : offset;
}

}  // namespace

std::string FormatTime(WallTime time) {
  std::string text = FormatSeconds(time);
  text.push_back('Z');
  return text;
}

std::string FormatMicroTime(WallTime time) {
  const auto micros = (time - floor<std::chrono::seconds>(time)).count();
  std::array<char, 16> fraction{};
  std::snprintf(fraction.data(), fraction.size(), ".%06dZ", static_cast<int>(micros));
  return FormatSeconds(time) + fraction.data();
}

std::optional<WallTime> ParseTime(std::string_view text) {
  const auto year = TakeDigits(text, 4);
  if (!year || !TakeChar(text, "-")) return std::nullopt;
  const auto month = TakeDigits(text, 2);
  if (!month || !TakeChar(text, "-")) return std::nullopt;
  const auto day = TakeDigits(text, 2);
  if (!day || !TakeChar(text, "Tt ")) return std::nullopt;
  const auto hour = TakeDigits(text, 2);
  if (!hour || !TakeChar(text, ":")) return std::nullopt;
  const auto minute = TakeDigits(text, 2);
  if (!minute || !TakeChar(text, ":")) return std::nullopt;
  const auto second = TakeDigits(text, 2);
  if (!second || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  const auto fraction = TakeFraction(text);
  if (!fraction) return std::nullopt;
  const auto offset = TakeOffset(text);
  if (!offset || !text.empty()) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  const WallTime time = WallTime(std::chrono::sys_days(date)) + hours(*hour) + minutes(*minute) +
                        std::chrono::seconds(*second) + *fraction - *offset;
  // An offset or a leap second may lead out of the years that FormatTime can write.
  constexpr WallTime kFirst = std::chrono::sys_days(std::chrono::year(0) / 1 / 1);
  constexpr WallTime kEnd = std::chrono::sys_days(std::chrono::year(10'000) / 1 / 1);
  if (time < kFirst || time >= kEnd) return std::nullopt;
  return time;
}

std::string HumanDuration(Duration span) {
  const std::int64_t s = floor<std::chrono::seconds>(span).count();
  if (s < -1) return "<invalid>";
  if (s < 0) return "0s";
  const auto two = [](std::int64_t big, const char* big_unit, std::int64_t small,
                      const char* small_unit) {
    std::string text = std::to_string(big) + big_unit;
    if (small > 0) text += std::to_string(small) + small_unit;
    return text;
  };
  const std::int64_t m = s / 60;
  const std::int64_t h = s / 3600;
  const std::int64_t d = h / 24;
  if (s < 120) return std::to_string(s) + "s";
  if (m < 10) return two(m, "m", s % 60, "s");
  if (h < 3) return std::to_string(m) + "m";
  if (h < 8) return two(h, "h", m % 60, "m");
  if (h < 48) return std::to_string(h) + "h";
  if (d < 8) return two(d, "d", h % 24, "h");
  if (d < 365 * 2) return std::to_string(d) + "d";
  if (d < 365 * 8) return two(d / 365, "y", d % 365, "d");
  return std::to_string(d / 365) + "y";
}

}  // namespace berth
